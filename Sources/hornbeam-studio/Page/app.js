// SPDX-License-Identifier: Apache-2.0
// The frame of the page: shows the view that the address names, lists the types, and follows new states of the store.

import { count, el, failure, get, isTombstone, place, redraw, setKeywords, shown, text } from "./page.js";
import { editView, newView } from "./edit.js";
import { fileView, checkView } from "./file.js";
import { entityView } from "./entity.js";
import { indexView, overview } from "./overview.js";
import { searchView } from "./search.js";
import { statementView } from "./statement.js";
import { typeView } from "./grid.js";

const main = document.getElementById("main");
const state = document.getElementById("state");
let store;
let view;

/**
 * The views by the first part of the address. Each returns a title, nodes, and functions to call: `shown` once it is in
 * the page, `refresh` at a new state, `close` when the user leaves it.
 */
const views = {
    "": overview, type: typeView, entity: entityView, search: searchView, statement: statementView,
    indexes: indexView, file: fileView, check: checkView, edit: editView, new: newView,
};

function address() {
    const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
    const decoded = (part) => { try { return decodeURIComponent(part); } catch { return part; } };
    return { parts: path.split("/").map(decoded), query: new URLSearchParams(query ?? "") };
}

/** Shows the view that the address names. */
async function show() {
    const hash = location.hash;
    const { parts: [name, ...parts], query } = address();
    view?.close?.();
    view = undefined;
    main.setAttribute("aria-busy", "true");
    let next;
    try {
        const make = Object.hasOwn(views, name) ? views[name] : undefined;
        if (!make) throw new Error(`There is no view “${name}”.`);
        next = await make(store, parts, query);
    } catch (error) {
        next = { title: "Error", nodes: [failure(error)] };
    }
    // The user has gone to another view meanwhile.
    if (location.hash !== hash) return next.close?.();
    view = next;
    main.removeAttribute("aria-busy");
    main.replaceChildren(el("h1", { tabindex: -1 }, shown(view.title)), ...view.nodes);
    main.className = view.fills ? "fills" : "";
    document.title = `${shown(view.title)} – Hornbeam studio`;
    markPlace();
    view.shown?.();
    if (document.activeElement === document.body || document.activeElement?.closest("nav")) {
        main.querySelector("h1").focus({ preventScroll: true });
    }
}

/** Marks the link to the current view. */
function markPlace() {
    const { parts: [name, ...parts] } = address();
    for (const link of document.querySelectorAll("nav a")) {
        const isCurrent = link.hash === place(...(parts.length ? [name, parts[0]] : [name])) ||
            (["entity", "edit", "new"].includes(name) && link.hash === place("type", parts[0]));
        if (isCurrent) link.setAttribute("aria-current", "page"); else link.removeAttribute("aria-current");
    }
}

function list(id, links) {
    redraw(document.getElementById(id), ...links.map(([to, label, note]) =>
        el("li", {}, el("a", { href: to }, text(label), note ? el("span", { class: "note" }, note) : null))));
}

/** Draws the links to the views, and the list of types with their counts. */
function lists() {
    list("places", [
        [place(""), "Overview"], [place("statement"), "Statement"],
        ...(store.hasText ? [[place("search"), "Search"]] : []),
        [place("indexes"), "Indexes"], [place("file"), "File"], [place("check"), "Check"],
    ]);
    list("types", store.shownTypes.map((type) => [place("type", type.name), type.name, count(type.entities)]));
    markPlace();
}

function tell(message, isLive) {
    state.className = isLive ? "live" : "";
    state.textContent = message;
}

async function read() {
    store = await get("store");
    store.types = new Map(store.schema.entities.map((type) => [type.name, type]));
    store.shownTypes = store.info.entityTypes.filter((type) => type.entities > 0 || !isTombstone(type.name));
    setKeywords(store.keywords);
    store.hasText = store.schema.entities.some((type) => type.indexes.some((index) => index.kind === "text"));
    document.getElementById("file").textContent = shown(store.info.file);
    lists();
}

let events;
let isReading = false;

/**
 * Follows new states as programs commit. If several come at once, only the last one is shown. A hidden page doesn't
 * listen, because a browser opens at most six connections to a server, for all its pages together.
 */
function follow() {
    events?.close();
    if (document.hidden) return;
    events = new EventSource("api/events");
    let newest = store.transaction;
    events.addEventListener("state", async (event) => {
        newest = JSON.parse(event.data).transaction;
        tell(`state ${count(newest)}, live`, true);
        if (isReading) return;
        isReading = true;
        try {
            while (store.transaction < newest) {
                await read();
                await view?.refresh?.(store);
                // At most four times a second, however often the program commits.
                await new Promise((resolve) => setTimeout(resolve, 250));
            }
        } catch (error) {
            tell(error.message, false);
        } finally {
            isReading = false;
        }
    });
    events.addEventListener("failure", (event) => tell(JSON.parse(event.data).error, false));
    events.addEventListener("error", () => tell(`state ${count(store.transaction)}; no connection`, false));
}

// The link past the list of types moves the focus; its address doesn't name a view.
document.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault();
    main.focus();
});

try {
    await read();
    tell(`state ${count(store.transaction)}`, false);
    addEventListener("hashchange", show);
    await show();
    follow();
    document.addEventListener("visibilitychange", follow);
} catch (error) {
    main.replaceChildren(failure(error));
}
