// SPDX-License-Identifier: Apache-2.0
// Trials in child processes: what they do wrong, a signal and a hang are told by the parent, which never opens a store.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "preload.h"

struct settings {
    const char *folder; // of its own, on a file system in memory for speed
    uint64_t seed;
    uint32_t size;      // how much to do: states, faults or files
    const char *only;   // a shape or kind, or NULL
    bool is_verbose;
};

// What parent and children share.
struct tally {
    _Atomic uint64_t done, skipped, problems, at;
    _Atomic uint64_t counts[32];
};

struct tally *shared_tally(void);
struct event_log *shared_log(uint64_t capacity);
void free_shared_log(struct event_log *log);

// Runs `body` in a child. Its exit status; minus the signal that ended it; -SIGALRM if it took longer than `seconds`
// since it last called `still_alive`.
int in_child(int (*body)(void *), void *context, unsigned seconds);
void still_alive(unsigned seconds);

// An empty folder `name` in the settings' folder; its path lives until the next call but three.
const char *fresh_folder(const struct settings *settings, const char *name);
void clean_folder(const char *path);
const char *path_in(const char *folder, const char *name);

int test_crashes(const struct settings *settings);
int test_faults(const struct settings *settings);
int test_damage(const struct settings *settings);
int test_calls(const struct settings *settings);
