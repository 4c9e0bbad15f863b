// SPDX-License-Identifier: Apache-2.0
// Completions of a statement while it is typed, as a list below its field. Ctrl-Space opens the list, the arrow keys
// choose a word, Enter or Tab takes it, Escape closes the list.

import { el, post, shown } from "./page.js";

/** Maximum length of a statement for which words are offered, in UTF-16 units. */
const longest = 100_000;

/** Makes a field offer completions. Returns the list, which must be placed after the field. */
export function completing(field) {
    const list = el("ul", {
        class: "completions", role: "listbox", id: "completions", "aria-label": "Completions", hidden: true,
    });
    let words = [];
    let replaced = 0;
    let active = -1;
    let timer;
    let control;

    const draw = () => {
        list.hidden = words.length === 0;
        list.replaceChildren(...words.map((word, at) => el("li", {
            role: "option", id: `completion-${at}`, "aria-selected": String(at === active),
            // Not `onclick`: the field would lose the focus before it, which closes the list.
            onmousedown: (event) => { event.preventDefault(); take(at); },
        }, shown(word))));
        field.setAttribute("aria-expanded", String(!list.hidden));
        if (active < 0) return field.removeAttribute("aria-activedescendant");
        field.setAttribute("aria-activedescendant", `completion-${active}`);
        list.children[active].scrollIntoView({ block: "nearest" });
    };
    const close = () => {
        clearTimeout(timer);
        control?.abort();
        [words, active] = [[], -1];
        draw();
    };
    const take = (at) => {
        const end = field.selectionStart;
        field.setRangeText(words[at], end - replaced, end, "end");
        close();
    };
    const ask = async (isWanted) => {
        close();
        const end = field.selectionStart;
        if (end !== field.selectionEnd || field.value.length > longest) return;
        control = new AbortController();
        let reply;
        try {
            const statement = { before: field.value.slice(0, end), after: field.value.slice(end) };
            reply = await post("completions", statement, { signal: control.signal });
        } catch {
            // Without an answer no words are offered. Running the statement shows the reason.
            return;
        }
        if (field.selectionStart !== end || document.activeElement !== field) return;
        const typed = field.value.slice(end - reply.replaced, end).toLowerCase();
        replaced = reply.replaced;
        words = reply.words.filter((word) => word.toLowerCase() !== typed);
        active = isWanted && words.length > 0 ? 0 : -1;
        draw();
    };

    const keys = {
        ArrowDown: () => { active = (active + 1) % words.length; draw(); },
        ArrowUp: () => { active = (active <= 0 ? words.length : active) - 1; draw(); },
        Escape: close,
    };
    field.addEventListener("keydown", (event) => {
        if (event.key === " " && event.ctrlKey) {
            event.preventDefault();
            ask(true);
            return;
        }
        const isPlain = !event.ctrlKey && !event.metaKey;
        if (event.key === "Enter" && !isPlain) return close();
        if (list.hidden) return;
        const takes = active >= 0 && (event.key === "Enter" || event.key === "Tab");
        const act = takes ? () => take(active) : Object.hasOwn(keys, event.key) ? keys[event.key] : null;
        if (isPlain && act) {
            event.preventDefault();
            act();
        } else if (/^(Arrow|Home|End|Page)/.test(event.key)) {
            // The words fit only the place where the cursor was.
            close();
        }
    });
    field.addEventListener("input", () => {
        close();
        if (/([\p{L}_][\p{L}\p{N}_]+|\.)$/u.test(field.value.slice(0, field.selectionStart).slice(-40))) {
            timer = setTimeout(() => ask(false), 80);
        }
    });
    field.addEventListener("blur", close);
    field.addEventListener("click", close);
    for (const [name, value] of Object.entries({
        role: "combobox", "aria-autocomplete": "list", "aria-haspopup": "listbox", "aria-controls": list.id,
        "aria-expanded": "false",
    })) field.setAttribute(name, value);
    return list;
}
