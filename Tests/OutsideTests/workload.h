// SPDX-License-Identifier: Apache-2.0
// Random lives of a store through hornbeam.h, beside a model of its content. A state of the store is identified by
// its digest: a sum over all entries, which each change updates and a scan can compute.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "hornbeam.h"

// The marks in the log of a recorded life, besides the calls on files (see `outside_mark`).
enum mark {
    MARK_OPENED = 1,  // hb_open returned: the store is there, durably; it holds commit `first`
    MARK_COMMITTING,  // `first`: the commit's number, `second`: the digest if it succeeds, `third`: its durability
    MARK_COMMITTED,   // `first`: it and all before it are acknowledged, `second`: their durability
    MARK_FAILED,      // `first`: its digest is not to be seen, unless `second` (the outcome is unknown)
    MARK_DURABLE,     // `first`: all commits up to this one are durable (a checkpoint)
    MARK_COPYING,     // a backup begins; it has commit `first` or a later one
    MARK_COPIED,      // a backup is there, durably
};

enum { TREES = 4, KEYS = 240 };

struct model {
    uint64_t digest;
    bool exists[TREES];
    uint32_t version[TREES][KEYS]; // 0: there is no such entry
    uint64_t entry_digest[TREES][KEYS];
};

// A kind of life.
struct shape {
    const char *name;
    uint32_t transactions;
    uint32_t changes;       // at most, in a transaction
    uint32_t largest;       // bytes of a value, at most, in one of ten entries
    uint32_t aborts;        // of 100 transactions
    uint32_t checkpoints, backups, compactions, reopenings; // of 100 transactions, after them
    uint32_t lesser;        // of 100 transactions, with a durability less than full
    uint32_t wholesale;     // of 100 transactions, larger than the journal takes
    uint32_t threads;       // more than 1: they write at the same time
    bool is_left_open;      // ends without hb_close, as if the process were killed
};

extern const struct shape shapes[];
extern const unsigned shape_count;

enum { PAST = 64 };

struct life {
    const struct shape *shape;
    const char *path, *copy_path;
    uint64_t random;
    hb_store *store;
    struct model model;
    uint64_t commits;        // acknowledged; the number of the newest
    uint64_t in_process;     // the newest that must survive the process: those after it may go with a failed store
    struct model past[PAST]; // the newest states, by number
    bool fails_are_fine;     // a fault is armed: an error code is an answer
    bool never_fails;        // the fault must not show at all
    bool goes_on;            // after it the same handle must go on
    bool has_failed;         // a call has failed since the store was opened
    bool is_uncertain;       // a commit ended with HB_FAILED: the state after it is past[commits + 1]
    uint32_t problems;
};

// Runs lives. Returns the number of errors, each of which is printed to standard error.
uint32_t live(struct life *life);

// Opens the store and finds out in which of its possible states it is. Returns false if it doesn't open.
bool open_store(struct life *life);

// ---- Looking at a store

// Computes the digest of the store's content by forward scans and counts. Returns HB_OK, or the first error.
int digest_of(hb_store *store, uint64_t *digest);

// Returns whether single reads, ranges, ranks and backward scans agree with `model`; error codes are allowed if
// `may_fail`.
bool agrees(hb_store *store, const struct model *model, bool may_fail);

uint64_t mix(uint64_t value);
void say_problem(const char *format, ...) __attribute__((format(printf, 1, 2)));
