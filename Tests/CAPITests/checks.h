// SPDX-License-Identifier: Apache-2.0
// The shared parts of the C programs: checks that count failures and continue, and short functions for stores and
// transactions. Each program gets its folder on the command line.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hornbeam.h"

#define UNUSED __attribute__((unused))

static _Atomic int failed_checks;
static const char *folder;

UNUSED static void fail(int line, const char *what) {
    failed_checks++;
    fprintf(stderr, "  line %d: %s (hb_error: %s)\n", line, what, hb_error());
}

#define CHECK(condition) ((condition) ? (void)0 : fail(__LINE__, #condition))
#define RESULT(call, expected)                                                              \
    do {                                                                                    \
        int result_ = (call);                                                               \
        if (result_ != (expected)) {                                                        \
            char text_[400];                                                                \
            snprintf(text_, sizeof text_, "%s is %d, not %s", #call, result_, #expected);   \
            fail(__LINE__, text_);                                                          \
        }                                                                                   \
    } while (0)
#define OK(call) RESULT(call, HB_OK)

UNUSED static hb_slice S(const char *text) { return (hb_slice){text, strlen(text)}; }
UNUSED static const hb_slice OPEN = {NULL, 0};

UNUSED static bool equal(hb_slice slice, const char *text) {
    return slice.data != NULL && slice.size == strlen(text) && memcmp(slice.data, text, slice.size) == 0;
}

UNUSED static const char *path_of(const char *name) {
    static _Thread_local char paths[4][512];
    static _Thread_local int turn;
    char *path = paths[turn++ & 3];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

UNUSED static hb_store *memory_store(void) {
    hb_options options = {.struct_size = sizeof options, .in_memory = 1};
    hb_store *store = NULL;
    OK(hb_open(NULL, &options, &store));
    return store;
}

UNUSED static hb_store *file_store(const char *name) {
    hb_store *store = NULL;
    OK(hb_open(path_of(name), NULL, &store));
    return store;
}

UNUSED static hb_txn *begin(hb_store *store, uint32_t mode) {
    hb_txn *txn = NULL;
    OK(hb_begin(store, mode, &txn));
    return txn;
}

UNUSED static hb_tree tree_of(hb_txn *txn, const char *name) {
    hb_tree tree = 0;
    OK(hb_tree_open(txn, name, HB_TREE_CREATE, &tree));
    return tree;
}

UNUSED static bool has(hb_txn *txn, hb_tree tree, const char *key, const char *value) {
    hb_slice found;
    int result = hb_get(txn, tree, S(key), &found);
    return value == NULL ? result == HB_NOT_FOUND && found.data == NULL : result == HB_OK && equal(found, value);
}

UNUSED static bool at(hb_cursor *cursor, const char *key) {
    hb_slice found, value;
    int result = hb_cursor_entry(cursor, &found, &value);
    return key == NULL ? result == HB_NOT_FOUND && found.data == NULL && value.data == NULL
                       : result == HB_OK && equal(found, key);
}

UNUSED static uint64_t count_of(hb_txn *txn, hb_tree tree) {
    uint64_t count = 0;
    OK(hb_count(txn, tree, OPEN, OPEN, &count));
    return count;
}

// Commits a tree "t" with the single letters of `keys`, each with itself as value.
UNUSED static hb_tree letters(hb_store *store, const char *keys) {
    hb_txn *txn = begin(store, HB_WRITE);
    hb_tree tree = tree_of(txn, "t");
    for (; *keys; keys++) OK(hb_put(txn, tree, (hb_slice){keys, 1}, (hb_slice){keys, 1}));
    OK(hb_commit(txn));
    return tree;
}

// ---- All tests of a program

struct test {
    const char *name;
    void (*run)(void);
};
#define TEST(name) {#name, name}

// Runs all tests, or the one called `only`. Returns the result of `main`.
UNUSED static int run_tests(const struct test *tests, size_t count, const char *only) {
    int passed = 0, failed = 0;
    for (size_t i = 0; i < count; i++) {
        if (only && strcmp(only, tests[i].name) != 0) continue;
        int before = failed_checks;
        tests[i].run();
        if (failed_checks == before) {
            passed++;
        } else {
            failed++;
            fprintf(stderr, "FAILED: %s\n", tests[i].name);
        }
    }
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
