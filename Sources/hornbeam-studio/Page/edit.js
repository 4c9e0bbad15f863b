// SPDX-License-Identifier: Apache-2.0
// Changes of entities: a form with a field for each property, deletion, links, and notices that show the statement of a
// change and Swift code for it.

import { bytes, count, counted, el, failure, get, isTombstone, place, post, shown, text, time, value } from "./page.js";

/** Maximum size of a file from which a value is read, in bytes. */
const longestFile = 16_000_000;

export const canChange = (store, type) => store.isWritable && !isTombstone(type);

// Notices

let last;

/** Sends a change to the server. The next view shows a notice of it. */
export async function change(body) {
    const reply = await post("change", body);
    last = reply;
    return reply;
}

/** Returns a notice of the last change, once. Returns null if there is none. */
export function takeNotice(isOpen = true) {
    const made = last;
    last = undefined;
    if (!made) return null;
    return el("section", { class: "change", role: "status", "aria-label": "The last change" },
        el("p", { class: "good" }, `Changed in ${time(made.milliseconds)} · state ${count(made.transaction)}`),
        el("details", { open: isOpen }, el("summary", {}, "Statement and Swift"),
            el("pre", { class: "statement" }, shown(made.statement)),
            made.parameters.length ? el("ol", { class: "values", "aria-label": "Values of ?" },
                made.parameters.map((parameter) => el("li", {}, value(parameter)))) : null,
            el("pre", { class: "swift" }, shown(made.swift))));
}

// Fields

let fields = 0;

/** The label, the control, and the message of one property or relation. */
class Field {
    constructor(name, note, control) {
        this.name = name;
        this.control = control;
        control.id = `field-${fields += 1}`;
        // Not `name`, because a control named like a property of the form would hide that property.
        control.dataset.field = name;
        this.error = el("p", { class: "failure", id: `${control.id}-error`, hidden: true });
        this.help = el("p", { class: "help", id: `${control.id}-help`, hidden: true });
        control.setAttribute("aria-describedby", `${this.error.id} ${this.help.id}`);
        this.box = el("div", { class: "field" },
            el("label", { for: control.id }, text(name), el("span", { class: "note" }, shown(note))),
            el("div", {}, control, this.error, this.help));
    }

    /** Shows an error, or removes it if `message` is undefined. */
    tell(message) {
        this.error.hidden = message === undefined;
        this.error.textContent = shown(message ?? "");
        if (message === undefined) this.control.removeAttribute("aria-invalid");
        else this.control.setAttribute("aria-invalid", "true");
    }

    explain(message) {
        this.help.hidden = message === "";
        this.help.textContent = message;
    }
}

const severalLines = /^(string|json|data|\[)/;
const fromFile = /^(string|json|data)\??$/;

/** The field of a property. Its value is a text, or null. */
class PropertyField extends Field {
    constructor(column, { text: stored, isNull, size }) {
        const type = column.type;
        const control = type.startsWith("bool") ? el("select", {},
            ["true", "false"].map((word) => el("option", { value: word }, word)))
            : severalLines.test(type) ? el("textarea", { rows: 1, dir: "auto", spellcheck: "false" })
                : el("input", { autocomplete: "off", spellcheck: "false" });
        super(column.name, type, control);
        this.stored = stored;
        this.wasNull = isNull;
        if (stored === null) {
            control.disabled = true;
            control.placeholder = `${bytes(size)}: too long to be edited here`;
        } else {
            // A select has no option for "": it is blank.
            control.value = stored;
        }
        if (type.endsWith("?")) this.addNull(isNull);
        if (fromFile.test(type)) this.addFile(type.startsWith("data"));
        const notes = [];
        if (stored?.includes("\r") && !isWindows(stored)) notes.push("Saving an edit makes all line ends line feeds.");
        if (stored && shown(stored) !== stored) notes.push(`With hidden signs spelt: ${shown(stored.slice(0, 200))}`);
        this.explain(notes.join(" "));
        // Read from the control, because the browser may have changed the ends of lines.
        this.first = control.value;
    }

    addNull(isNull) {
        this.null = el("input", {
            type: "checkbox", checked: isNull, "aria-label": `${shown(this.name)} is null`,
            onchange: () => this.setNull(this.null.checked),
        });
        this.setNull(isNull);
        this.control.addEventListener("input", () => this.setNull(false));
        this.control.after(el("label", { class: "null-box" }, this.null, "null"));
    }

    setNull(isNull) {
        if (!this.null) return;
        this.null.checked = isNull;
        this.control.classList.toggle("isNull", isNull);
    }

    addFile(isData) {
        const input = el("input", {
            type: "file", "aria-label": `${shown(this.name)} from a file`,
            onchange: async () => {
                const [file] = input.files;
                this.tell(undefined);
                this.explain("");
                this.file = undefined;
                this.fileFlaw = file ? "the file is still being read" : undefined;
                this.control.disabled = file !== undefined || this.stored === null;
                // Without a file the value is what it was before, which may have been typed.
                this.setNull(!file && this.wasNull && this.control.value === this.first);
                if (!file) return;
                try {
                    if (file.size > longestFile) throw new Error(`a file has at most ${bytes(longestFile)}`);
                    const value = isData ? await base64(file) : decoded(await file.arrayBuffer());
                    if (input.files[0] !== file) return;
                    this.file = value;
                    this.fileFlaw = undefined;
                    this.explain(`The value will be ${file.name}, ${bytes(file.size)}`);
                } catch (error) {
                    if (input.files[0] !== file) return;
                    this.fileFlaw = error.message;
                    this.tell(error.message);
                }
            },
        });
        const remove = el("button", {
            type: "button", class: "quiet", "aria-label": `No file for ${shown(this.name)}`, onclick: () => {
                input.value = "";
                input.dispatchEvent(new Event("change"));
            },
        }, "No file");
        this.error.before(el("details", { class: "file" }, el("summary", {}, "From a file"), input, remove));
    }

    /** The reason why the chosen file can't be the value: it was refused, or isn't read yet. Undefined if it can. */
    get flaw() { return this.null?.checked ? undefined : this.fileFlaw; }

    /** The value that was entered. */
    get value() {
        if (this.null?.checked) return null;
        if (this.file !== undefined) return this.file;
        if (this.control.value === this.first) return this.stored;
        // A textarea turns all ends of lines into LF. A text that had only CRLF gets them back.
        return isWindows(this.stored) ? this.control.value.replaceAll("\n", "\r\n") : this.control.value;
    }

    get isChanged() {
        if (this.null && this.null.checked !== this.wasNull) return true;
        return !this.null?.checked && (this.file !== undefined || this.control.value !== this.first);
    }
}

/** Whether all ends of lines in a text are CRLF, and there are some. */
function isWindows(text) {
    return /\r\n/.test(text) && !/[^\r]\n|^\n|\r[^\n]|\r$/.test(text);
}

function decoded(buffer) {
    try {
        return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(buffer);
    } catch {
        throw new Error("the file isn't UTF-8");
    }
}

function base64(file) {
    return new Promise((resolve, reject) => {
        const reader = new FileReader();
        reader.onload = () => resolve(reader.result.slice(reader.result.indexOf(",") + 1));
        reader.onerror = () => reject(new Error("the file can't be read"));
        reader.readAsDataURL(file);
    });
}

/** The field of a new entity's relation. It takes ids. */
class RelationField extends Field {
    constructor(relation) {
        super(relation.name, relation.toMany ? `ids of ${relation.target}, each on a line` : `id of ${relation.target}`,
            relation.toMany ? el("textarea", { rows: 1, spellcheck: "false" })
                : el("input", { autocomplete: "off", spellcheck: "false" }));
    }

    get ids() { return this.control.value.split("\n").filter((line) => line !== ""); }
}

// Forms

/** A form for the values of a new or stored entity. `collect` returns the change to make, or null if there is none. */
function form(type, list, label, back, collect) {
    const outcome = el("div", { role: "alert", tabindex: -1 });
    const element = el("form", {
        class: "edit", novalidate: true,
        onkeydown: (event) => {
            if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
            event.preventDefault();
            element.requestSubmit();
        },
        onsubmit: async (event) => {
            event.preventDefault();
            if (element.hasAttribute("aria-busy")) return;
            for (const field of list) field.tell(undefined);
            outcome.replaceChildren();
            const flaws = list.filter((field) => field.flaw).map(({ name, flaw }) => ({ name, message: flaw }));
            if (flaws.length > 0) return refuse({ fields: flaws }, list, outcome);
            const body = collect();
            if (!body) return outcome.replaceChildren(el("p", {}, "Nothing is different from what is stored."));
            element.setAttribute("aria-busy", "true");
            try {
                const reply = await change(body);
                location.hash = place("entity", type, reply.row);
            } catch (error) {
                refuse(error, list, outcome);
            } finally {
                element.removeAttribute("aria-busy");
            }
        },
    }, outcome, list.map((field) => field.box), el("p", { class: "bar" },
        el("button", {}, label), el("a", { href: back }, "Cancel"), el("span", { class: "help" }, "Ctrl-Enter saves.")));
    return element;
}

/** Shows an error at the fields that it names. */
function refuse(error, list, outcome) {
    const left = [];
    const wrong = new Set();
    for (const { name, message } of error.fields ?? []) {
        const field = list.find((field) => field.name === name);
        if (field) {
            field.tell(message);
            wrong.add(field);
        } else {
            left.push(`${name}: ${message}`);
        }
    }
    const summary = wrong.size === 0 ? error.message : `Nothing was changed: wrong values in ${counted(wrong.size, "field")}.`;
    outcome.replaceChildren(failure(new Error([summary, ...left].join("\n"))));
    (list.find((field) => wrong.has(field))?.control ?? outcome).focus();
}

function known(store, name) {
    const type = store.types.get(name);
    if (!type) throw new Error(`The store has no type “${name}”.`);
    if (!canChange(store, name)) throw new Error("Nothing can be changed: the studio was started without --write.");
    return { ...type, columns: type.columns.filter((column) => !column.name.startsWith("$")) };
}

export async function editView(store, [name, row]) {
    const type = known(store, name);
    const reply = await get("fields", { type: name, row });
    const columns = new Map(type.columns.map((column) => [column.name, column]));
    const list = reply.fields.slice(1).map((field) => new PropertyField(columns.get(field.name), field));
    const collect = () => {
        const changed = list.filter((field) => field.isChanged);
        const values = Object.fromEntries(changed.map((field) => [field.name, field.value]));
        return changed.length === 0 ? null : { change: "update", type: name, row, values };
    };
    return {
        title: `Edit ${name} ${reply.label}`,
        nodes: [form(name, list, "Save", place("entity", name, row), collect)],
        shown: () => list[0]?.control.focus(),
    };
}

export async function newView(store, [name]) {
    const type = known(store, name);
    const list = type.columns.map((column) =>
        new PropertyField(column, { text: "", isNull: column.type.endsWith("?"), size: 0 }));
    const [id] = list;
    const isMade = /^(u?int|uuid)/.test(type.columns[0].type);
    if (isMade) id.control.placeholder = "made by the store if empty";
    const links = type.relations.map((relation) => new RelationField(relation));
    const collect = () => {
        const given = list.filter((field) => field.value !== null && !(field === id && isMade && field.value === ""));
        const linked = links.filter((field) => field.ids.length > 0);
        return {
            change: "insert", type: name, values: Object.fromEntries(given.map((field) => [field.name, field.value])),
            relations: Object.fromEntries(linked.map((field) => [field.name, field.ids])),
        };
    };
    return {
        title: `New ${name}`, nodes: [form(name, [...list, ...links], "Add", place("type", name), collect)],
        shown: () => id.control.focus(),
    };
}

// Deletion

/** A button that deletes an entity, after a dialog has shown how many others are deleted with it. */
export function deleteButton(type, row) {
    return el("button", { class: "danger", type: "button", onclick: () => void ask(type, row) }, "Delete…");
}

async function ask(type, row) {
    const body = el("div", {}, el("p", { class: "status" }, "Counting…"));
    const sure = el("button", { class: "danger", hidden: true, onclick: async () => {
        sure.disabled = true;
        try {
            await change({ change: "delete", type, row });
            dialog.close();
            location.hash = place("type", type);
        } catch (error) {
            body.replaceChildren(failure(error));
            sure.disabled = false;
        }
    } }, "Delete");
    const dialog = el("dialog", { "aria-labelledby": "deletion-title", onclose: () => dialog.remove() },
        el("h2", { id: "deletion-title" }, "Delete ", text(type)), body,
        el("p", { class: "bar" }, sure, el("button", { class: "quiet", onclick: () => dialog.close() }, "Keep it")));
    document.getElementById("main").append(dialog);
    dialog.showModal();
    try {
        const { label, others } = await get("deletion", { type, row });
        const sum = others.reduce((sum, { count }) => sum + count, 0);
        body.replaceChildren(
            el("p", {}, text(label), sum === 0 ? " goes, with all links to it; no other entity does."
                : ` goes, and by delete rules ${counted(sum, "other entity", "other entities")} with it:`),
            el("ul", {}, others.map((other) => el("li", {}, `${count(other.count)} of `, text(other.type)))));
        sure.hidden = false;
    } catch (error) {
        body.replaceChildren(failure(error));
    }
}

// Links

/** A form that links an entity to others. `changed` is called after a change. */
export function linkForm(type, row, relation, changed) {
    const note = relation.toMany ? `adds a link to ${relation.type}` : `the only link to ${relation.type}`;
    const field = new Field("id", note, el("input", { required: true, autocomplete: "off", spellcheck: "false" }));
    field.control.setAttribute("aria-label", `id of the entity to link by ${shown(relation.name)}`);
    return el("form", {
        class: "link", onsubmit: async (event) => {
            event.preventDefault();
            field.tell(undefined);
            const id = field.control.value;
            // At once, because the event of the new state may redraw the page, which keeps typed texts, before the reply.
            field.control.value = "";
            try {
                await change({ change: "link", type, row, relations: { [relation.name]: [id] } });
                await changed();
            } catch (error) {
                field.control.value = id;
                field.tell(error.fields?.map(({ message }) => message).join("\n") ?? error.message);
                field.control.focus();
            }
        },
    }, field.box, el("button", {}, "Link"));
}

/** A button that removes one link. */
export function unlinkButton(type, row, relation, entity, changed) {
    const button = el("button", {
        type: "button", class: "quiet", "aria-label": `Unlink ${shown(entity.label)}`,
        // A key that is held down presses a button again and again.
        onkeydown: (event) => { if (event.repeat) event.preventDefault(); },
        onclick: async () => {
            const relations = { [relation.name]: [entity.id] };
            try {
                await change({ change: "unlink", type, row, relations });
                await changed();
            } catch (error) {
                const message = error.fields?.map(({ message }) => message).join("\n") ?? error.message;
                button.after(failure(new Error(message)));
            }
        },
    }, "Unlink");
    return button;
}
