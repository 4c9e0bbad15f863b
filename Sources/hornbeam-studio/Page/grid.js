// SPDX-License-Identifier: Apache-2.0
// The entities of a type in a grid that scrolls through any number of rows. Only the rows in view have elements. Rows
// are fetched in blocks by their position, which takes equally long at any position.

import { canChange, takeNotice } from "./edit.js";
import { count, el, failure, get, isNumber, place, quoted, shown, text, time, value } from "./page.js";

const rowHeight = 30;
const blockRows = 100;
const keptBlocks = 40;
/**
 * Maximum height of the scrolled element in pixels, because browsers limit it. In a longer grid, the position of the
 * scroll bar stands for a row in proportion.
 */
const greatestHeight = 8_000_000;

class Grid {
    constructor(type, query) {
        this.type = type;
        this.query = query;
        this.total = 0;
        this.top = 0;
        this.active = 0;
        /** The server's answers by the number of the block, each with rows and the state that they belong to. */
        this.blocks = new Map();
        this.newest = 0;
        this.loading = new Map();
        this.rows = new Map();
        this.columns = type.columns.filter((column) => !column.name.startsWith("$"));
        this.head = el("div", { class: "grid-row grid-head", role: "row", "aria-rowindex": 1 },
            this.columns.map((column) => this.headCell(column)));
        this.space = el("div", { class: "grid-space", role: "rowgroup" });
        this.element = el("div", {
            class: "grid", role: "grid", tabindex: 0, "aria-label": `Entities of ${type.name}`,
            "aria-colcount": this.columns.length, onkeydown: (event) => this.key(event),
            onscroll: () => this.scrolled(), onclick: (event) => this.click(event),
        }, el("div", { role: "rowgroup", class: "grid-top" }, this.head), this.space);
        // Not passive, because `wheel` prevents the default.
        this.element.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
        this.status = el("p", { class: "status", role: "status" });
        this.resizing = new ResizeObserver(() => this.place());
    }

    headCell(column) {
        const sorted = this.query.sort === column.name ? "ascending"
            : this.query.sort === "-" + column.name ? "descending" : "none";
        const canSort = !/^\[|^json/.test(column.type);
        const to = place("type", this.type.name, {
            where: this.query.where, sort: sorted === "ascending" ? "-" + column.name : column.name,
        });
        const arrow = { ascending: " ↑", descending: " ↓", none: "" }[sorted];
        return el("div", {
            role: "columnheader", "aria-sort": sorted, title: column.type, class: isNumber(column.type) ? "right" : null,
        }, canSort ? el("a", { href: to }, text(column.name), arrow) : text(column.name));
    }

    /** Fetches the first rows, and sets the widths of the columns to fit them. */
    async begin(row) {
        this.top = row;
        await this.load(Math.floor(row / blockRows));
        if (row >= this.total) this.top = 0;
        const rows = [...this.blocks.values()][0]?.rows ?? [];
        const widths = this.columns.map((column, at) => {
            const lengths = rows.slice(0, 50).map((cells) => length(cells[at + 1]));
            return Math.min(36, Math.max(column.name.length + 3, 6, ...lengths) + 2);
        });
        // As fractions of one width, so that the columns of all rows are aligned.
        this.element.style.setProperty("--columns", widths.map((width) => `minmax(0, ${width}fr)`).join(" "));
        this.element.style.setProperty("--width", `${widths.reduce((sum, width) => sum + width, 0)}ch`);
        this.active = row < this.total ? row : 0;
    }

    shown() {
        this.resizing.observe(this.element);
        this.place();
        this.moveTo(this.top);
    }

    close() {
        this.isClosed = true;
        this.resizing.disconnect();
        for (const control of this.loading.values()) control.abort();
    }

    /** Number of rows in view; it may have a fraction. */
    get viewRows() { return Math.max(1, (this.element.clientHeight - this.head.offsetHeight) / rowHeight); }
    get height() { return Math.min(greatestHeight, this.total * rowHeight); }
    get isScaled() { return this.total * rowHeight > greatestHeight; }
    get lastTop() { return Math.max(0, this.total - this.viewRows); }
    get scrollRange() { return Math.max(1, this.height - this.viewRows * rowHeight); }

    /** Scrolls so that a row is the first one in view. */
    moveTo(row) {
        this.top = Math.min(this.lastTop, Math.max(0, row));
        const position = this.isScaled ? this.top / this.lastTop * this.scrollRange : this.top * rowHeight;
        this.element.scrollTop = position;
        // As the browser has rounded it, so that `scrolled` ignores the event of this change.
        this.position = this.element.scrollTop;
        this.draw();
    }

    scrolled() {
        const position = this.element.scrollTop;
        if (position === this.position) return;
        this.position = position;
        this.top = this.isScaled ? position / this.scrollRange * this.lastTop : position / rowHeight;
        this.draw();
    }

    /** Moves by rows in a grid that scrolls in proportion, because the browser's own step would skip rows. */
    wheel(event) {
        if (!this.isScaled || event.ctrlKey || event.deltaY === 0) return;
        event.preventDefault();
        const step = [rowHeight, 1, this.viewRows][event.deltaMode === 0 ? 0 : event.deltaMode];
        this.moveTo(this.top + (event.deltaMode === 2 ? event.deltaY * step : event.deltaY / step));
    }

    key(event) {
        const page = Math.max(1, Math.floor(this.viewRows) - 1);
        const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
        if (event.target !== this.element) return;
        if (event.key === "Enter") {
            this.open(this.active);
        } else if (steps[event.key] !== undefined) {
            this.activate(this.active + steps[event.key]);
        } else {
            return;
        }
        event.preventDefault();
    }

    /** Makes a row the active one and brings it into view. */
    activate(row) {
        this.active = Math.min(Math.max(0, this.total - 1), Math.max(0, row));
        const last = this.top + this.viewRows - 1;
        if (this.active < this.top) this.moveTo(this.active);
        else if (this.active > last) this.moveTo(this.active - this.viewRows + 1);
        else this.draw();
    }

    click(event) {
        const row = event.target.closest(".grid-space .grid-row");
        if (!row || event.target.closest("a") || String(getSelection()) !== "") return;
        this.open(Number(row.dataset.row));
    }

    open(row) {
        const cells = this.cells(row);
        if (cells) location.hash = place("entity", this.type.name, cells[0]);
    }

    cells(row) { return this.blocks.get(Math.floor(row / blockRows))?.rows[row % blockRows]; }

    place() {
        this.space.style.height = `${this.height}px`;
        this.element.setAttribute("aria-rowcount", this.total + 1);
        this.draw();
    }

    /** Shows the rows in view, and fetches the missing ones. */
    draw() {
        if (this.isClosed || !this.element.isConnected) return;
        const first = Math.max(0, Math.floor(this.top) - 4);
        const end = Math.min(this.total, Math.ceil(this.top + this.viewRows) + 4);
        for (const [row, element] of this.rows) {
            if (row >= first && row < end && element.cells === this.cells(row)) continue;
            element.remove();
            this.rows.delete(row);
        }
        for (let row = first; row < end; row += 1) {
            let element = this.rows.get(row);
            if (!element) {
                element = this.makeRow(row);
                this.rows.set(row, element);
                this.space.append(element);
            }
            const offset = this.isScaled ? this.element.scrollTop + (row - this.top) * rowHeight : row * rowHeight;
            element.style.transform = `translateY(${offset}px)`;
            element.classList.toggle("active", row === this.active);
        }
        const active = this.rows.get(this.active);
        if (active) this.element.setAttribute("aria-activedescendant", active.id);
        else this.element.removeAttribute("aria-activedescendant");
        this.fetch(Math.floor(first / blockRows), Math.floor(Math.max(first, end - 1) / blockRows));
        this.tell();
    }

    makeRow(row) {
        const cells = this.cells(row);
        const element = el("div", {
            class: "grid-row", role: "row", id: `row-${row}`, "aria-rowindex": row + 2, "data-row": row,
        }, this.columns.map((column, at) => {
            const cell = cells ? value(cells[at + 1]) : "…";
            const to = cells && at === 0 ? place("entity", this.type.name, cells[0]) : null;
            return el("div", { role: "gridcell", class: isNumber(column.type) ? "right" : null },
                to ? el("a", { href: to, tabindex: -1 }, cell) : cell);
        }));
        element.cells = cells;
        return element;
    }

    fetch(first, last) {
        for (const [block, control] of this.loading) if (block < first || block > last) control.abort();
        // Rows of an older state stay until newer ones come.
        const isThere = (block) => this.blocks.get(block)?.transaction >= this.newest || this.loading.has(block);
        for (let block = first; block <= last && block * blockRows < this.total; block += 1) {
            if (isThere(block)) continue;
            this.load(block).then(() => this.draw()).catch((error) => {
                if (error.name !== "AbortError") this.status.replaceChildren(failure(error));
            });
        }
    }

    async load(block) {
        const control = new AbortController();
        this.loading.set(block, control);
        try {
            const reply = await get("rows", {
                type: this.type.name, from: block * blockRows, count: blockRows,
                ...(this.query.sort && { sort: this.query.sort }), ...(this.query.where && { where: this.query.where }),
            }, { signal: control.signal });
            this.take(block, reply);
        } finally {
            if (this.loading.get(block) === control) this.loading.delete(block);
        }
    }

    take(block, reply) {
        this.transaction = reply.transaction;
        this.isCut = reply.isCut;
        this.milliseconds = reply.milliseconds;
        this.blocks.delete(block);
        this.blocks.set(block, reply);
        if (this.blocks.size > keptBlocks) this.blocks.delete(this.blocks.keys().next().value);
        if (reply.total === this.total) return;
        this.total = reply.total;
        this.place();
    }

    /** Fetches the rows in view anew if there is a newer state. */
    refresh(transaction) {
        this.newest = transaction;
        this.draw();
    }

    tell() {
        const first = Math.min(this.total, Math.floor(this.top) + 1);
        const last = Math.min(this.total, Math.floor(this.top + this.viewRows));
        const range = this.total === 0 ? "no entities" : `rows ${count(first)} to ${count(last)} of ${count(this.total)}`;
        const more = this.isCut ? ", the first ones; there are more" : "";
        const message = `${range}${more} · state ${count(this.transaction)} · read in ${time(this.milliseconds)}`;
        if (this.status.textContent !== message) this.status.textContent = message;
    }
}

function length(cell) {
    if (cell === null || cell === undefined) return 4;
    if (typeof cell === "string") return cell.length;
    return (cell.n ?? cell.t ?? String(cell)).length;
}

/** Shows a type's entities, with a field for a condition and one for the number of a row to go to. */
export async function typeView(store, [name], query) {
    const type = store.types.get(name);
    if (!type) throw new Error(`The store has no type “${shown(name)}”.`);
    const wanted = { sort: query.get("sort") ?? "", where: query.get("where") ?? "" };
    const condition = el("input", {
        type: "search", name: "where", value: wanted.where, autocomplete: "off", spellcheck: "false",
        placeholder: "condition, as behind WHERE", "aria-describedby": "condition-help",
    });
    const row = el("input", { type: "number", name: "row", min: 1, step: 1, inputmode: "numeric" });
    const form = el("form", {
        class: "bar", onsubmit: (event) => {
            event.preventDefault();
            location.hash = place("type", name, { ...wanted, where: condition.value.trim() });
        },
    }, el("label", { class: "wide" }, "Where", condition), el("button", {}, "Filter"));
    const help = el("p", { class: "help", id: "condition-help" },
        "For example: ", el("code", {}, example(type)), ". ", searchLink(type));
    const grid = new Grid(type, wanted);
    const jump = el("form", {
        class: "bar", onsubmit: (event) => {
            event.preventDefault();
            if (row.value === "") return;
            grid.active = Math.min(grid.total, Math.max(1, Number(row.value))) - 1;
            grid.moveTo(grid.active);
            grid.element.focus({ preventScroll: true });
        },
    }, el("label", {}, "Row", row), el("button", {}, "Go"));
    const add = canChange(store, name) ? el("a", { class: "button", href: place("new", name) }, "New entity") : null;
    const bars = el("div", { class: "bars" }, form, jump, add);
    try {
        await grid.begin(0);
    } catch (error) {
        return { title: name, nodes: [bars, help, failure(error)] };
    }
    return {
        title: name, fills: true, nodes: [...[takeNotice(false)].filter(Boolean), bars, help, grid.element, grid.status], shown: () => grid.shown(),
        refresh: (store) => grid.refresh(store.transaction), close: () => grid.close(),
    };
}

/** An example of a condition on a property of the type. */
function example(type) {
    const columns = type.columns.filter((column) => !column.name.startsWith("$"));
    const plain = columns.slice(1).find((column) => /^(string|u?int|double|bool)/.test(column.type)) ?? columns[0];
    const literal = plain.type.startsWith("string") ? "LIKE 'a%'" : plain.type.startsWith("bool") ? "= TRUE" : "> 100";
    return `${quoted(plain.name)} ${literal}`;
}

function searchLink(type) {
    const hasText = type.indexes.some((index) => index.kind === "text");
    return hasText ? el("a", { href: place("search", type.name) }, "Search its texts") : null;
}
