// SPDX-License-Identifier: Apache-2.0
// Shared by all views: elements, texts of the store, values, numbers, and requests.

/** Invisible characters, and those that change the direction of text; without joiners, which words and emoji need. */
// eslint-disable-next-line no-control-regex
const hidden = /[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u00AD\u061C\u200B\u200E\u200F\u2028-\u202E\u2060-\u206F\uFEFF]/g;

/** A text for display, in which hidden characters are made visible. */
export function shown(text) {
    return text.replace(hidden, (sign) => {
        const code = sign.codePointAt(0);
        if (code < 0x20) return String.fromCodePoint(0x2400 + code);
        return `‹U+${code.toString(16).toUpperCase().padStart(4, "0")}›`;
    });
}

/** Sets attributes, listeners (`onclick`) and children. Texts become text nodes, never markup. */
function fill(element, attributes, children) {
    for (const [name, value] of Object.entries(attributes ?? {})) {
        if (value === undefined || value === null || value === false) continue;
        if (typeof value === "function") element.addEventListener(name.slice(2), value);
        else element.setAttribute(name, value === true ? "" : String(value));
    }
    element.append(...children.flat().filter((child) => child !== null && child !== undefined));
    return element;
}

export function el(name, attributes, ...children) {
    return fill(document.createElement(name), attributes, children);
}

export function svg(name, attributes, ...children) {
    return fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
}

/** A text of the store, isolated from the direction of the text around it. */
export function text(value) {
    return el("bdi", {}, shown(value));
}

/** An element for a value, which is given as the server sends it. */
export function value(cell) {
    if (cell === null) return el("span", { class: "null" }, "null");
    if (cell === true || cell === false) return el("span", { class: "keyword" }, String(cell));
    if (typeof cell === "string") return text(cell);
    if (cell.n !== undefined) return el("span", { class: "number" }, cell.n);
    if (cell.k === "missing") return el("span", { class: "null" }, "missing");
    const isCut = cell.size !== undefined && (cell.k !== "data" || cell.size * 2 > cell.t.length);
    const start = cell.k === "data" ? `0x${cell.t}` : cell.t;
    return el("span", { class: cell.k }, text(isCut ? start + "…" : start),
        isCut ? el("span", { class: "size" }, ` ${bytes(cell.size)}`) : null);
}

/** Whether a column of this type is aligned to the right. */
export function isNumber(type) {
    return /^(u?int\d+|float|double|decimal)\??$/.test(type);
}

export function count(number) {
    return Number(number).toLocaleString("en").replaceAll(",", "\u202F");
}

export function counted(number, singular, plural = singular + "s") {
    return `${count(number)} ${number === 1 ? singular : plural}`;
}

export function bytes(size) {
    const units = ["bytes", "kB", "MB", "GB", "TB"];
    let unit = 0;
    while (size >= 1000 && unit < units.length - 1) { size /= 1000; unit += 1; }
    return `${unit === 0 || size >= 100 ? Math.round(size) : size.toFixed(1)} ${units[unit]}`;
}

export function time(milliseconds) {
    if (milliseconds < 1) return `${Math.round(milliseconds * 1000)} µs`;
    return milliseconds < 1000 ? `${milliseconds.toFixed(1)} ms` : `${(milliseconds / 1000).toFixed(2)} s`;
}

/** The address of a view: `place("type", "City", {sort: "-name"})`. */
export function place(...parts) {
    const query = typeof parts.at(-1) === "object" ? parts.pop() : {};
    const given = Object.entries(query).filter(([, value]) => value);
    const path = "#/" + parts.map(encodeURIComponent).join("/");
    return given.length ? `${path}?${new URLSearchParams(given)}` : path;
}

/** Whether a type has the deleted entities of another. Each type has one such type, which is mostly empty. */
export function isTombstone(type) {
    return type.startsWith("Deleted<");
}

/** Words that need backquotes to be names in statements. */
const keywords = new Set();

export function setKeywords(words) {
    for (const word of words) keywords.add(word);
}

/** A name as a statement needs it: in backquotes if it is a keyword or isn't a word. */
export function quoted(name) {
    const isWord = /^[A-Za-z_]\w*$/.test(name) && !keywords.has(name.toUpperCase());
    return isWord ? name : "`" + name.replaceAll("`", "``") + "`";
}

/**
 * Wraps an action so that it runs at most once every `pause` milliseconds. Calls within that time lead to one run at
 * its end.
 */
export function paced(action, pause) {
    let timer;
    let next = 0;
    const run = () => {
        next = performance.now() + pause;
        return action();
    };
    const call = () => {
        clearTimeout(timer);
        const rest = next - performance.now();
        if (rest <= 0) return run();
        timer = setTimeout(run, rest);
    };
    call.stop = () => clearTimeout(timer);
    return call;
}

/** Sends a request to the server. Throws an error answer, with its message and the wrong fields if it names any. */
async function ask(path, options) {
    let response;
    try {
        response = await fetch(path, options);
    } catch (error) {
        if (error.name === "AbortError") throw error;
        throw new Error("The studio doesn't answer: it has been ended, perhaps.");
    }
    if (response.ok) return response.json();
    const message = await response.text();
    let reason = { error: message };
    try { reason = JSON.parse(message); } catch { /* A refusal is plain text. */ }
    throw Object.assign(new Error(reason.error), { fields: reason.fields });
}

export function get(name, query = {}, options = {}) {
    return ask(`api/${name}?${new URLSearchParams(query)}`, options);
}

export async function post(name, body, options = {}) {
    const json = JSON.stringify(body);
    // The server closes the connection of a larger request, and browsers don't show its answer then.
    const isChange = name === "change";
    if (new Blob([json]).size > (isChange ? 32 : 2) * 2 ** 20) {
        throw new Error(isChange ? "a change has at most 32 MB: save large values one by one"
            : "a statement has at most 2 MB with its values");
    }
    return ask(`api/${name}`, {
        method: "POST", headers: { "Content-Type": "application/json" }, body: json, ...options,
    });
}

export function failure(error) {
    return el("pre", { class: "failure", role: "alert" }, shown(error.message));
}

/**
 * Replaces a container's children. The focus stays at the same element, or goes to the heading of its section if that
 * element is gone, because a key press must not act on another one. Typed texts stay, and open details stay open.
 */
export function redraw(container, ...nodes) {
    const find = (selector) => [...container.querySelectorAll(selector)];
    const focusable = "a, button, input, select, textarea, summary, [tabindex]";
    const section = (element) => find("section").indexOf(element.closest("section"));
    const key = (element) => [section(element), element.tagName,
        element.getAttribute("href") ?? element.getAttribute("aria-label") ?? element.textContent].join(" ");
    const focus = find(focusable).indexOf(document.activeElement);
    const was = focus < 0 ? null : { key: key(document.activeElement), section: section(document.activeElement) };
    const open = find("details").map((details) => details.open);
    const typed = new Map(find("input[aria-label]").map((input) => [input.getAttribute("aria-label"), input.value]));
    container.replaceChildren(...nodes);
    find("details").forEach((details, at) => { details.open = open[at] ?? false; });
    for (const input of find("input[aria-label]")) {
        input.value = typed.get(input.getAttribute("aria-label")) ?? input.value;
    }
    if (!was) return;
    const all = find(focusable);
    const isSame = (element) => element !== undefined && key(element) === was.key;
    const same = isSame(all[focus]) ? all[focus] : all.find(isSame);
    const heading = find("section")[was.section]?.querySelector("h2, h3");
    if (!same) heading?.setAttribute("tabindex", "-1");
    (same ?? heading)?.focus({ preventScroll: true });
}

/** A table with a head. Cells are nodes or texts; `numbers` lists the columns that are aligned to the right. */
export function table(label, heads, rows, numbers = []) {
    const kind = (place) => (numbers.includes(place) ? "right" : null);
    return el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label },
        el("table", {},
            el("thead", {}, el("tr", {}, heads.map((head, at) => el("th", { scope: "col", class: kind(at) }, head)))),
            el("tbody", {}, rows.map((row) =>
                el("tr", {}, row.map((cell, at) => el("td", { class: kind(at) }, cell)))))));
}

/** A colour for the n-th of several items, on light and dark pages. */
export function colour(number) {
    return `hsl(${(number * 137.5 + 95) % 360} 45% 60%)`;
}

/** The type to which a tree of the file belongs, and a label of its contents, by its name. */
export function tree(name) {
    const [kind, type, ...rest] = name.split(":");
    const known = { e: "rows", i: "ids", l: "links", x: "index", u: "unique index", t: "full text" }[kind];
    if (!known || type === undefined) return { type: "", label: name };
    return { type, label: [known, ...rest].filter(Boolean).join(" ") };
}
