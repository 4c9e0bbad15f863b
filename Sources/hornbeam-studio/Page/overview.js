// SPDX-License-Identifier: Apache-2.0
// The store as a whole: sizes, types, the graph of their relations, sizes by tree as a treemap; and all indexes.

import { bytes, colour, count, counted, el, failure, get, isTombstone, paced, place, redraw, shown, svg, table, text, tree } from "./page.js";

export async function overview(store) {
    const body = el("div", {});
    const sizes = el("div", {}, el("p", { class: "status" }, "Reading sizes…"));
    const draw = (store) => redraw(body, ...facts(store), ...types(store), ...graph(store));
    // Paced, because the server reads the branches of all trees for it.
    const measure = paced(async () => {
        try {
            const reply = await get("sizes");
            redraw(sizes, treemap(store, reply), sizeTable(reply));
        } catch (error) {
            sizes.replaceChildren(failure(error));
        }
    }, 2_000);
    draw(store);
    return {
        title: "Overview", nodes: [body, el("h2", {}, "Sizes by tree"), sizes], shown: () => void measure(),
        refresh: async (store) => {
            draw(store);
            await measure();
        },
        close: measure.stop,
    };
}

function facts({ info, shownTypes, transaction }) {
    const entities = info.entityTypes.reduce((sum, type) => sum + type.entities, 0);
    const list = [
        ["Entities", count(entities)], ["Types", count(shownTypes.length)], ["File", bytes(info.fileSize)],
        ["Used", bytes(info.usedSize)], ["Free", bytes(info.freeSize)],
        ...(info.retiredSize > 0 ? [["Held for older states", bytes(info.retiredSize)]] : []),
        ["Journal", bytes(info.journalSize)], ["Transaction", count(transaction)],
    ];
    return [el("dl", { class: "facts" },
        list.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))))];
}

function types(store) {
    const rows = store.shownTypes.map((type) => {
        const known = store.types.get(type.name);
        return [
            el("a", { href: place("type", type.name) }, text(type.name)), count(type.entities),
            count(known?.columns.length ?? 0), count(type.indexes.length),
            (known?.relations ?? []).flatMap((relation, at) => [
                at > 0 ? ", " : "", text(relation.name), " → ",
                el("a", { href: place("type", relation.target) },
                    text(relation.toMany ? `[${relation.target}]` : relation.target)),
            ]),
        ];
    });
    return [el("h2", {}, "Types"),
        table("Types", ["Type", "Entities", "Properties", "Indexes", "Relations"], rows, [1, 2, 3])];
}

/** Draws the types on an ellipse, with a line for each relation. A relation and its inverse share one line. */
function graph(store) {
    const types = store.schema.entities.filter((type) => !isTombstone(type.name));
    if (!types.some((type) => type.relations.length)) return [];
    const [width, boxHeight] = [720, 44];
    const height = Math.max(300, Math.min(620, types.length * 76));
    const counts = new Map(store.info.entityTypes.map((type) => [type.name, type.entities]));
    const places = new Map(types.map((type, at) => {
        const angle = (at / types.length) * 2 * Math.PI - Math.PI / 2;
        const isSole = types.length === 1;
        const boxWidth = Math.max(96, Math.min(180, shown(type.name).length * 9 + 28));
        return [type.name, {
            x: width / 2 + (isSole ? 0 : Math.cos(angle) * (width / 2 - 105)),
            y: height / 2 + 14 + (isSole ? 0 : Math.sin(angle) * (height / 2 - 66)), boxWidth,
        }];
    }));
    const lines = [];
    const pairs = new Map();
    for (const type of types) {
        for (const relation of type.relations) {
            const target = places.get(relation.target);
            if (!target) continue;
            const isSecond = relation.inverse && (type.name > relation.target ||
                (type.name === relation.target && relation.name > relation.inverse));
            if (isSecond) continue;
            const pair = [type.name, relation.target].sort().join("\n");
            const number = pairs.get(pair) ?? 0;
            pairs.set(pair, number + 1);
            lines.push(relationLine(type, relation, places.get(type.name), target, number));
        }
    }
    const boxes = types.map((type) => {
        const { x, y, boxWidth } = places.get(type.name);
        return svg("a", { href: place("type", type.name) },
            svg("rect", { x: x - boxWidth / 2, y: y - boxHeight / 2, width: boxWidth, height: boxHeight, rx: 8 }),
            svg("text", { x, y: y - 3, class: "name" }, shortened(type.name, 20)),
            svg("text", { x, y: y + 14, class: "note" }, count(counts.get(type.name) ?? 0)));
    });
    const label = "Graph of types and relations. The table above has the same in words.";
    return [el("h2", {}, "Relations"), el("div", { class: "scroll" },
        svg("svg", { class: "graph", viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": label },
            svg("defs", {}, svg("marker", {
                id: "arrow", viewBox: "0 0 10 10", refX: 9, refY: 5, markerWidth: 7, markerHeight: 7,
                orient: "auto-start-reverse",
            }, svg("path", { d: "M0 0L10 5L0 10z" }))), lines, boxes))];
}

/** A curve between two boxes. Several curves between the same boxes are bent apart. */
function relationLine(type, relation, from, to, number) {
    const label = relation.inverse && relation.inverse !== relation.name
        ? `${relation.name} / ${relation.inverse}` : relation.name;
    const ends = { "marker-end": "url(#arrow)", "marker-start": relation.inverse ? "url(#arrow)" : null };
    const title = svg("title", {}, shown(`${type.name}.${label} → ${relation.target}`));
    if (from === to) {
        const [x, y] = [from.x, from.y - 24];
        const size = 26 + number * 18;
        const path = `M${x - 12} ${y}C${x - 16 - size} ${y - size},${x + 16 + size} ${y - size},${x + 12} ${y}`;
        return svg("g", { class: "line" }, title, svg("path", { d: path, ...ends }),
            svg("text", { x, y: y - size * 0.75 - 2 }, shortened(label, 30)));
    }
    const [dx, dy] = [to.x - from.x, to.y - from.y];
    const distance = Math.hypot(dx, dy);
    const bend = (number % 2 === 0 ? 1 : -1) * Math.ceil((number + 1) / 2) * 30;
    const middle = { x: (from.x + to.x) / 2 - dy / distance * bend, y: (from.y + to.y) / 2 + dx / distance * bend };
    const [start, end] = [edge(from, middle), edge(to, middle)];
    const path = `M${start.x} ${start.y}Q${middle.x} ${middle.y},${end.x} ${end.y}`;
    const [x, y] = [(start.x + 2 * middle.x + end.x) / 4, (start.y + 2 * middle.y + end.y) / 4];
    return svg("g", { class: "line" }, title, svg("path", { d: path, ...ends }),
        svg("text", { x, y: y + 4 }, shortened(label, 28)));
}

/** The point where a line from a box's middle to `target` leaves the box. */
function edge(box, target) {
    const [dx, dy] = [target.x - box.x, target.y - box.y];
    const scale = Math.min((box.boxWidth / 2 + 3) / Math.max(1e-9, Math.abs(dx)), 25 / Math.max(1e-9, Math.abs(dy)));
    return { x: box.x + dx * scale, y: box.y + dy * scale };
}

function shortened(name, limit) {
    const signs = [...shown(name)];
    return signs.length > limit ? signs.slice(0, limit - 1).join("") + "…" : signs.join("");
}

/** Draws a rectangle for each tree: its area shows the tree's size, its colour the type. */
function treemap(store, { trees }) {
    const [width, height] = [720, 300];
    const names = store.info.entityTypes.map((type) => type.name);
    const items = trees.filter((entry) => entry.size > 0).sort((left, right) => right.size - left.size);
    const cells = squares(items, { x: 0, y: 0, width, height }).map(({ item, x, y, width, height }) => {
        const { type, label } = tree(item.name);
        const fits = width > 60 && height > 20;
        return svg("g", { class: "cell" },
            svg("title", {}, shown(`${item.name}: ${bytes(item.size)}, ${counted(item.entries, "entry", "entries")}`)),
            svg("rect", { x, y, width, height, fill: type ? colour(names.indexOf(type)) : "var(--line)" }),
            fits ? svg("text", { x: x + 6, y: y + 16 }, shortened(type || label, (width - 10) / 7.4)) : null,
            fits && type && height > 36
                ? svg("text", { x: x + 6, y: y + 31, class: "note" }, shortened(label, (width - 10) / 6.6)) : null);
    });
    const label = "Treemap of the file by tree. The table below has the same in numbers.";
    return svg("svg", { class: "treemap", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label }, cells);
}

/** Divides a rectangle among items by size, in pieces that are as square as possible (Bruls, Huizing, van Wijk). */
function squares(items, room) {
    const found = [];
    let left = items;
    let { x, y, width, height } = room;
    let total = items.reduce((sum, item) => sum + item.size, 0);
    while (left.length) {
        const short = Math.min(width, height);
        const scale = (width * height) / total;
        let [taken, sum, worst] = [0, 0, Infinity];
        while (taken < left.length) {
            const next = sum + left[taken].size;
            const thickness = (next * scale) / short;
            const ratios = [left[0].size, left[taken].size].map((size) => {
                const length = (size * scale) / thickness;
                return Math.max(thickness / length, length / thickness);
            });
            if (Math.max(...ratios) > worst) break;
            [worst, sum, taken] = [Math.max(...ratios), next, taken + 1];
        }
        const thickness = (sum * scale) / short;
        let at = 0;
        for (const item of left.slice(0, taken)) {
            const length = (item.size * scale) / thickness;
            found.push(width >= height ? { item, x, y: y + at, width: thickness, height: length }
                : { item, x: x + at, y, width: length, height: thickness });
            at += length;
        }
        if (width >= height) { x += thickness; width -= thickness; } else { y += thickness; height -= thickness; }
        left = left.slice(taken);
        total -= sum;
    }
    return found;
}

function sizeTable({ trees }) {
    const rows = [...trees].sort((left, right) => right.size - left.size)
        .map((entry) => [el("code", {}, text(entry.name)), count(entry.entries), bytes(entry.size)]);
    return el("details", {}, el("summary", {}, `${counted(trees.length, "tree")} in numbers`),
        el("p", { class: "help" }, "Sizes are those of a tree's nodes: long values, which have pages of their own, "
            + "don't count."),
        table("Sizes by tree", ["Tree", "Entries", "Size"], rows, [1, 2]));
}

/** All declared indexes, with the sizes of their trees. */
export async function indexView(store) {
    const sizes = new Map((await get("sizes")).trees.map((entry) => [entry.name, entry.size]));
    const rows = store.schema.entities.flatMap((type) => {
        const counts = store.info.entityTypes.find((entry) => entry.name === type.name)?.indexes ?? [];
        return type.indexes.map((index) => {
            const entries = counts.find((entry) => entry.name === index.name);
            const size = [...sizes].filter(([name]) => isOf(name, type.name, index)).reduce((sum, [, size]) => sum + size, 0);
            return [
                el("a", { href: place("type", type.name) }, text(type.name)), text(index.name), index.kind,
                text(entries?.columns ?? ""), count(entries?.entries ?? 0), bytes(size), text(options(index)),
            ];
        });
    });
    const heads = ["Type", "Index", "Kind", "Properties", "Entries", "Size", "Options"];
    return {
        title: "Indexes",
        nodes: rows.length ? [table("Indexes", heads, rows, [4, 5])] : [el("p", {}, "No type has an index.")],
    };
}

function isOf(tree, type, { name, kind }) {
    const start = { value: "x", hash: "x", unique: "u", text: "t" }[kind];
    return tree === `${start}:${type}:${name}` || tree.startsWith(`${start}:${type}:${name}:`);
}

function options(index) {
    const where = index.where === undefined ? null
        : `where ${typeof index.where === "string" ? index.where : JSON.stringify(index.where)}`;
    return [
        index.analyzer && `analyzer ${index.analyzer}`, index.collation && `collation ${index.collation}`, where,
        index.positions === false && "without positions", index.nilsDistinct === false && "one nil",
    ].filter(Boolean).join(", ");
}
