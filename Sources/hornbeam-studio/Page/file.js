// SPDX-License-Identifier: Apache-2.0
// The file as a picture, and its check.

import { bytes, colour, count, counted, el, failure, get, paced, shown, svg, text, time, tree } from "./page.js";

export async function fileView(store) {
    const body = el("div", {});
    // Paced, because the server reads the branches of all trees for it.
    const draw = paced(async () => {
        try {
            body.replaceChildren(...picture(store, await get("sizes")));
        } catch (error) {
            body.replaceChildren(failure(error));
        }
    }, 2_000);
    await draw();
    return { title: "File", nodes: [body], refresh: draw, close: draw.stop };
}

/** Draws a square for each part of the file, filled with the colours of the types whose nodes are there. */
function picture(store, { fileSize, partSize, parts, trees, transaction }) {
    const names = store.info.entityTypes.map((type) => type.name);
    const owners = new Map(trees.map((entry) => [entry.number, tree(entry.name).type]));
    const columns = 64;
    const [cell, size] = [11.25, 10.25];
    const all = Math.ceil(fileSize / partSize);
    const sums = new Map();
    const squares = [];
    for (let at = 0; at < all; at += 1) {
        const own = new Map();
        for (const [number, bytes] of parts[at] ?? []) {
            const owner = owners.get(number) ?? "";
            own.set(owner, (own.get(owner) ?? 0) + bytes);
            sums.set(owner, (sums.get(owner) ?? 0) + bytes);
        }
        const [x, y] = [(at % columns) * cell, Math.floor(at / columns) * cell];
        const length = Math.min(partSize, fileSize - at * partSize);
        let bottom = y + size;
        const words = [];
        const bars = [...own].sort().map(([owner, bytes]) => {
            const height = Math.min(size, (bytes / length) * size);
            bottom -= height;
            words.push(`${owner || "catalogue and others"} ${Math.round((bytes / length) * 100)} %`);
            return svg("rect", { x, y: bottom, width: size, height, fill: fill(names, owner) });
        });
        const title = `from ${bytes(at * partSize)}: ${words.join(", ") || "free space, journal or long values"}`;
        squares.push(svg("g", {}, svg("title", {}, shown(title)),
            svg("rect", { x, y, width: size, height: size, class: "room" }), bars));
    }
    const height = Math.ceil(all / columns) * cell;
    const nodes = [...sums.values()].reduce((sum, bytes) => sum + bytes, 0);
    const legend = [...sums].sort((left, right) => right[1] - left[1]).map(([owner, bytes]) =>
        entry(fill(names, owner), owner || "catalogue and others", bytes));
    const label = `The file in ${all} parts. The list below has the same in numbers.`;
    return [
        el("p", {}, `${bytes(fileSize)} in ${counted(all, "part")} of ${bytes(partSize)}, from the beginning of the file `
            + "to its end. A part is coloured as far as nodes of a type's trees fill it. The rest is free space, the "
            + "journal, long values, and pages of older states."),
        svg("svg", { class: "picture", viewBox: `0 0 720 ${height}`, role: "img", "aria-label": label }, squares),
        el("ul", { class: "legend" }, legend, entry(null, "the rest", Math.max(0, fileSize - nodes))),
        el("p", { class: "status" }, `state ${count(transaction)}`),
    ];
}

const fill = (names, owner) => (names.includes(owner) ? colour(names.indexOf(owner)) : "var(--line)");

function entry(fill, name, size) {
    return el("li", {}, svg("svg", { viewBox: "0 0 10 10", "aria-hidden": "true" },
        svg("rect", { width: 10, height: 10, ...(fill ? { fill } : { class: "room" }) })),
    text(name), el("span", { class: "note" }, bytes(size)));
}

export async function checkView() {
    const steps = el("ol", { class: "steps" });
    const problems = el("ul", { class: "problems" });
    const unverified = el("ul", {});
    const outcome = el("p", { role: "status" });
    let events;
    let clock;
    const stop = () => {
        events?.close();
        clearInterval(clock);
        button.disabled = false;
        progress.hidden = true;
    };
    const progress = el("progress", { "aria-label": "checking", hidden: true });
    const button = el("button", {
        onclick: () => {
            steps.replaceChildren();
            problems.replaceChildren();
            unverified.replaceChildren();
            button.disabled = true;
            progress.hidden = false;
            const start = performance.now();
            clock = setInterval(() => { outcome.textContent = `${Math.round((performance.now() - start) / 1000)} s`; }, 1000);
            outcome.textContent = "Checking…";
            events = new EventSource("api/check");
            events.addEventListener("step", (event) => steps.append(el("li", {}, JSON.parse(event.data))));
            events.addEventListener("problem", (event) =>
                problems.append(el("li", {}, text(JSON.parse(event.data)))));
            events.addEventListener("failure", (event) => {
                outcome.replaceChildren(failure(new Error(JSON.parse(event.data).error)));
                stop();
            });
            events.addEventListener("done", (event) => {
                const reply = JSON.parse(event.data);
                const { problems, isWhole, milliseconds } = reply;
                const rest = isWhole ? "" : " in pages and trees; the entities were not checked";
                outcome.textContent = problems === 0 ? `No problems, in ${time(milliseconds)}.`
                    : `${counted(problems, "problem")}${rest}, in ${time(milliseconds)}.`;
                outcome.className = problems === 0 ? "good" : "failure";
                unverified.replaceChildren(
                    ...indexes(reply.indexesOfCode, "only the program that has made it can tell its entries"),
                    ...indexes(reply.indexesOfOtherOrders, "in the order of another version of its collation, so that only "
                        + "its entries were counted, and no query uses it until the file is opened for writing"));
                stop();
            });
            // An EventSource would reconnect, and so begin another check.
            events.addEventListener("error", () => {
                if (!button.disabled) return;
                outcome.textContent = "The connection was lost.";
                stop();
            });
        },
    }, "Check the store");
    return {
        title: "Check",
        nodes: [
            el("p", {}, "Reads everything: checksums, the structure of all trees, then rows, ids, indexes, links and "
                + "full text. Programs go on meanwhile."),
            el("p", { class: "bar" }, button, progress), steps, outcome, problems, unverified,
        ],
        close: stop,
    };
}

/** List items for indexes that weren't fully verified, with the reason. */
const indexes = (names, reason) => names.map((name) => el("li", {}, "Index ", text(name), `: ${reason}`));
