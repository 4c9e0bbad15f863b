// SPDX-License-Identifier: Apache-2.0
// Statements of the query language: a field, the result, and the plan as a tree.

import { completing } from "./complete.js";
import { count, counted, el, failure, post, quoted, shown, text, time, table, value } from "./page.js";

/** The last statement, kept for a return to this view. */
let last = "";

export async function statementView(store) {
    const first = store.info.entityTypes[0]?.name;
    const field = el("textarea", {
        name: "statement", rows: 5, spellcheck: "false", autocomplete: "off", "aria-describedby": "statement-help",
        onkeydown: (event) => {
            if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
                event.preventDefault();
                form.requestSubmit();
            }
        },
    });
    field.value = last || (first ? `SELECT * FROM ${quoted(first)} LIMIT 20` : "");
    const parameters = el("textarea", { name: "parameters", rows: 2, spellcheck: "false" });
    const result = el("div", { class: "result" });
    const form = el("form", {
        onsubmit: async (event) => {
            event.preventDefault();
            last = field.value;
            form.setAttribute("aria-busy", "true");
            result.replaceChildren(el("p", { class: "status", role: "status" }, "Running…"));
            try {
                const values = parameters.value.split("\n").filter((line) => line.trim() !== "");
                const reply = await post("statement", { statement: field.value, parameters: values });
                result.replaceChildren(...show(reply));
                field.removeAttribute("aria-invalid");
            } catch (error) {
                result.replaceChildren(failure(error));
                point(field, error.message);
            } finally {
                form.removeAttribute("aria-busy");
            }
        },
    },
    el("div", { class: "typing" }, el("label", { class: "tall" }, "Statement", field), completing(field)),
    el("div", { class: "bar" }, el("button", {}, "Run"),
        el("span", { class: "help", id: "statement-help" }, "Ctrl-Enter runs it, Ctrl-Space offers words. EXPLAIN before it "
            + "shows the plan alone, EXPLAIN ANALYZE with counts. "
            + (store.isWritable ? "INSERT, UPSERT, UPDATE and DELETE change the store." : ""))),
    el("details", {}, el("summary", {}, "Values of ?, each on a line"),
        el("label", { class: "tall" }, "Values", parameters)),
    names(store, field));
    return { title: "Statement", nodes: [form, result], shown: () => field.focus() };
}

/** Selects the place in the statement that an error names. */
function point(field, message) {
    const place = message.match(/at line (\d+), character (\d+):/);
    field.setAttribute("aria-invalid", "true");
    if (!place) return;
    const lines = field.value.split("\n").slice(0, Number(place[1]) - 1);
    // The server counts characters as a reader does (graphemes), the field counts UTF-16 units.
    const line = field.value.split("\n")[Number(place[1]) - 1] ?? "";
    const before = [...new Intl.Segmenter().segment(line)].slice(0, Number(place[2]) - 1);
    const start = lines.reduce((sum, text) => sum + text.length + 1, 0) +
        before.reduce((sum, { segment }) => sum + segment.length, 0);
    field.focus();
    field.setSelectionRange(start, Math.min(field.value.length, start + 1));
}

function show(reply) {
    const rows = reply.rows.map((cells) => cells.map(value));
    const numbers = reply.columns.map((_, at) => at).filter((at) =>
        reply.rows.length && reply.rows.every((cells) => cells[at] === null || cells[at]?.n !== undefined));
    const found = reply.isCut ? `the first ${counted(rows.length, "row")}; there are more` : counted(rows.length, "row");
    const outcome = reply.changed === undefined ? found
        : `${counted(reply.changed, "entity", "entities")} changed${reply.isCut ? `; ${found}` : ""}`;
    return [
        el("p", { class: "status", role: "status" },
            `${outcome} in ${time(reply.milliseconds)} · state ${count(reply.transaction)}`),
        reply.columns.length === 0 ? "" : reply.isPlan
            ? plan(reply.rows.map(([line]) => step(typeof line === "string" ? line : line.t)))
            : table("Result", reply.columns.map((name) => text(name)), rows, numbers),
        ...(reply.plan.length ? [el("h2", {}, "Plan"),
            reply.planMilliseconds === undefined ? ""
                : el("p", { class: "help" }, `made in ${time(reply.planMilliseconds)}`), plan(reply.plan)] : []),
    ];
}

/** Returns a line of EXPLAIN as a step. */
const step = (line) => ({ text: line.trim(), depth: line.length - line.trimStart().length, rows: null });

/** Shows the steps of a plan as a tree. An indented step belongs to the less indented one above it. */
function plan(steps) {
    const root = el("ul", { class: "plan" });
    const open = [{ depth: -1, list: root }];
    for (const step of steps) {
        while (open.at(-1).depth >= step.depth) open.pop();
        const list = el("ul", {});
        open.at(-1).list.append(el("li", {}, el("span", {}, shown(step.text)), counts(step), list));
        open.push({ depth: step.depth, list });
    }
    return root;
}

/** Shows the number of rows that came out of a step of a statement that has run. */
function counts(step) {
    if (step.rows === null) return null;
    const from = step.read === null || step.read === step.rows ? "" : ` from ${count(step.read)}`;
    const runs = step.runs === null ? "" : ` in ${counted(step.runs, "run")}`;
    return el("small", {}, ` ${counted(step.rows, "row")}${from}${runs}`);
}

/** Buttons that insert names into the statement. */
function names(store, field) {
    const insert = (name) => el("button", {
        type: "button", class: "name", onclick: () => {
            field.setRangeText(quoted(name), field.selectionStart, field.selectionEnd, "end");
            field.focus();
        },
    }, text(name));
    return el("details", { class: "names" }, el("summary", {}, "Types, properties, relations"),
        store.schema.entities.map((type) => el("p", {}, insert(type.name), ": ",
            type.columns.filter((column) => !column.name.startsWith("$")).map((column) => insert(column.name)),
            type.relations.map((relation) => insert(relation.name)))));
}
