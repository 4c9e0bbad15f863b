#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Clicks through the studio's page in a headless Chromium, on a store with hostile values and 300,000 rows.

Scripts/test-studio.sh runs it:  studio_page_test.py BINARIES WORK [SCREENSHOTS]
"""
import contextlib
import json
import os
import subprocess
import sys
import time
import urllib.parse

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

BINARIES, WORK = sys.argv[1:3]
SCREENSHOTS = sys.argv[3] if len(sys.argv) > 3 else None
COMMAND = os.path.join(BINARIES, "hornbeam")
STORE = os.path.join(WORK, "store.hornbeam")
MEASURES = 300_000
LONG = 10_000_000
HOSTILE = [
    "<script>document.title = 'owned'</script>", "<img src=x onerror=\"document.title='owned'\">",
    "right to left: \u202Etxt.exe\u202C", "a NUL: \u0000.", "'\"&lt;</td></table>", "עברית, 日本語, 👩‍👩‍👧",
]
SCHEMA = {"entities": [
    {"name": "Country",
     "columns": [{"name": "code", "type": "string"}, {"name": "name", "type": "string"}],
     "indexes": [{"name": "byCountry", "kind": "unique", "components": ["name"]}],
     "relations": [{"name": "cities", "target": "City", "toMany": True, "inverse": "country", "deleteRule": "cascade"}]},
    {"name": "City",
     "columns": [{"name": "id", "type": "int64"}, {"name": "name", "type": "string"},
                 {"name": "population", "type": "int64"}, {"name": "founded", "type": "date?"},
                 {"name": "note", "type": "string?"}, {"name": "flag", "type": "data?"}],
     "indexes": [{"name": "byName", "components": ["name"]},
                 {"name": "search", "kind": "text", "components": ["name", "note"]}],
     "relations": [{"name": "country", "target": "Country", "toMany": False, "inverse": "cities"},
                   {"name": "twin", "target": "City", "toMany": False}]},
    {"name": "Measure",
     "columns": [{"name": "id", "type": "int64"}, {"name": "value", "type": "double"}]},
    {"name": "<b>Hostile</b> & `type`",
     "columns": [{"name": "id", "type": "int64"}, {"name": "<i>name</i>", "type": "string"},
                 {"name": "requestSubmit", "type": "bool?"}, {"name": "order", "type": "json?"}]},
]}


def run(*words, text=None):
    subprocess.run([COMMAND, *words, "--quiet"], input=text, text=True, check=True, stdout=subprocess.DEVNULL)


def lines(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


def make_store():
    schema = os.path.join(WORK, "schema.json")
    with open(schema, "w") as file:
        json.dump(SCHEMA, file)
    run("schema", "apply", STORE, schema)
    run("import", STORE, "Country", "-", text=lines(
        [{"code": "no", "name": "Norway"}, {"code": "se", "name": "Sweden"}]))
    names = ["Oslo", "Bergen", "Tromsø", "Malmö", "Lund", "Uppsala", "Kiruna", "Moss", "Narvik", "Visby"]
    cities = [
        {"id": number, "name": f"{names[number % 10]} {number}", "population": number * 7919 % 1_000_000,
         "founded": "1048-01-01T00:00:00Z", "note": "a harbour town by the cold sea" if number % 3 else None,
         "country": "no" if number % 2 else "se", "twin": 1 if number > 1 else None}
        for number in range(1, 2_001)]
    hostile = [{"id": 9_000 + at, "name": text, "population": 0, "note": text} for at, text in enumerate(HOSTILE)]
    long = {"id": 9_100, "name": "Long", "population": 0, "note": "long " * (LONG // 5), "flag": "AAECAw=="}
    run("import", STORE, "City", "-", text=lines(cities + hostile + [long]))
    run("import", STORE, "Measure", "-", text=lines({"id": at, "value": at / 8} for at in range(1, MEASURES + 1)))
    run("import", STORE, "<b>Hostile</b> & `type`", "-", text=lines([{"id": 1, "<i>name</i>": HOSTILE[0]}]))


class Page:
    """The page in a browser."""

    def __init__(self, address):
        options = webdriver.ChromeOptions()
        for word in ["--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1280,860", "--force-color-profile=srgb"]:
            options.add_argument(word)
        options.binary_location = "/usr/bin/chromium"
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)
        self.driver.get(address)
        self.base = self.wait(lambda: "token" not in self.driver.current_url and self.driver.current_url)

    def wait(self, condition, seconds=20):
        return WebDriverWait(self.driver, seconds, poll_frequency=0.03).until(lambda _: condition())

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def one(self, selector):
        return self.wait(lambda: next(iter(self.all(selector)), None))

    def script(self, text, *arguments):
        return self.driver.execute_script(text, *arguments)

    def text(self, selector):
        """Returns the text of an element, in one step because the page may replace the element meanwhile."""
        return self.script("return document.querySelector(arguments[0])?.textContent ?? ''", selector)

    def waits_for(self, selector, words):
        self.wait(lambda: words in self.text(selector))

    def click(self, selector):
        self.one(selector).click()

    def go(self, place, title):
        self.script("location.hash = arguments[0]", place)
        self.wait(lambda: title in self.text("h1"))
        self.wait(lambda: not self.all("main[aria-busy]"))

    def nav(self, words):
        # In one step, because the page draws its navigation anew with each state.
        self.wait(lambda: self.script(
            "const links = [...document.querySelectorAll('nav[aria-label=Store] a')];"
            "const link = links.find(link => link.textContent.includes(arguments[0])); link?.click(); return !!link",
            words))

    def choose(self, name, value, button):
        """Fills a field of a form and sends the form, as its button does or by Enter."""
        field = self.one(f"[name={name}]")
        self.script("arguments[0].value = arguments[1]", field, value)
        self.script("arguments[0].form.requestSubmit()", field) if button else field.send_keys(Keys.ENTER)

    def cells(self, row):
        """Returns the texts of a row's cells in the grid; none if the row isn't in view."""
        return self.script(
            "return [...document.querySelectorAll(`#row-${arguments[0]} [role=gridcell]`)].map(c => c.textContent)", row)

    def shot(self, name):
        if SCREENSHOTS:
            time.sleep(0.3)
            self.driver.save_screenshot(os.path.join(SCREENSHOTS, name + ".png"))


def check_overview(page):
    page.waits_for("h1", "Overview")
    page.wait(lambda: len(page.all(".treemap rect")) > 5)
    assert "2\u202F007" in page.text("table"), page.text("table")
    assert len(page.all(".graph a")) == 4
    assert "300\u202F000" in page.text("#types")


def check_grid(page):
    page.nav("Measure")
    page.wait(lambda: page.cells(0) == ["1", "0.125"])
    grid = page.one(".grid")
    assert grid.get_attribute("aria-rowcount") == str(MEASURES + 1)
    page.choose("row", str(MEASURES), True)
    page.wait(lambda: page.cells(MEASURES - 1) == [str(MEASURES), str(MEASURES / 8)])
    # The keys move up by one row and by a page.
    grid.send_keys(Keys.ARROW_UP, Keys.ARROW_UP)
    assert page.all(".grid-row.active")[0].get_attribute("data-row") == str(MEASURES - 3)
    for _ in range(8):
        grid.send_keys(Keys.PAGE_UP)
    page.wait(lambda: page.all(".grid-row.active") and page.cells(int(page.one(".active").get_attribute("data-row")))[0] != "…")
    top = page.script("return Number(document.querySelector('.active').dataset.row)")
    assert MEASURES - 400 < top < MEASURES - 50, top
    assert page.cells(top) == [str(top + 1), format_double((top + 1) / 8)]
    # The wheel skips no row, although the grid is higher than an element can be.
    first = page.script("return Math.min(...[...document.querySelectorAll('.grid-space .grid-row')].map(r => r.dataset.row))")
    page.script("document.querySelector('.grid').dispatchEvent("
                "new WheelEvent('wheel', {deltaY: -90, bubbles: true, cancelable: true}))")
    page.wait(lambda: page.script(
        "return Math.min(...[...document.querySelectorAll('.grid-space .grid-row')].map(r => r.dataset.row))") == first - 3)
    # The scroll bar leads to the middle, the Home key back to the beginning.
    page.script("const g = document.querySelector('.grid'); g.scrollTop = (g.scrollHeight - g.clientHeight) / 2")
    middle = MEASURES // 2
    page.wait(lambda: any(page.cells(row)[:1] == [str(row + 1)] for row in (middle - 5, middle, middle + 5)))
    grid.send_keys(Keys.HOME)
    page.wait(lambda: page.cells(0) == ["1", "0.125"])
    assert len(page.all(".grid-space .grid-row")) < 60


def format_double(number):
    return str(number)


def check_sort_and_filter(page):
    page.nav("City")
    page.wait(lambda: page.cells(0)[:1] == ["1"])
    for sign in ["↑", "↓"]:
        next(link for link in page.all("[role=columnheader] a") if "population" in link.text).click()
        page.wait(lambda: sign in page.text(".grid-head") and page.cells(0) and page.cells(0)[2] != "…")
    first = [int(page.cells(row)[2]) for row in range(3)]
    assert first == sorted(first, reverse=True) and first[0] > 900_000, first
    condition = "population > 900000 AND name LIKE 'L%'"
    number = count(f"SELECT VALUE COUNT(*) FROM City WHERE {condition}")
    page.choose("where", condition, True)
    page.waits_for(".grid + .status", f" of {number} ·")
    page.choose("where", "population >", True)
    page.waits_for(".failure", "at line 1, character")
    page.go("#/type/City", "City")
    page.wait(lambda: page.cells(0)[:1] == ["1"])


def count(statement):
    words = [COMMAND, "sql", STORE, statement, "--json"]
    return subprocess.run(words, text=True, capture_output=True, check=True).stdout.strip()


def check_entity(page):
    page.one(".grid").send_keys(Keys.ARROW_DOWN, Keys.ENTER)
    page.waits_for("h1", "City 2 · Tromsø 2")
    assert "1048-01-01" in page.text(".properties")
    links = page.all(".relation a")
    assert "se · Sweden" in links[0].text
    links[0].click()
    page.waits_for("h1", "Country se · Sweden")
    assert "950 others" in page.text(".relation button"), page.text(".relation button")
    page.click(".relation button")
    page.wait(lambda: len(page.all(".links li")) == 100)
    page.driver.back()
    page.waits_for("h1", "City 2")
    # A relation without an inverse is shown at its target too.
    page.all(".relation a")[1].click()
    page.waits_for("h1", "City 1 ·")
    page.wait(lambda: "← twin" in page.text("main"))


def check_search(page):
    page.nav("Search")
    page.waits_for("h1", "Search")
    page.one("[name=words]").send_keys("harbour NOT Lund", Keys.ENTER)
    page.waits_for(".hits .status", "hits in")
    assert [mark.text for mark in page.all(".hits li:first-child mark")] == ["harbour"]
    assert float(page.one(".hits .note").text) > 0
    next(link for link in page.all(".hits a") if link.text == "Later hits").click()
    page.wait(lambda: page.all(".hits ol[start='21']"))
    label = page.all(".hits ol a")[0].text
    page.all(".hits ol a")[0].click()
    page.waits_for("h1", label)


def check_statement(page):
    page.nav("Statement")
    page.waits_for("h1", "Statement")
    field = page.one("[name=statement]")
    field.clear()
    field.send_keys("SELECT name, population FROM City\nWHERE name > 'U' ORDER BY name LIMIT 3", Keys.CONTROL, Keys.ENTER)
    page.waits_for(".result", "3 rows in")
    assert page.text(".result td") == "Uppsala 1005", page.text(".result td")
    assert "index byName" in page.text(".plan")
    assert page.text(".plan small").strip() == "3 rows", page.text(".plan small")
    field.clear()
    field.send_keys("SELECT name\nFROM City WHERE popula = 1")
    page.script("arguments[0].form.requestSubmit()", field)
    page.waits_for(".failure", "at line 2")
    start = page.script("return document.querySelector('[name=statement]').selectionStart")
    assert "SELECT name\nFROM City WHERE popula = 1"[start:].startswith("popula"), start
    field.clear()
    field.send_keys("SELECT * FROM Measure")
    page.script("arguments[0].form.requestSubmit()", field)
    page.waits_for(".result .status", "the first 1\u202F000 rows; there are more")
    field.clear()
    field.send_keys("DELETE FROM City", Keys.ESCAPE)
    page.script("arguments[0].form.requestSubmit()", field)
    page.waits_for(".failure", "without --write")


def check_completion(page):
    """Words are offered while a statement is typed, and taken by keys or by a click."""
    page.go("#/", "Overview")
    page.go("#/statement", "Statement")
    field = page.one("[name=statement]")
    assert field.get_attribute("role") == "combobox" and field.get_attribute("aria-expanded") == "false"
    field.clear()
    field.send_keys("SELECT popul")
    page.wait(lambda: [option.text for option in page.all("[role=option]")] == ["population"])
    assert field.get_attribute("aria-expanded") == "true"
    assert page.one(f"#{field.get_attribute('aria-controls')}").get_attribute("role") == "listbox"
    page.shot("completion")
    # No word is chosen before an arrow key is pressed.
    field.send_keys(Keys.ARROW_DOWN)
    assert page.one("[aria-selected=true]").get_attribute("id") == field.get_attribute("aria-activedescendant")
    field.send_keys(Keys.ENTER)
    assert field.get_attribute("value") == "SELECT population" and not page.all("[role=option]")
    field.send_keys(" FROM ", Keys.CONTROL, " ")
    page.wait(lambda: len(page.all("[role=option]")) >= 4)
    field.send_keys(Keys.ESCAPE)
    page.wait(lambda: not page.all("[role=option]"))
    # The words don't fit another place of the cursor.
    field.send_keys(Keys.CONTROL, " ", Keys.NULL)
    page.wait(lambda: page.all("[role=option]"))
    field.send_keys(Keys.ARROW_LEFT)
    page.wait(lambda: not page.all("[role=option]"))
    field.send_keys(Keys.ARROW_RIGHT)
    field.send_keys(Keys.CONTROL, " ", Keys.NULL, "Ci")
    page.wait(lambda: [option.text for option in page.all("[role=option]")] == ["City"])
    page.one("[role=option]").click()
    page.wait(lambda: field.get_attribute("value") == "SELECT population FROM City")
    # Without a list, Tab leaves the field.
    field.send_keys(Keys.TAB)
    assert page.script("return document.activeElement.tagName") == "BUTTON"
    field.clear()
    page.click(".names summary")
    next(button for button in page.all(".names .name") if button.text == "order").click()
    assert field.get_attribute("value") == "`order`", field.get_attribute("value")


def check_other_views(page):
    page.nav("Indexes")
    page.wait(lambda: "byName" in page.text("table"))
    page.nav("File")
    page.wait(lambda: len(page.all(".picture g")) > 100)
    assert "Measure" in page.text(".legend")
    page.nav("Check")
    page.wait(lambda: page.all("main button"))
    page.click("main button")
    page.wait(lambda: "No problems" in page.text("main"), 60)


def check_hostile(page):
    page.go("#/type/City?" + "where=id%20%3E%3D%209000", "City")
    page.wait(lambda: page.cells(0)[:1] == ["9000"])
    names = [page.cells(row)[1] for row in range(len(HOSTILE))]
    assert names[0] == HOSTILE[0] and names[1] == HOSTILE[1] and names[4] == HOSTILE[4], names
    assert names[2] == "right to left: ‹U+202E›txt.exe‹U+202C›" and names[3] == "a NUL: ␀.", names
    assert "10.0 MB" in page.cells(6)[4]
    for at in range(len(HOSTILE)):
        page.go(f"#/entity/City/{9_000 + at}", f"City {9_000 + at}")
        assert not page.all("main script, main img, main table")
    page.go("#/entity/City/9100", "City 9100")
    assert "Save all 10.0 MB" in page.text(".properties")
    assert len(page.text("main")) < 30_000
    page.nav("<b>Hostile</b>")
    page.wait(lambda: page.cells(0) == ["1", HOSTILE[0], "null", "null"])
    assert not page.all(".button, .danger, .quiet"), "nothing can be changed without --write"
    page.nav("Statement")
    page.waits_for("h1", "Statement")
    page.choose("statement", f"SELECT '<b>bold</b>' AS `<u>under</u>`, note FROM City WHERE id >= 9000 AND id < 9006", True)
    page.waits_for(".result", "6 rows in")
    assert not page.all(".result b, .result u, .result img")
    assert "owned" not in page.driver.title
    assert not page.all("main script, main iframe")


def check_live(page):
    page.go("#/type/Measure", "Measure")
    page.wait(lambda: "live" in page.text("#state"))
    state = page.text("#state")
    run("import", STORE, "Measure", "-", text=lines([{"id": MEASURES + 1, "value": 0.5}]))
    page.waits_for("#types", "300\u202F001")
    page.wait(lambda: page.one(".grid").get_attribute("aria-rowcount") == str(MEASURES + 2))
    assert page.text("#state") != state


VIEWS = ["#/", "#/type/City", "#/entity/City/2", "#/search/City?index=search&words=harbour", "#/statement", "#/indexes",
         "#/file", "#/check"]
TITLES = ["Overview", "City", "City 2", "Search", "Statement", "Indexes", "File", "Check"]

CONTRAST = """
const parse = (colour) => colour.match(/[\\d.]+/g).map(Number);
const light = ([r, g, b]) => [r, g, b].map((c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, at) => sum + c * [0.2126, 0.7152, 0.0722][at], 0);
const ground = (element) => {
    for (let at = element; at; at = at.parentElement) {
        const colour = parse(getComputedStyle(at).backgroundColor);
        if (colour.length < 4 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
};
return [...document.querySelectorAll("body *")].filter((element) => element.checkVisibility() && element.closest("svg") === null
    && [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim())).map((element) => {
    const [a, b] = [light(parse(getComputedStyle(element).color)), light(ground(element))];
    return [(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), element.textContent.slice(0, 40)];
}).filter(([contrast]) => contrast < 4.5);
"""


def check_everyone(page, views=VIEWS, titles=TITLES, prepare=lambda page: None):
    """In light and dark colours, wide and on a phone: text has contrast, fields have names, nothing is too wide."""
    for scheme in ["light", "dark"]:
        page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {
            "features": [{"name": "prefers-color-scheme", "value": scheme}]})
        for width, height in [(1280, 860), (390, 844)]:
            page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
                "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500})
            for place, title in zip(views, titles):
                page.go("#/check" if place != "#/check" else "#/", "")
                page.go(place, title)
                prepare(page)
                page.wait(lambda: page.script("return document.getAnimations().length") == 0)
                page.wait(lambda: "Reading sizes…" not in page.text("main"))
                page.shot(f"{scheme}-{width}-{title.split()[0].lower()}{'-2' if ' ' in title else ''}")
                name = f"{place} ({scheme}, {width})"
                weak = page.script(CONTRAST)
                assert not weak, f"{name}: {weak}"
                wide = page.script("return document.documentElement.scrollWidth - innerWidth")
                assert wide <= 0, f"{name} is {wide} pixels too wide"
                assert len(page.all("h1")) == 1, name
                fields = page.all("input, select, textarea, main button:not(.name), summary, main p > a, [role=grid]")
                for field in fields:
                    # Fields in a closed part of the page have no accessible names.
                    if page.script("return arguments[0].checkVisibility()", field):
                        assert field.accessible_name.strip(), f"{name}: {field.get_attribute('outerHTML')}"
        page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def check_keyboard(page):
    """Tab reaches the grid, which shows that it has the focus; its keys open an entity."""
    page.go("#/type/City", "City")
    page.script("document.activeElement.blur(); window.getSelection().removeAllRanges()")
    page.driver.refresh()
    page.wait(lambda: page.cells(0)[:1] == ["1"])
    page.script("document.activeElement.blur()")
    seen = []
    for _ in range(40):
        webdriver.ActionChains(page.driver).send_keys(Keys.TAB).perform()
        seen.append(page.script(
            "const a = document.activeElement; return a.getAttribute('role') ?? a.name ?? a.className ?? a.tagName"))
        if seen[-1] == "grid":
            break
    assert seen[-1] == "grid", seen
    outline = page.script("return getComputedStyle(document.activeElement).outlineStyle")
    assert outline != "none"
    webdriver.ActionChains(page.driver).send_keys(Keys.ARROW_DOWN, Keys.ARROW_DOWN, Keys.ENTER).perform()
    page.waits_for("h1", "City 3")


def fill(page, name, text):
    """Sets a field of an entity's form as a paste does, because some values can't be typed. Returns the field."""
    field = page.one(f"[data-field='{name}']")
    page.script("arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('input', {bubbles: true}))",
                field, text)
    return field


def message(page, name):
    """Returns the error at a field, as a screen reader finds it."""
    field = page.one(f"[data-field='{name}']")
    if field.get_attribute("aria-invalid") != "true":
        return ""
    return page.text("#" + field.get_attribute("aria-describedby").split()[0])


def sql(statement):
    words = [COMMAND, "sql", STORE, statement, "--json"]
    return subprocess.run(words, text=True, capture_output=True, check=True).stdout.strip()


def check_edit(page):
    page.go("#/entity/City/2", "City 2")
    page.click("main .button")
    page.waits_for("h1", "Edit City 2")
    fill(page, "population", "many")
    fill(page, "founded", "soon")
    page.one("[data-field=name]").send_keys(" / Romsa", Keys.CONTROL, Keys.ENTER)
    page.wait(lambda: message(page, "population"))
    assert message(page, "population") == "it must be a whole number"
    assert "2024-05-02T17:30:00Z" in message(page, "founded") and not message(page, "name")
    assert page.script("return document.activeElement.dataset.field") == "population"
    assert "2 fields" in page.text("main form > [role=alert]")
    fill(page, "population", "77544")
    page.script("document.querySelector('[aria-label=\"founded is null\"]').click()")
    page.script("document.querySelector('main form').requestSubmit()")
    page.waits_for("h1", "City 2 · Tromsø 2 / Romsa")
    assert "UPDATE City\nSET name = ?," in page.text(".change .statement"), page.text(".change")
    swift = page.text(".change .swift")
    assert 'entity.name = "Tromsø 2 / Romsa"' in swift and "entity.founded = nil" in swift, swift
    assert sql("SELECT name, population, founded FROM City WHERE id = 2") == \
        '{"name":"Tromsø 2 / Romsa","population":77544,"founded":null}'
    # An unchanged form isn't sent.
    page.click("main .button")
    page.waits_for("h1", "Edit City 2")
    assert page.one("[data-field=founded]").get_attribute("value") == ""
    page.script("document.querySelector('main form').requestSubmit()")
    page.waits_for("main form > [role=alert]", "Nothing is different")


def check_hostile_edit(page):
    for at, value in enumerate(HOSTILE):
        page.go("#/entity/City/9100", "City 9100")
        page.go("#/edit/City/9100", "Edit City")
        fill(page, "name", value)
        assert page.one("[data-field=note]").get_attribute("disabled"), "10 MB aren't put into a field"
        page.script("document.querySelector('main form').requestSubmit()")
        page.wait(lambda: "Edit" not in page.text("h1") and page.text("h1").startswith("City 9100"))
        assert not page.all("main script, main img, main table, main td") and page.driver.title != "owned"
        assert json.loads(sql("SELECT name FROM City WHERE id = 9100"))["name"] == value
        assert "\u202E" not in page.text(".change") and "\0" not in page.text(".change")
        page.go("#/edit/City/9100", "Edit City")
        assert page.one("[data-field=name]").get_attribute("value") == value, value
    # A hostile type: fields named like properties of the form must not hide these.
    page.nav("<b>Hostile</b>")
    page.waits_for(".bars", "New entity")
    page.click(".bars .button")
    page.waits_for("h1", "New <b>Hostile</b>")
    fill(page, "<i>name</i>", "x")
    fill(page, "order", "{")
    page.script("HTMLFormElement.prototype.requestSubmit.call(document.querySelector('main form'))")
    page.wait(lambda: message(page, "order"))
    fill(page, "order", '{"a": 1}')
    page.script("HTMLFormElement.prototype.requestSubmit.call(document.querySelector('main form'))")
    page.waits_for(".change .statement", '"<i>name</i>": ?')
    assert not page.all("main b, main i")
    # A value of 11 MB from a file.
    long = os.path.join(WORK, "long.txt")
    with open(long, "w") as file:
        file.write("<b>long</b>" * (LONG // 10))
    page.go("#/edit/City/9100", "Edit City")
    page.one("[aria-label='note from a file']").send_keys(long)
    page.waits_for("main form", "long.txt, 11.0 MB")
    page.script("document.querySelector('main form').requestSubmit()")
    page.waits_for(".change .swift", 'String(contentsOfFile: "note.txt"')
    assert "Save all 11.0 MB" in page.text(".properties")
    assert sql("SELECT VALUE LENGTH(note) FROM City WHERE id = 9100") == str(LONG // 10 * 11)


def submit(page):
    # A field may be named like a property of the form.
    page.script("HTMLFormElement.prototype.requestSubmit.call(document.querySelector('main form'))")


def check_null_and_files(page):
    # A null bool can be set to true.
    page.go(f"#/edit/{urllib.parse.quote('<b>Hostile</b> & `type`', safe='')}/1", "Edit <b>Hostile</b>")
    assert page.one("[data-field=requestSubmit]").get_attribute("value") == ""
    fill(page, "requestSubmit", "true")
    submit(page)
    page.waits_for(".change .swift", "entity.requestSubmit = true")
    # A refused file keeps the form from being saved, until the choice is removed.
    refused = os.path.join(WORK, "refused.txt")
    with open(refused, "wb") as file:
        file.write(b"\xFF")
    page.go("#/edit/City/6", "Edit City 6")
    null = page.one("[aria-label='note is null']")
    assert null.is_selected()
    page.one("[aria-label='note from a file']").send_keys(refused)
    page.wait(lambda: message(page, "note") == "the file isn't UTF-8")
    fill(page, "population", "6")
    submit(page)
    page.waits_for("main form > [role=alert]", "1 field")
    assert message(page, "note") == "the file isn't UTF-8" and not null.is_selected()
    page.script("document.querySelector('[aria-label=\"No file for note\"]').click()")
    assert not message(page, "note") and null.is_selected()
    submit(page)
    page.waits_for(".change .swift", "entity.population = 6\n")
    assert "note" not in page.text(".change .swift")


def check_new_and_links(page):
    page.nav("Country")
    page.waits_for(".bars", "New entity")
    page.click(".bars .button")
    page.waits_for("h1", "New Country")
    fill(page, "code", "dk")
    fill(page, "name", "Norway")
    page.script("document.querySelector('main form').requestSubmit()")
    page.wait(lambda: message(page, "name"))
    assert "unique" in message(page, "name"), message(page, "name")
    fill(page, "name", "Denmark")
    page.script("document.querySelector('main form').requestSubmit()")
    page.waits_for("h1", "Country dk · Denmark")
    field = page.one(".link input")
    field.send_keys("x", Keys.ENTER)
    page.waits_for(".link .failure", "it must be a whole number")
    field = page.one(".link input")
    field.clear()
    field.send_keys("2", Keys.ENTER)
    page.waits_for(".relation .links", "2 · Tromsø")
    assert "ARRAY_APPEND(cities, ?)" in page.text(".change")
    # Nothing is sent without an id.
    assert not page.script("return document.querySelector('.link').checkValidity()")
    page.one(".link input").send_keys("4", Keys.ENTER)
    page.waits_for(".relation .links", "4 · ")
    page.one(".link input").send_keys("7")
    # After an unlinking by key the focus isn't on another link, and typed text stays.
    page.one(".relation .links button").send_keys(Keys.ENTER)
    page.waits_for(".change", "ARRAY_REMOVE(cities, ?)")
    page.wait(lambda: len(page.all(".relation .links li")) == 1)
    assert page.script("return document.activeElement.tagName") == "H3"
    assert page.one(".link input").get_attribute("value") == "7"
    page.one(".link input").clear()
    page.one(".relation .links button").click()
    page.wait(lambda: "none" in page.text(".relation"))
    page.one(".link input").send_keys("3", Keys.ENTER)
    page.waits_for(".relation .links", "3 · ")


def check_delete(page):
    page.go("#/entity/City/3", "City 3")
    page.waits_for("main", "Denmark")
    page.script("[...document.querySelectorAll('.relation a')].find(a => a.textContent.includes('Denmark')).click()")
    page.waits_for("h1", "Country dk")
    page.click(".danger")
    page.waits_for("dialog", "1 other entity with it")
    assert page.one("dialog ul").text == "1 of City"
    page.shot("deletion")
    page.one("dialog").send_keys(Keys.ESCAPE)
    page.wait(lambda: not page.all("dialog"))
    page.click(".danger")
    page.waits_for("dialog", "1 of City")
    page.click("dialog .danger")
    page.waits_for("h1", "Country")
    page.waits_for(".change", "DELETE FROM Country")
    page.wait(lambda: page.one(".grid").get_attribute("aria-rowcount") == "3")
    assert count("SELECT VALUE COUNT(*) FROM City WHERE id = 3") == "0"


def check_statement_change(page):
    page.nav("Statement")
    page.waits_for("h1", "Statement")
    page.choose("statement", "UPDATE City SET population = 1 WHERE id <= 5 RETURNING name", True)
    page.waits_for(".result .status", "4 entities changed")
    assert len(page.all(".result td")) == 4
    page.choose("statement", "UPDATE City SET population = population RETURNING id", True)
    page.waits_for(".result .status", "entities changed; the first 1\u202F000 rows; there are more")
    page.choose("statement", "DELETE FROM City WHERE id = 5", True)
    page.waits_for(".result .status", "1 entity changed")


def with_errors(page):
    if page.all("[data-field=population]"):
        fill(page, "population", "many")
        page.script("document.querySelector('main form').requestSubmit()")
        page.wait(lambda: message(page, "population"))


def check_forms(page):
    check_everyone(page, ["#/edit/City/7", "#/new/City", "#/entity/City/7"], ["Edit City 7", "New City", "City 7"], with_errors)


def show(checks, *options):
    """Starts a studio and runs checks on its page."""
    studio = subprocess.Popen(
        [COMMAND, "studio", STORE, *options], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    with contextlib.ExitStack() as stack:
        stack.callback(studio.wait)
        stack.callback(studio.terminate)
        page = Page(studio.stdout.readline().strip())
        stack.callback(page.driver.quit)
        for check in checks:
            start = time.time()
            try:
                check(page)
            except Exception:
                page.driver.save_screenshot(os.path.join(SCREENSHOTS or "/tmp", "studio-failure.png"))
                print(f"{check.__name__} failed at {page.driver.current_url}: {page.text('main')[:600]}", file=sys.stderr)
                raise
            print(f"{check.__name__}: {time.time() - start:.1f} s")
        # The browser logs refusals, which the checks provoke, as failed requests.
        severe = [entry for entry in page.driver.get_log("browser") if entry["level"] == "SEVERE"
                  and not any(f"status of {status}" in entry["message"] for status in (400, 403, 409))]
        assert not severe, severe


def main():
    make_store()
    show([check_overview, check_grid, check_sort_and_filter, check_entity, check_search, check_statement,
          check_completion, check_other_views, check_hostile, check_live, check_everyone, check_keyboard])
    show([check_edit, check_hostile_edit, check_null_and_files, check_new_and_links, check_delete, check_statement_change,
          check_forms], "--write")
    run("check", STORE)


main()
