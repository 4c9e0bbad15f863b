// SPDX-License-Identifier: Apache-2.0
// One entity: its values, and links to its related entities in both directions.

import { canChange, deleteButton, linkForm, takeNotice, unlinkButton } from "./edit.js";
import { bytes, count, counted, el, failure, get, place, redraw, shown, text, value } from "./page.js";

export async function entityView(store, [type, row]) {
    const body = el("div", { class: "entity" });
    const status = el("p", { class: "status" });
    const notice = el("div", {});
    const tellChange = () => notice.replaceChildren(...[takeNotice()].filter(Boolean));
    let last;
    const read = async () => {
        const { transaction, ...entity } = await get("entity", { type, row });
        status.textContent = `state ${count(transaction)}`;
        // A new state with the same entity must not remove the links that the user has asked for by “More”.
        if (JSON.stringify(entity) === last) return entity;
        last = JSON.stringify(entity);
        redraw(body, ...nodes(type, row, entity, changed));
        return entity;
    };
    // Null if this entity can't be changed here.
    const changed = canChange(store, type) ? async () => {
        tellChange();
        await read();
    } : null;
    const entity = await read();
    tellChange();
    return { title: `${type} ${entity.label}`, nodes: [notice, body, status], refresh: read };
}

function nodes(type, row, entity, changed) {
    const own = entity.values.filter((property) => !property.isHidden);
    const kept = entity.values.filter((property) => property.isHidden && property.value !== null);
    const all = el("a", { href: place("type", type) }, "All entities of ", text(type));
    return [
        changed && entity.isStored ? el("p", { class: "bar" }, all,
            el("a", { class: "button", href: place("edit", type, row) }, "Edit"), deleteButton(type, row))
            : el("p", {}, all),
        entity.isStored ? properties(type, row, own)
            : el("p", {}, "Others refer to this entity; it isn't stored itself."),
        ...(kept.length ? [el("h2", {}, "Kept by the store"), properties(type, row, kept)] : []),
        ...(entity.relations.length ? [el("h2", {}, "Relations")] : []),
        ...entity.relations.map((relation) =>
            section(type, row, relation, relation.isIncoming || !entity.isStored ? null : changed)),
    ];
}

function properties(type, row, list) {
    return el("dl", { class: "properties" }, list.map((property) => el("div", {},
        el("dt", {}, text(property.name), el("span", { class: "note" }, property.type)),
        el("dd", {}, value(property.value), whole(type, row, property)))));
}

/** A link to the whole of a value that is shown cut; null if it is shown whole. */
function whole(type, row, { column, value }) {
    if (value === null || value.size === undefined) return null;
    const query = new URLSearchParams({ type, row, column });
    return el("a", { class: "whole", href: `api/value?${query}`, download: "value" }, `Save all ${bytes(value.size)}`);
}

/** A relation with its links. `changed` is called after a change of links; it is null if they can't be changed here. */
function section(type, row, relation, changed) {
    const item = (entity) => link(relation, entity,
        changed ? unlinkButton(type, row, relation, entity, changed) : null);
    const list = el("ul", { class: "links" }, relation.entities.map(item));
    const direction = relation.isIncoming ? "← " : "→ ";
    const kind = relation.isIncoming ? `of ${relation.type}` : relation.toMany ? `[${relation.type}]` : relation.type;
    const box = el("section", { class: "relation" },
        el("h3", {}, direction, text(relation.name), el("span", { class: "note" }, shown(kind)),
            el("span", { class: "note" }, count(relation.count))),
        relation.entities.length ? list : el("p", { class: "null" }, "none"),
        changed ? linkForm(type, row, relation, changed) : null);
    let next = relation.entities.length;
    if (next >= relation.count) return box;
    const more = el("button", {
        onclick: async () => {
            try {
                const source = relation.isIncoming ? { of: relation.type } : {};
                const page = await get("related", { type, row, relation: relation.name, from: next, ...source });
                list.append(...page.entities.map(item));
                next += page.entities.length;
                if (next >= page.count || page.entities.length === 0) more.remove();
                else more.textContent = rest(page.count - next);
            } catch (error) {
                box.append(failure(error));
            }
        },
    }, rest(relation.count - next));
    list.after(more);
    return box;
}

const rest = (number) => `More, of ${counted(number, "other")}`;

function link(relation, entity, button) {
    return el("li", {}, el("a", { href: place("entity", relation.type, entity.row) }, text(entity.label)),
        entity.isStored ? null : el("span", { class: "note" }, "not stored"), button);
}
