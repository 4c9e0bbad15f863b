// SPDX-License-Identifier: Apache-2.0
// The line editor of the system's libedit. Its functions take a variable number of arguments, which Swift can't pass,
// so each use is a function here.
#pragma once
#include <histedit.h>

typedef char *(*HBPrompt)(EditLine *);
typedef unsigned char (*HBKey)(EditLine *, int);

static inline void hb_edit_set_owner(EditLine *editor, void *owner) { el_set(editor, EL_CLIENTDATA, owner); }

static inline void *hb_edit_owner(EditLine *editor) {
    void *owner = 0;
    return el_get(editor, EL_CLIENTDATA, &owner) == 0 ? owner : 0;
}

static inline void hb_edit_set_prompt(EditLine *editor, HBPrompt prompt) { el_set(editor, EL_PROMPT, prompt); }

// The wide form, because with el_set the function would have to read bytes.
static inline void hb_edit_set_reader(EditLine *editor, el_rfunc_t reader) { el_wset(editor, EL_GETCFN, reader); }

static inline void hb_edit_use_emacs_keys(EditLine *editor) { el_set(editor, EL_EDITOR, "emacs"); }

static inline void hb_edit_add(EditLine *editor, const char *name, const char *help, HBKey key) {
    el_set(editor, EL_ADDFN, name, help, key);
}

static inline void hb_edit_bind(EditLine *editor, const char *keys, const char *name) {
    el_set(editor, EL_BIND, keys, name, (char *)0);
}

// Ctrl-C keeps what was typed before it. Otherwise the kernel drops it: a key that a program was told of may be gone when
// the program reads it, and the read waits for another one.
static inline void hb_edit_keep_input(EditLine *editor) { el_set(editor, EL_SETTY, "-d", "+noflsh", (char *)0); }

// Takes the terminal back after another program had it.
static inline void hb_edit_restore(EditLine *editor) {
    el_set(editor, EL_PREP_TERM, 0);
    el_set(editor, EL_PREP_TERM, 1);
    el_set(editor, EL_REFRESH);
}

static inline History *hb_edit_make_history(EditLine *editor, int size) {
    History *history_list = history_init();
    if (!history_list) return 0;
    HistEvent event;
    history(history_list, &event, H_SETSIZE, size);
    history(history_list, &event, H_SETUNIQUE, 1);
    el_set(editor, EL_HIST, history, history_list);
    return history_list;
}

static inline void hb_edit_remember(History *history_list, const char *text) {
    HistEvent event;
    history(history_list, &event, H_ENTER, text);
}

static inline EditLine *hb_edit_make(const char *program) { return el_init(program, stdin, stdout, stderr); }
