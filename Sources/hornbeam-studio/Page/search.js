// SPDX-License-Identifier: Apache-2.0
// Full-text search: hits with their scores, and the passages in which the words were found.

import { count, counted, el, failure, get, place, shown, text, time } from "./page.js";

const pageSize = 20;

export async function searchView(store, [name], query) {
    const indexes = store.schema.entities.flatMap((type) =>
        type.indexes.filter((index) => index.kind === "text").map((index) => ({ type: type.name, index: index.name })));
    if (indexes.length === 0) throw new Error("The store has no full-text index.");
    const key = ({ type, index }) => JSON.stringify([type, index]);
    const chosen = indexes.find(({ type, index }) => type === name && (query.get("index") ?? index) === index)
        ?? indexes[0];
    const choice = el("select", { name: "index" }, indexes.map((entry) => el("option", {
        value: key(entry), selected: entry === chosen,
    }, shown(`${entry.type} · ${entry.index}`))));
    const words = el("input", {
        type: "search", name: "words", value: query.get("words") ?? "", autocomplete: "off", spellcheck: "false",
        "aria-describedby": "search-help",
    });
    const form = el("form", {
        class: "bar", role: "search", onsubmit: (event) => {
            event.preventDefault();
            const [type, index] = JSON.parse(choice.value);
            location.hash = place("search", type, { index, words: words.value });
        },
    }, el("label", {}, "In", choice), el("label", { class: "wide" }, "Words", words), el("button", {}, "Search"));
    const help = el("p", { class: "help", id: "search-help" }, "Words may be joined by AND, OR and NOT, and be a ",
        el("code", {}, "\"phrase\""), ", a ", el("code", {}, "pre*"), " or ", el("code", {}, "wrod~"), " (nearly so).");
    const results = el("div", { class: "hits" });
    const asked = query.get("words");
    if (asked) await list(chosen, asked, Number(query.get("from")) || 0, results);
    return { title: "Search", nodes: [form, help, results], shown: () => { if (!asked) words.focus(); } };
}

async function list({ type, index }, words, from, results) {
    let reply;
    try {
        reply = await get("search", { type, index, words, from, count: pageSize });
    } catch (error) {
        return results.replaceChildren(failure(error));
    }
    const to = (from) => place("search", type, { index, words, from });
    const end = from + reply.hits.length;
    results.replaceChildren(
        el("p", { class: "status", role: "status" },
            `${counted(reply.total, "hit")} in ${time(reply.milliseconds)} · state ${count(reply.transaction)}`),
        el("ol", { start: from + 1 }, reply.hits.map((hit) => el("li", {},
            el("a", { href: place("entity", type, hit.row) }, text(hit.label)),
            el("span", { class: "note", title: "score" }, hit.score.toFixed(2)),
            hit.snippet === null ? null : el("p", {}, el("bdi", {}, marked(hit.snippet)))))),
        el("nav", { class: "bar", "aria-label": "Hits" },
            from > 0 ? el("a", { href: to(Math.max(0, from - pageSize)) }, "Earlier hits") : null,
            end < reply.total ? el("a", { href: to(end) }, "Later hits") : null));
}

/** Marks the found words of a passage, each of which stands between two control characters. */
function marked(passage) {
    // eslint-disable-next-line no-control-regex
    return passage.split(/(\u0001[^\u0002]*\u0002)/).map((part) =>
        part.startsWith("\u0001") ? el("mark", {}, shown(part.slice(1, -1))) : shown(part));
}
