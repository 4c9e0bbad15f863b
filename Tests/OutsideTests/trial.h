// SPDX-License-Identifier: Apache-2.0
// Trials in child processes. The parent, which never opens a store, reports their errors, signals and hangs.
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

// The state shared by parent and children.
struct tally {
    _Atomic uint64_t done, skipped, problems, at;
    _Atomic uint64_t counts[32];
};

struct tally *shared_tally(void);
struct event_log *shared_log(uint64_t capacity);
void free_shared_log(struct event_log *log);

// Runs `body` in a child. Returns its exit status, or minus the signal that ended it, or -SIGALRM if it took longer
// than `seconds` since its last call of `still_alive`.
int in_child(int (*body)(void *), void *context, unsigned seconds);
void still_alive(unsigned seconds);

// Makes an empty folder `name` in the settings' folder. The returned path is valid for the next three calls.
const char *fresh_folder(const struct settings *settings, const char *name);
void clean_folder(const char *path);
const char *path_in(const char *folder, const char *name);

int test_crashes(const struct settings *settings);
int test_faults(const struct settings *settings);
int test_damage(const struct settings *settings);
int test_calls(const struct settings *settings);
