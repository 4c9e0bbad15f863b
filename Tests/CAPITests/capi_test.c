// SPDX-License-Identifier: Apache-2.0
// The C interface as C programs use it: every function of hornbeam.h, its results, the rules of misuse, threads,
// other processes and a crash. Runs in a folder given on the command line. HORNBEAM_SEED=n seeds the random test;
// HORNBEAM_SEED=random draws a new seed.
// Prints a line for each test that fails, then "N passed, M failed". The exit status is 0 if none failed.

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "checks.h"

// Runs this program as a child with the given arguments. Returns its exit status, or minus the signal that ended it.
static int child(const char *what, const char *path) {
    pid_t pid = fork();
    if (pid == 0) {
        execl("/proc/self/exe", "capi_test", folder, what, path, (char *)NULL);
        _exit(99);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

// ---- Opening

static void version_and_first_error(void) {
    CHECK(strcmp(hb_version(), HB_VERSION) == 0);
    CHECK(hb_error() != NULL && hb_error()[0] == 0);
    hb_store *store;
    RESULT(hb_open(NULL, NULL, &store), HB_INVALID);
    CHECK(strlen(hb_error()) > 10);
}

static void options_are_checked(void) {
    hb_store *store = (hb_store *)&store;
    hb_options bad[] = {
        {.struct_size = sizeof(hb_options), .in_memory = 1, .durability = 3},
        {.struct_size = sizeof(hb_options), .in_memory = 1, .page_size = 5000},
        {.struct_size = sizeof(hb_options), .in_memory = 1, .page_size = 2048},
        {.struct_size = sizeof(hb_options), .in_memory = 1, .page_size = 1u << 17},
        {.struct_size = sizeof(hb_options), .in_memory = 1, .read_only = 1},
        {.struct_size = 3, .in_memory = 1},
        {.struct_size = SIZE_MAX, .in_memory = 1},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        RESULT(hb_open(NULL, &bad[i], &store), HB_INVALID);
        CHECK(store == NULL);
    }
    RESULT(hb_open(path_of("x"), NULL, NULL), HB_INVALID);
    RESULT(hb_open("", NULL, &store), HB_INVALID);
    RESULT(hb_open("\xff\xfe", NULL, &store), HB_INVALID);
}

static void every_page_size_works(void) {
    for (uint32_t size = 4096; size <= 65536; size *= 2) {
        hb_options options = {.struct_size = sizeof options, .in_memory = 1, .page_size = size};
        hb_store *store;
        OK(hb_open(NULL, &options, &store));
        letters(store, "abc");
        OK(hb_check(store, NULL, NULL));
        OK(hb_close(store));
    }
}

static void options_of_other_sizes(void) {
    struct {
        hb_options known;
        uint64_t unknown[2];
    } newer = {.known = {.struct_size = sizeof newer, .in_memory = 1}};
    hb_store *store;
    OK(hb_open(NULL, &newer.known, &store));
    OK(hb_close(store));
    newer.unknown[1] = 1;
    RESULT(hb_open(NULL, &newer.known, &store), HB_UNSUPPORTED);

    // An older caller: memory after its struct is not read.
    hb_options older = {.struct_size = offsetof(hb_options, lock_wait_ms), .in_memory = 1, .lock_wait_ms = 600000};
    OK(hb_open(NULL, &older, &store));
    OK(hb_close(store));
    older.struct_size = offsetof(hb_options, page_size);
    older.page_size = 77;
    OK(hb_open(path_of("older.hornbeam"), &older, &store));
    OK(hb_close(store));

    hb_options unset = {.in_memory = 1};
    OK(hb_open(NULL, &unset, &store));
    OK(hb_close(store));
}

static void what_is_no_store(void) {
    hb_store *store;
    RESULT(hb_open(folder, NULL, &store), HB_INVALID);
    CHECK(store == NULL);
    FILE *text = fopen(path_of("text.txt"), "w");
    for (int i = 0; i < 2000; i++) fputs("This is not a store.\n", text);
    fclose(text);
    RESULT(hb_open(path_of("text.txt"), NULL, &store), HB_INVALID);
    CHECK(strstr(hb_error(), "text.txt") != NULL);
    hb_options options = {.struct_size = sizeof options, .read_only = 1};
    RESULT(hb_open(path_of("missing.hornbeam"), &options, &store), HB_IO);
    CHECK(access(path_of("missing.hornbeam"), F_OK) != 0);
    RESULT(hb_open(path_of("no/such/folder"), NULL, &store), HB_IO);
}

static void one_opener_at_a_time(void) {
    hb_store *store = file_store("busy.hornbeam"), *second;
    RESULT(hb_open(path_of("busy.hornbeam"), NULL, &second), HB_BUSY);
    CHECK(second == NULL);
    CHECK(child("open", path_of("busy.hornbeam")) == HB_BUSY);
    OK(hb_close(store));
    CHECK(child("open", path_of("busy.hornbeam")) == HB_OK);
}

static void a_read_only_store(void) {
    hb_store *store = file_store("readonly.hornbeam");
    letters(store, "abc");
    OK(hb_close(store));
    hb_options options = {.struct_size = sizeof options, .read_only = 1};
    OK(hb_open(path_of("readonly.hornbeam"), &options, &store));
    hb_txn *txn = (hb_txn *)&txn;
    RESULT(hb_begin(store, HB_WRITE, &txn), HB_READ_ONLY);
    CHECK(txn == NULL);
    RESULT(hb_begin(store, HB_WRITE | HB_NOWAIT, &txn), HB_READ_ONLY);
    txn = begin(store, HB_READ);
    hb_tree tree;
    OK(hb_tree_open(txn, "t", 0, &tree));
    CHECK(has(txn, tree, "b", "b"));
    OK(hb_commit(txn));
    OK(hb_close(store));
}

// ---- Entries

static void put_get_delete(void) {
    hb_store *store = memory_store();
    hb_txn *txn = begin(store, HB_WRITE);
    hb_tree tree = tree_of(txn, "words");
    CHECK(tree != 0);
    CHECK(has(txn, tree, "a", NULL));
    OK(hb_put(txn, tree, S("a"), S("1")));
    OK(hb_put(txn, tree, S("a"), S("2")));
    CHECK(has(txn, tree, "a", "2"));
    OK(hb_put(txn, tree, (hb_slice){"x\0y", 3}, (hb_slice){"\0", 1}));
    hb_slice value;
    OK(hb_get(txn, tree, (hb_slice){"x\0y", 3}, &value));
    CHECK(value.size == 1 && *(const char *)value.data == 0);
    RESULT(hb_get(txn, tree, S("x"), &value), HB_NOT_FOUND);
    OK(hb_delete(txn, tree, S("a")));
    RESULT(hb_delete(txn, tree, S("a")), HB_NOT_FOUND);
    CHECK(has(txn, tree, "a", NULL));
    CHECK(count_of(txn, tree) == 1);
    OK(hb_commit(txn));
    OK(hb_close(store));
}

static void empty_keys_and_values(void) {
    hb_store *store = memory_store();
    hb_txn *txn = begin(store, HB_WRITE);
    hb_tree tree = tree_of(txn, "t");
    hb_slice value, empty = {"", 0}, wrong = {NULL, 3}, negative = {"x", SIZE_MAX};
    OK(hb_put(txn, tree, S("k"), OPEN));
    OK(hb_get(txn, tree, S("k"), &value));
    CHECK(value.data != NULL && value.size == 0);
    OK(hb_put(txn, tree, S("l"), empty));

    hb_slice bad[] = {OPEN, empty, wrong, negative};
    hb_cursor *cursor;
    OK(hb_cursor_open(txn, tree, &cursor));
    for (int i = 0; i < 4; i++) {
        RESULT(hb_get(txn, tree, bad[i], &value), HB_INVALID);
        RESULT(hb_get_many(txn, tree, &bad[i], &value, 1), HB_INVALID);
        RESULT(hb_put(txn, tree, bad[i], S("v")), HB_INVALID);
        RESULT(hb_append(txn, tree, bad[i], S("v")), HB_INVALID);
        RESULT(hb_delete(txn, tree, bad[i]), HB_INVALID);
        RESULT(hb_cursor_seek(cursor, bad[i]), HB_INVALID);
        RESULT(hb_cursor_seek_last(cursor, bad[i]), HB_INVALID);
    }
    uint64_t count = 7;
    for (int i = 2; i < 4; i++) {
        RESULT(hb_put(txn, tree, S("k"), bad[i]), HB_INVALID);
        RESULT(hb_count(txn, tree, bad[i], OPEN, &count), HB_INVALID);
        RESULT(hb_delete_range(txn, tree, OPEN, bad[i], &count), HB_INVALID);
    }
    // Refused calls leave the transaction usable.
    OK(hb_commit(txn));
    txn = begin(store, HB_READ);
    CHECK(count_of(txn, tree) == 2);
    hb_abort(txn);
    hb_cursor_close(cursor);
    OK(hb_close(store));
}

static void limits(void) {
    hb_store *store = memory_store();
    hb_txn *txn = begin(store, HB_WRITE);
    hb_tree tree = tree_of(txn, "t");
    size_t size = 1 << 20;
    char *big = malloc(size);
    memset(big, 'b', size);
    RESULT(hb_put(txn, tree, (hb_slice){big, 65536}, S("v")), HB_TOO_LARGE);
    OK(hb_put(txn, tree, (hb_slice){big, 1024}, (hb_slice){big, size}));
    hb_slice value;
    OK(hb_get(txn, tree, (hb_slice){big, 1024}, &value));
    CHECK(value.size == size && memcmp(value.data, big, size) == 0);
    // A slice was returned, so arguments are copied now; one beyond all limits must be refused nevertheless.
    RESULT(hb_put(txn, tree, S("k"), (hb_slice){big, SIZE_MAX / 2}), HB_TOO_LARGE);
    RESULT(hb_put(txn, tree, (hb_slice){big, SIZE_MAX / 2}, S("v")), HB_TOO_LARGE);
    big[size - 1] = 0;
    hb_tree named;
    RESULT(hb_tree_open(txn, big, HB_TREE_CREATE, &named), HB_TOO_LARGE);
    OK(hb_commit(txn));
    OK(hb_check(store, NULL, NULL));
    OK(hb_close(store));
    free(big);
}

static void many_at_once(void) {
    hb_store *store = memory_store();
    hb_tree tree = letters(store, "aceg");
    hb_txn *txn = begin(store, HB_WRITE);
    OK(hb_put(txn, tree, S("i"), OPEN));
    hb_slice keys[] = {S("g"), S("b"), S("i"), S("a"), S("a")}, values[5];
    OK(hb_get_many(txn, tree, keys, values, 5));
    CHECK(equal(values[0], "g") && values[1].data == NULL && values[1].size == 0);
    CHECK(values[2].data != NULL && values[2].size == 0);
    CHECK(equal(values[3], "a") && equal(values[4], "a"));
    OK(hb_get_many(txn, tree, NULL, NULL, 0));
    keys[4] = OPEN;
    RESULT(hb_get_many(txn, tree, keys, values, 5), HB_INVALID);
    CHECK(values[0].data == NULL);
    RESULT(hb_get_many(txn, tree, NULL, values, 1), HB_INVALID);
    RESULT(hb_get_many(txn, tree, keys, NULL, 1), HB_INVALID);
    RESULT(hb_get_many(txn, tree, keys, values, SIZE_MAX), HB_INVALID);
    hb_abort(txn);
    OK(hb_close(store));
}

static void appending(void) {
    hb_store *store = memory_store();
    hb_txn *txn = begin(store, HB_WRITE);
    hb_tree tree = tree_of(txn, "t");
    char key[16];
    for (int i = 0; i < 20000; i++) {
        snprintf(key, sizeof key, "%08d", i);
        OK(hb_append(txn, tree, S(key), S(key)));
    }
    RESULT(hb_append(txn, tree, S("00000005"), S("v")), HB_INVALID);
    RESULT(hb_append(txn, tree, S("00019999"), S("v")), HB_INVALID);
    OK(hb_append(txn, tree, S("1"), S("v")));
    CHECK(count_of(txn, tree) == 20001);
    CHECK(has(txn, tree, "00000005", "00000005") && has(txn, tree, "00019999", "00019999"));
    OK(hb_commit(txn));
    OK(hb_check(store, NULL, NULL));
    OK(hb_close(store));
}

static void ranges(void) {
    hb_store *store = memory_store();
    hb_tree tree = letters(store, "abcdefgh");
    hb_txn *txn = begin(store, HB_WRITE);
    uint64_t count;
    OK(hb_count(txn, tree, S("b"), S("e"), &count));
    CHECK(count == 3);
    OK(hb_count(txn, tree, OPEN, S("c"), &count));
    CHECK(count == 2);
    OK(hb_count(txn, tree, S("aa"), OPEN, &count));
    CHECK(count == 7);
    OK(hb_count(txn, tree, S("e"), S("b"), &count));
    CHECK(count == 0);
    OK(hb_delete_range(txn, tree, S("b"), S("d"), &count));
    CHECK(count == 2);
    OK(hb_delete_range(txn, tree, S("b"), S("d"), &count));
    CHECK(count == 0);
    OK(hb_delete_range(txn, tree, S("h"), S("a"), NULL));
    CHECK(count_of(txn, tree) == 6 && has(txn, tree, "b", NULL) && has(txn, tree, "d", "d"));
    OK(hb_delete_range(txn, tree, S("g"), OPEN, NULL));
    OK(hb_delete_range(txn, tree, OPEN, S("b"), NULL));
    CHECK(count_of(txn, tree) == 3);
    OK(hb_delete_range(txn, tree, OPEN, OPEN, &count));
    CHECK(count == 3 && count_of(txn, tree) == 0);
    OK(hb_commit(txn));
    OK(hb_close(store));
}

// ---- Cursors

static void cursors_move_both_ways(void) {
    hb_store *store = memory_store();
    hb_tree tree = letters(store, "bdfh");
    hb_txn *txn = begin(store, HB_READ);
    hb_cursor *c;
    OK(hb_cursor_open(txn, tree, &c));
    CHECK(at(c, NULL));
    OK(hb_cursor_next(c));
    CHECK(at(c, "b"));
    RESULT(hb_cursor_prev(c), HB_NOT_FOUND);
    CHECK(at(c, NULL));
    RESULT(hb_cursor_prev(c), HB_NOT_FOUND);
    OK(hb_cursor_next(c));
    CHECK(at(c, "b"));
    OK(hb_cursor_last(c));
    CHECK(at(c, "h"));
    RESULT(hb_cursor_next(c), HB_NOT_FOUND);
    RESULT(hb_cursor_next(c), HB_NOT_FOUND);
    OK(hb_cursor_prev(c));
    CHECK(at(c, "h"));
    OK(hb_cursor_first(c));
    CHECK(at(c, "b"));
    OK(hb_cursor_seek(c, S("d")));
    CHECK(at(c, "d"));
    OK(hb_cursor_seek(c, S("e")));
    CHECK(at(c, "f"));
    RESULT(hb_cursor_seek(c, S("i")), HB_NOT_FOUND);
    OK(hb_cursor_prev(c));
    CHECK(at(c, "h"));
    OK(hb_cursor_seek_last(c, S("d")));
    CHECK(at(c, "d"));
    OK(hb_cursor_seek_last(c, S("e")));
    CHECK(at(c, "d"));
    OK(hb_cursor_seek_last(c, S("z")));
    CHECK(at(c, "h"));
    RESULT(hb_cursor_seek_last(c, S("a")), HB_NOT_FOUND);
    OK(hb_cursor_next(c));
    CHECK(at(c, "b"));
    OK(hb_cursor_at(c, 2));
    CHECK(at(c, "f"));
    RESULT(hb_cursor_at(c, 4), HB_NOT_FOUND);
    RESULT(hb_cursor_at(c, UINT64_MAX), HB_NOT_FOUND);
    OK(hb_cursor_at(c, 0));
    CHECK(at(c, "b"));
    hb_slice key;
    OK(hb_cursor_entry(c, &key, NULL));
    CHECK(key.size == 1 && !memcmp(key.data, "b", 1));
    hb_slice whole;
    OK(hb_cursor_entry(c, NULL, &key));
    OK(hb_get(txn, tree, S("b"), &whole));
    CHECK(key.size == whole.size && !memcmp(key.data, whole.data, whole.size));
    OK(hb_cursor_entry(c, NULL, NULL));
    OK(hb_get(txn, tree, S("b"), NULL));
    RESULT(hb_get(txn, tree, S("c"), NULL), HB_NOT_FOUND);
    hb_slice keys[8], values[8];
    size_t count = 99;
    OK(hb_cursor_first(c));
    OK(hb_cursor_read(c, keys, values, 3, &count));
    CHECK(count == 3 && keys[0].size == 1 && !memcmp(keys[2].data, "f", 1));
    CHECK(at(c, "f"));
    OK(hb_cursor_read(c, keys, values, 8, &count));
    CHECK(count == 2 && !memcmp(keys[1].data, "h", 1));
    RESULT(hb_cursor_next(c), HB_NOT_FOUND);
    RESULT(hb_cursor_read(c, keys, values, 8, &count), HB_NOT_FOUND);
    CHECK(count == 0);
    OK(hb_cursor_last(c));
    OK(hb_cursor_read_back(c, keys, values, 8, &count));
    CHECK(count == 4 && !memcmp(keys[0].data, "h", 1) && !memcmp(keys[3].data, "b", 1));
    RESULT(hb_cursor_read(c, keys, values, 0, &count), HB_INVALID);
    RESULT(hb_cursor_read(c, keys, values, SIZE_MAX, &count), HB_INVALID);
    hb_slice alone[8];
    OK(hb_cursor_first(c));
    OK(hb_cursor_read(c, keys, values, 8, &count));
    CHECK(count == 4);
    OK(hb_cursor_first(c));
    OK(hb_cursor_read(c, NULL, alone, 8, &count));
    CHECK(count == 4 && alone[3].size == 1 && !memcmp(alone[3].data, values[3].data, 1));
    OK(hb_cursor_last(c));
    OK(hb_cursor_read_back(c, alone, NULL, 8, &count));
    CHECK(count == 4 && !memcmp(alone[0].data, "h", 1));
    OK(hb_cursor_first(c));
    OK(hb_cursor_read(c, NULL, NULL, 8, &count));
    CHECK(count == 4 && at(c, "h"));
    RESULT(hb_cursor_read(c, keys, values, 8, NULL), HB_INVALID);
    RESULT(hb_cursor_read(NULL, keys, values, 8, &count), HB_INVALID);
    hb_cursor_close(c);
    RESULT(hb_cursor_next(c), HB_INVALID);
    RESULT(hb_cursor_read(c, keys, values, 8, &count), HB_INVALID);
    hb_abort(txn);
    OK(hb_close(store));
}

static void a_cursor_of_an_empty_tree(void) {
    hb_store *store = memory_store();
    hb_tree tree = letters(store, "");
    hb_txn *txn = begin(store, HB_READ);
    hb_cursor *c;
    OK(hb_cursor_open(txn, tree, &c));
    RESULT(hb_cursor_first(c), HB_NOT_FOUND);
    RESULT(hb_cursor_last(c), HB_NOT_FOUND);
    RESULT(hb_cursor_next(c), HB_NOT_FOUND);
    RESULT(hb_cursor_prev(c), HB_NOT_FOUND);
    RESULT(hb_cursor_at(c, 0), HB_NOT_FOUND);
    RESULT(hb_cursor_seek(c, S("a")), HB_NOT_FOUND);
    hb_abort(txn);
    hb_cursor_close(c);
    OK(hb_close(store));
}

static void cursors_keep_their_place_while_writing(void) {
    hb_store *store = memory_store();
    hb_tree tree = letters(store, "bdfh");
    hb_txn *txn = begin(store, HB_WRITE);
    hb_cursor *c, *other;
    OK(hb_cursor_open(txn, tree, &c));
    OK(hb_cursor_open(txn, tree, &other));
    OK(hb_cursor_seek(c, S("d")));
    OK(hb_cursor_seek(other, S("f")));
    OK(hb_put(txn, tree, S("e"), S("e")));
    OK(hb_cursor_next(c));
    CHECK(at(c, "e"));
    OK(hb_delete(txn, tree, S("e")));
    OK(hb_delete(txn, tree, S("d")));
    OK(hb_cursor_prev(c));
    CHECK(at(c, "b"));
    OK(hb_cursor_next(c));
    CHECK(at(c, "f"));
    OK(hb_cursor_prev(other));
    CHECK(at(other, "b"));
    hb_cursor_close(other);
    // Deleting the cursor's entry again and again empties the tree.
    for (int result = hb_cursor_first(c); result == HB_OK; result = hb_cursor_next(c)) {
        hb_slice key, value;
        OK(hb_cursor_entry(c, &key, &value));
        OK(hb_delete(txn, tree, key));
    }
    CHECK(count_of(txn, tree) == 0);
    OK(hb_commit(txn));
    RESULT(hb_cursor_next(c), HB_INVALID);
    hb_cursor_close(c);
    OK(hb_close(store));
}

static void slices_may_come_straight_back(void) {
    hb_store *store = memory_store();
    hb_txn *txn = begin(store, HB_WRITE);
    hb_tree tree = tree_of(txn, "t");
    char key[40], text[40];
    for (int i = 0; i < 2000; i++) {
        snprintf(key, sizeof key, "a shared prefix %06d", i);
        snprintf(text, sizeof text, "the value of %06d", i);
        OK(hb_put(txn, tree, S(key), S(text)));
    }
    hb_cursor *c;
    OK(hb_cursor_open(txn, tree, &c));
    for (int i = 0; i < 2000; i++) {
        hb_slice found, value;
        snprintf(key, sizeof key, "a shared prefix %06d", i);
        snprintf(text, sizeof text, "the value of %06d", i);
        OK(hb_get(txn, tree, S(key), &value));
        OK(hb_put(txn, tree, value, value));
        OK(hb_cursor_seek(c, S(key)));
        OK(hb_cursor_entry(c, &found, &value));
        OK(hb_cursor_seek(c, found));
        CHECK(at(c, key));
        OK(hb_cursor_entry(c, &found, &value));
        OK(hb_cursor_seek_last(c, (hb_slice){found.data, found.size}));
        CHECK(at(c, key));
        OK(hb_cursor_entry(c, &found, &value));
        OK(hb_delete(txn, tree, found));
        CHECK(has(txn, tree, text, text));
        CHECK(has(txn, tree, key, NULL));
    }
    CHECK(count_of(txn, tree) == 2000);
    OK(hb_commit(txn));
    OK(hb_check(store, NULL, NULL));
    OK(hb_close(store));
    hb_cursor_close(c);
}

// A delete that found nothing counted as a change: the memory of the value returned before was reused, and putting
// that value again stored other bytes.
static void slices_outlive_what_changes_nothing(void) {
    hb_store *store = memory_store();
    hb_txn *txn = begin(store, HB_WRITE);
    hb_tree tree;
    OK(hb_tree_open(txn, "t", HB_TREE_CREATE | HB_TREE_LZ4, &tree));
    char key[40], text[40];
    for (int i = 0; i < 50; i++) {
        snprintf(key, sizeof key, "key %03d", i);
        snprintf(text, sizeof text, "the value of %03d", i);
        OK(hb_put(txn, tree, S(key), S(text)));
    }
    OK(hb_commit(txn));
    txn = begin(store, HB_WRITE);
    OK(hb_tree_open(txn, "t", 0, &tree));
    for (int round = 0; round < 3; round++) {
        hb_slice value, other;
        uint64_t deleted;
        OK(hb_get(txn, tree, S("key 007"), &value));
        if (round == 0) RESULT(hb_delete(txn, tree, S("no such key")), HB_NOT_FOUND);
        if (round == 1) RESULT(hb_append(txn, tree, S("a key too low"), S("")), HB_INVALID);
        if (round == 2) OK(hb_delete_range(txn, tree, S("x"), S("y"), &deleted));
        OK(hb_get(txn, tree, S("key 009"), &other));
        OK(hb_put(txn, tree, S("copy"), value));
        CHECK(has(txn, tree, "copy", "the value of 007"));
        // They stay until something is changed.
        OK(hb_delete(txn, tree, S("copy")));
    }
    hb_abort(txn);
    OK(hb_close(store));
}

// ---- Trees

static void note_name(void *context, const char *name) {
    strcat(context, name);
    strcat(context, ",");
}

static void trees_have_names(void) {
    hb_store *store = memory_store();
    hb_txn *txn = begin(store, HB_WRITE);
    hb_tree a, b, again;
    RESULT(hb_tree_open(txn, "b", 0, &b), HB_NOT_FOUND);
    CHECK(b == 0);
    b = tree_of(txn, "b");
    a = tree_of(txn, "a");
    CHECK(a != b);
    OK(hb_tree_open(txn, "a", 0, &again));
    CHECK(again == a);
    OK(hb_tree_open(txn, "a", HB_TREE_CREATE, &again));
    CHECK(again == a);
    OK(hb_put(txn, a, S("k"), S("of a")));
    OK(hb_put(txn, b, S("k"), S("of b")));
    CHECK(has(txn, a, "k", "of a"));
    char names[100] = "";
    OK(hb_tree_list(txn, note_name, names));
    CHECK(strcmp(names, "a,b,") == 0);
    RESULT(hb_tree_list(txn, NULL, NULL), HB_INVALID);
    RESULT(hb_tree_open(txn, NULL, 0, &again), HB_INVALID);
    RESULT(hb_tree_open(txn, "", HB_TREE_CREATE, &again), HB_INVALID);
    RESULT(hb_tree_open(txn, "\xc3\x28", HB_TREE_CREATE, &again), HB_INVALID);
    RESULT(hb_tree_open(txn, "a", 8, &again), HB_INVALID);
    RESULT(hb_tree_open(txn, "a", 0, NULL), HB_INVALID);
    RESULT(hb_tree_open(txn, "small", HB_TREE_CREATE | HB_TREE_LZ4, &again), HB_OK);
    OK(hb_commit(txn));

    txn = begin(store, HB_READ);
    OK(hb_tree_open(txn, "b", HB_TREE_CREATE, &again));
    CHECK(again == b && has(txn, b, "k", "of b"));
    RESULT(hb_tree_open(txn, "c", HB_TREE_CREATE, &again), HB_READ_ONLY);
    RESULT(hb_tree_drop(txn, "b"), HB_READ_ONLY);
    hb_abort(txn);
    OK(hb_close(store));
}

static void dropping_a_tree(void) {
    hb_store *store = memory_store();
    hb_tree tree = letters(store, "abc");
    hb_txn *reader = begin(store, HB_READ), *txn = begin(store, HB_WRITE);
    hb_slice value;
    hb_cursor *c;
    OK(hb_cursor_open(txn, tree, &c));
    OK(hb_cursor_first(c));
    OK(hb_tree_drop(txn, "t"));
    RESULT(hb_tree_drop(txn, "t"), HB_NOT_FOUND);
    RESULT(hb_tree_drop(txn, NULL), HB_INVALID);
    RESULT(hb_get(txn, tree, S("a"), &value), HB_INVALID);
    RESULT(hb_put(txn, tree, S("a"), S("a")), HB_INVALID);
    hb_slice key;
    CHECK(hb_cursor_entry(c, &key, &value) != HB_OK || key.size <= 1);
    CHECK(hb_cursor_next(c) != HB_OK && hb_cursor_seek(c, S("b")) != HB_OK);
    hb_tree second = tree_of(txn, "t");
    CHECK(second != tree && count_of(txn, second) == 0);
    OK(hb_commit(txn));
    CHECK(has(reader, tree, "b", "b"));
    hb_abort(reader);
    txn = begin(store, HB_READ);
    RESULT(hb_get(txn, tree, S("a"), &value), HB_INVALID);
    hb_cursor *none = (hb_cursor *)&c;
    RESULT(hb_cursor_open(txn, tree, &none), HB_INVALID);
    CHECK(none == NULL);
    hb_abort(txn);
    hb_cursor_close(c);
    OK(hb_close(store));
}

static void trees_of_others_are_told(void) {
    hb_store *one = memory_store(), *two = memory_store();
    hb_tree tree_one = letters(one, "a"), tree_two = letters(two, "b");
    hb_txn *txn = begin(two, HB_WRITE);
    hb_slice value;
    uint64_t count;
    hb_cursor *c;
    CHECK(tree_one != tree_two);
    RESULT(hb_get(txn, tree_one, S("a"), &value), HB_INVALID);
    RESULT(hb_put(txn, tree_one, S("a"), S("a")), HB_INVALID);
    RESULT(hb_count(txn, tree_one, OPEN, OPEN, &count), HB_INVALID);
    RESULT(hb_cursor_open(txn, tree_one, &c), HB_INVALID);
    RESULT(hb_get(txn, 0, S("a"), &value), HB_INVALID);
    RESULT(hb_get(txn, UINT32_MAX, S("a"), &value), HB_INVALID);
    hb_abort(txn);
    OK(hb_close(one));
    OK(hb_close(two));
}

static void aborted_creations_are_told(void) {
    hb_store *store = memory_store();
    letters(store, "a");
    hb_tree gone[3], kept;
    hb_slice value;
    for (int round = 0; round < 3; round++) {
        hb_txn *txn = begin(store, HB_WRITE);
        gone[round] = tree_of(txn, "gone");
        OK(hb_put(txn, gone[round], S("k"), S("v")));
        hb_abort(txn);
    }
    hb_txn *txn = begin(store, HB_WRITE);
    kept = tree_of(txn, "kept");
    OK(hb_put(txn, kept, S("k"), S("v")));
    for (int round = 0; round < 3; round++) {
        CHECK(gone[round] != kept);
        RESULT(hb_get(txn, gone[round], S("k"), &value), HB_INVALID);
    }
    OK(hb_commit(txn));
    txn = begin(store, HB_READ);
    for (int round = 0; round < 3; round++) RESULT(hb_get(txn, gone[round], S("k"), &value), HB_INVALID);
    CHECK(has(txn, kept, "k", "v"));
    char names[100] = "";
    OK(hb_tree_list(txn, note_name, names));
    CHECK(strcmp(names, "kept,t,") == 0);
    hb_abort(txn);
    OK(hb_check(store, NULL, NULL));
    OK(hb_close(store));
}

// ---- Transactions

static void snapshots_stay_frozen(void) {
    hb_store *store = memory_store();
    hb_tree tree = letters(store, "a");
    hb_txn *before = begin(store, HB_READ), *writer = begin(store, HB_WRITE);
    hb_slice held;
    OK(hb_get(before, tree, S("a"), &held));
    OK(hb_put(writer, tree, S("a"), S("changed")));
    OK(hb_put(writer, tree, S("b"), S("new")));
    hb_txn *during = begin(store, HB_READ);
    CHECK(has(during, tree, "a", "a") && has(during, tree, "b", NULL));
    OK(hb_commit(writer));
    CHECK(has(during, tree, "a", "a") && has(before, tree, "b", NULL) && equal(held, "a"));
    hb_txn *after = begin(store, HB_READ);
    CHECK(has(after, tree, "a", "changed") && has(after, tree, "b", "new"));
    OK(hb_commit(before));
    hb_abort(during);
    hb_abort(after);
    OK(hb_close(store));
}

static void aborting_leaves_nothing(void) {
    hb_store *store = memory_store();
    hb_tree tree = letters(store, "abc");
    hb_txn *txn = begin(store, HB_WRITE);
    OK(hb_put(txn, tree, S("d"), S("d")));
    OK(hb_delete(txn, tree, S("a")));
    OK(hb_tree_drop(txn, "t"));
    tree_of(txn, "u");
    hb_abort(txn);
    txn = begin(store, HB_READ);
    CHECK(count_of(txn, tree) == 3 && has(txn, tree, "a", "a") && has(txn, tree, "d", NULL));
    hb_tree u;
    RESULT(hb_tree_open(txn, "u", 0, &u), HB_NOT_FOUND);
    CHECK(strstr(hb_error(), "u") != NULL);
    hb_abort(txn);
    OK(hb_close(store));
}

static void reads_do_not_write(void) {
    hb_store *store = memory_store();
    hb_tree tree = letters(store, "abc");
    hb_txn *txn = begin(store, HB_READ | HB_NOWAIT);
    RESULT(hb_put(txn, tree, S("d"), S("d")), HB_READ_ONLY);
    RESULT(hb_append(txn, tree, S("d"), S("d")), HB_READ_ONLY);
    RESULT(hb_delete(txn, tree, S("a")), HB_READ_ONLY);
    uint64_t count = 9;
    RESULT(hb_delete_range(txn, tree, OPEN, OPEN, &count), HB_READ_ONLY);
    CHECK(count == 0);
    RESULT(hb_durability(txn, HB_DURABLE_NONE), HB_READ_ONLY);
    CHECK(count_of(txn, tree) == 3);
    OK(hb_commit(txn));
    OK(hb_close(store));
}

static void one_writer_at_a_time(void) {
    hb_store *store = memory_store();
    hb_txn *first = begin(store, HB_WRITE), *second = (hb_txn *)&first;
    RESULT(hb_begin(store, HB_WRITE | HB_NOWAIT, &second), HB_BUSY);
    CHECK(second == NULL);
    RESULT(hb_checkpoint(store), HB_BUSY);
    RESULT(hb_check(store, NULL, NULL), HB_BUSY);
    OK(hb_commit(first));
    OK(hb_begin(store, HB_WRITE | HB_NOWAIT, &second));
    hb_abort(second);
    RESULT(hb_begin(store, 4, &second), HB_INVALID);
    RESULT(hb_begin(store, UINT32_MAX, &second), HB_INVALID);
    RESULT(hb_begin(store, HB_READ, NULL), HB_INVALID);
    OK(hb_checkpoint(store));
    OK(hb_close(store));
}

static void every_durability_commits(void) {
    hb_store *store = file_store("durable.hornbeam");
    hb_tree tree = letters(store, "");
    for (uint32_t durability = HB_DURABLE_FULL; durability <= HB_DURABLE_NONE; durability++) {
        hb_txn *txn = begin(store, HB_WRITE);
        OK(hb_durability(txn, durability));
        RESULT(hb_durability(txn, 3), HB_INVALID);
        OK(hb_put(txn, tree, (hb_slice){&durability, sizeof durability}, S("v")));
        OK(hb_commit(txn));
    }
    OK(hb_close(store));
    store = file_store("durable.hornbeam");
    hb_txn *txn = begin(store, HB_READ);
    OK(hb_tree_open(txn, "t", 0, &tree));
    CHECK(count_of(txn, tree) == 3);
    hb_abort(txn);
    OK(hb_close(store));
}

// ---- Misuse

static void wrong_handles_are_invalid(hb_store *store, hb_txn *txn, hb_cursor *cursor) {
    hb_txn *begun;
    hb_tree tree;
    hb_slice slice = S("x"), value;
    uint64_t count;
    hb_cursor *opened;
    RESULT(hb_begin(store, HB_READ, &begun), HB_INVALID);
    RESULT(hb_checkpoint(store), HB_INVALID);
    RESULT(hb_check(store, NULL, NULL), HB_INVALID);
    RESULT(hb_backup(store, path_of("never")), HB_INVALID);
    RESULT(hb_compact(store), HB_INVALID);
    RESULT(hb_close(store), HB_INVALID);
    RESULT(hb_durability(txn, HB_DURABLE_FULL), HB_INVALID);
    RESULT(hb_tree_open(txn, "t", 0, &tree), HB_INVALID);
    RESULT(hb_tree_drop(txn, "t"), HB_INVALID);
    RESULT(hb_tree_list(txn, note_name, NULL), HB_INVALID);
    RESULT(hb_get(txn, 1, slice, &value), HB_INVALID);
    RESULT(hb_get_many(txn, 1, &slice, &value, 1), HB_INVALID);
    RESULT(hb_put(txn, 1, slice, slice), HB_INVALID);
    RESULT(hb_append(txn, 1, slice, slice), HB_INVALID);
    RESULT(hb_delete(txn, 1, slice), HB_INVALID);
    RESULT(hb_delete_range(txn, 1, OPEN, OPEN, &count), HB_INVALID);
    RESULT(hb_count(txn, 1, OPEN, OPEN, &count), HB_INVALID);
    RESULT(hb_cursor_open(txn, 1, &opened), HB_INVALID);
    RESULT(hb_commit(txn), HB_INVALID);
    hb_abort(txn);
    RESULT(hb_cursor_seek(cursor, slice), HB_INVALID);
    RESULT(hb_cursor_seek_last(cursor, slice), HB_INVALID);
    RESULT(hb_cursor_first(cursor), HB_INVALID);
    RESULT(hb_cursor_last(cursor), HB_INVALID);
    RESULT(hb_cursor_next(cursor), HB_INVALID);
    RESULT(hb_cursor_prev(cursor), HB_INVALID);
    RESULT(hb_cursor_at(cursor, 0), HB_INVALID);
    RESULT(hb_cursor_entry(cursor, &slice, &value), HB_INVALID);
    hb_cursor_close(cursor);
}

static void misuse_is_told(void) {
    wrong_handles_are_invalid(NULL, NULL, NULL);
    char memory[64] = {0};
    for (uintptr_t bits = 1; bits != 0; bits <<= 1) {
        wrong_handles_are_invalid((hb_store *)bits, (hb_txn *)bits, (hb_cursor *)bits);
        wrong_handles_are_invalid((hb_store *)~bits, (hb_txn *)~bits, (hb_cursor *)~bits);
    }
    wrong_handles_are_invalid((hb_store *)memory, (hb_txn *)memory, (hb_cursor *)memory);

    hb_store *store = memory_store();
    hb_tree tree = letters(store, "abc");
    hb_txn *txn = begin(store, HB_READ);
    hb_cursor *cursor;
    OK(hb_cursor_open(txn, tree, &cursor));
    // Live handles, each passed in place of another kind.
    wrong_handles_are_invalid((hb_store *)txn, (hb_txn *)cursor, (hb_cursor *)store);
    wrong_handles_are_invalid((hb_store *)cursor, (hb_txn *)store, (hb_cursor *)txn);
    OK(hb_cursor_next(cursor));

    hb_slice value;
    uint64_t count;
    RESULT(hb_count(txn, tree, OPEN, OPEN, NULL), HB_INVALID);
    RESULT(hb_cursor_open(txn, tree, NULL), HB_INVALID);
    RESULT(hb_backup(store, NULL), HB_INVALID);
    OK(hb_get(txn, tree, S("a"), &value));
    OK(hb_count(txn, tree, OPEN, OPEN, &count));

    RESULT(hb_close(store), HB_BUSY);
    OK(hb_commit(txn));
    wrong_handles_are_invalid(NULL, txn, NULL);
    RESULT(hb_cursor_next(cursor), HB_INVALID);
    RESULT(hb_cursor_entry(cursor, &value, &value), HB_INVALID);
    OK(hb_close(store));
    hb_cursor_close(cursor);
    wrong_handles_are_invalid(store, txn, cursor);
}

static void an_old_handle_is_never_a_new_one(void) {
    hb_store *store = memory_store();
    hb_tree tree = letters(store, "abc");
    hb_txn *old = begin(store, HB_READ);
    hb_cursor *old_cursor;
    OK(hb_cursor_open(old, tree, &old_cursor));
    hb_cursor_close(old_cursor);
    hb_abort(old);
    for (int i = 0; i < 1000; i++) {
        hb_txn *txn = begin(store, HB_READ);
        hb_cursor *cursor;
        OK(hb_cursor_open(txn, tree, &cursor));
        CHECK(txn != old && cursor != old_cursor);
        hb_abort(old);
        hb_cursor_close(old_cursor);
        OK(hb_cursor_next(cursor));
        hb_abort(txn);
        hb_cursor_close(cursor);
    }
    OK(hb_close(store));
}

static void many_cursors_end_with_their_transaction(void) {
    hb_store *store = memory_store();
    hb_tree tree = letters(store, "abc");
    hb_txn *txn = begin(store, HB_READ);
    static hb_cursor *cursors[3000];
    for (int i = 0; i < 3000; i++) {
        OK(hb_cursor_open(txn, tree, &cursors[i]));
        OK(hb_cursor_at(cursors[i], (uint64_t)(i % 3)));
    }
    for (int i = 0; i < 3000; i += 2) hb_cursor_close(cursors[i]);
    for (int i = 1; i < 3000; i += 2) CHECK(at(cursors[i], (const char *[]){"a", "b", "c"}[i % 3]));
    hb_abort(txn);
    for (int i = 0; i < 3000; i++) RESULT(hb_cursor_first(cursors[i]), HB_INVALID);
    for (int i = 0; i < 3000; i++) hb_cursor_close(cursors[i]);
    OK(hb_close(store));
}

static void list_and_abort(void *context, const char *name) {
    (void)name;
    hb_abort(context);
}

static void a_callback_may_end_the_transaction(void) {
    hb_store *store = memory_store();
    letters(store, "a");
    hb_txn *txn = begin(store, HB_READ);
    OK(hb_tree_list(txn, list_and_abort, txn));
    RESULT(hb_commit(txn), HB_INVALID);
    OK(hb_close(store));
}

// ---- Files

static void what_was_committed_is_there_again(void) {
    hb_store *store = file_store("again.hornbeam");
    hb_tree tree = letters(store, "abc");
    hb_txn *txn = begin(store, HB_WRITE);
    OK(hb_put(txn, tree, S("a"), S("changed")));
    OK(hb_commit(txn));
    OK(hb_checkpoint(store));
    OK(hb_close(store));
    for (int round = 0; round < 2; round++) {
        store = file_store("again.hornbeam");
        txn = begin(store, HB_READ);
        OK(hb_tree_open(txn, "t", 0, &tree));
        CHECK(has(txn, tree, "a", "changed") && has(txn, tree, "c", "c") && count_of(txn, tree) == 3);
        hb_abort(txn);
        OK(hb_check(store, NULL, NULL));
        OK(hb_close(store));
    }
}

static void a_killed_process_loses_no_commit(void) {
    for (int round = 1; round <= 5; round++) {
        CHECK(child("commit and die", path_of("killed.hornbeam")) == -SIGKILL);
        hb_store *store = file_store("killed.hornbeam");
        hb_txn *txn = begin(store, HB_READ);
        hb_tree tree = 0, other;
        OK(hb_tree_open(txn, "t", 0, &tree));
        CHECK(count_of(txn, tree) == (uint64_t)round * 100);
        RESULT(hb_tree_open(txn, "not committed", 0, &other), HB_NOT_FOUND);
        hb_abort(txn);
        OK(hb_check(store, NULL, NULL));
        OK(hb_close(store));
    }
}

static void commit_and_die(const char *path) {
    hb_store *store;
    hb_txn *txn;
    hb_tree tree;
    uint64_t count;
    if (hb_open(path, NULL, &store) || hb_begin(store, HB_WRITE, &txn)) _exit(1);
    if (hb_tree_open(txn, "t", HB_TREE_CREATE, &tree) || hb_count(txn, tree, OPEN, OPEN, &count)) _exit(2);
    for (uint64_t i = count; i < count + 100; i++) {
        if (hb_put(txn, tree, (hb_slice){&i, sizeof i}, S("v"))) _exit(3);
    }
    if (hb_commit(txn) || hb_begin(store, HB_WRITE, &txn)) _exit(4);
    if (hb_tree_open(txn, "not committed", HB_TREE_CREATE, &tree)) _exit(5);
    raise(SIGKILL);
}

static void backups(void) {
    hb_store *store = file_store("source.hornbeam"), *copy;
    hb_tree tree = letters(store, "abc");
    hb_txn *txn = begin(store, HB_WRITE);
    hb_tree large = tree_of(txn, "large");
    char *value = calloc(1, 100000);
    for (uint32_t i = 0; i < 500; i++) {
        memset(value, (int)i, 100000);
        OK(hb_put(txn, large, (hb_slice){&i, sizeof i}, (hb_slice){value, i * 200}));
    }
    tree_of(txn, "empty");
    OK(hb_commit(txn));

    // Beside a writer whose changes the copy doesn't contain.
    txn = begin(store, HB_WRITE);
    OK(hb_put(txn, tree, S("d"), S("d")));
    OK(hb_backup(store, path_of("copy.hornbeam")));
    RESULT(hb_backup(store, path_of("copy.hornbeam")), HB_EXISTS);
    RESULT(hb_backup(store, path_of("source.hornbeam")), HB_EXISTS);
    RESULT(hb_backup(store, path_of("no/such/folder")), HB_IO);
    OK(hb_commit(txn));
    OK(hb_close(store));

    OK(hb_open(path_of("copy.hornbeam"), NULL, &copy));
    OK(hb_check(copy, NULL, NULL));
    txn = begin(copy, HB_READ);
    char names[100] = "";
    OK(hb_tree_list(txn, note_name, names));
    CHECK(strcmp(names, "empty,large,t,") == 0);
    OK(hb_tree_open(txn, "t", 0, &tree));
    CHECK(count_of(txn, tree) == 3 && has(txn, tree, "c", "c") && has(txn, tree, "d", NULL));
    OK(hb_tree_open(txn, "large", 0, &large));
    CHECK(count_of(txn, large) == 500);
    for (uint32_t i = 0; i < 500; i++) {
        hb_slice found;
        memset(value, (int)i, 100000);
        OK(hb_get(txn, large, (hb_slice){&i, sizeof i}, &found));
        CHECK(found.size == i * 200 && memcmp(found.data, value, found.size) == 0);
    }
    hb_abort(txn);
    OK(hb_close(copy));
    free(value);

    store = memory_store();
    letters(store, "xyz");
    OK(hb_backup(store, path_of("memory.hornbeam")));
    OK(hb_close(store));
    store = file_store("memory.hornbeam");
    txn = begin(store, HB_READ);
    OK(hb_tree_open(txn, "t", 0, &tree));
    CHECK(count_of(txn, tree) == 3);
    hb_abort(txn);
    OK(hb_close(store));
    char command[600];
    snprintf(command, sizeof command, "ls %s | grep -q partial", folder);
    CHECK(system(command) != 0);
}

static void compaction_shortens_the_file(void) {
    hb_store *store = memory_store();
    OK(hb_compact(store));
    OK(hb_close(store));

    store = file_store("compact.hornbeam");
    hb_txn *txn = begin(store, HB_WRITE);
    hb_tree tree = tree_of(txn, "t");
    char value[500] = {1};
    for (uint32_t i = 0; i < 40000; i++) OK(hb_put(txn, tree, (hb_slice){&i, sizeof i}, (hb_slice){value, sizeof value}));
    OK(hb_commit(txn));
    txn = begin(store, HB_WRITE);
    for (uint32_t i = 0; i < 40000; i++) {
        if (i % 100 != 0) OK(hb_delete(txn, tree, (hb_slice){&i, sizeof i}));
    }
    RESULT(hb_compact(store), HB_BUSY);
    OK(hb_commit(txn));
    struct stat before, after;
    CHECK(stat(path_of("compact.hornbeam"), &before) == 0);
    OK(hb_compact(store));
    CHECK(stat(path_of("compact.hornbeam"), &after) == 0);
    CHECK(after.st_size < before.st_size / 5);
    txn = begin(store, HB_READ);
    CHECK(count_of(txn, tree) == 400);
    hb_abort(txn);
    OK(hb_check(store, NULL, NULL));
    OK(hb_close(store));
}

static void count_problem(void *context, const char *problem) {
    if (strlen(problem) > 0) (*(int *)context)++;
}

static void damage_is_told(void) {
    hb_store *store = file_store("damaged.hornbeam");
    hb_txn *txn = begin(store, HB_WRITE);
    hb_tree tree = tree_of(txn, "t");
    for (uint32_t i = 0; i < 5000; i++) OK(hb_put(txn, tree, (hb_slice){&i, sizeof i}, S("some value of an entry")));
    OK(hb_commit(txn));
    OK(hb_close(store));
    int file = open(path_of("damaged.hornbeam"), O_RDWR), told = 0;
    struct stat status;
    CHECK(file >= 0 && fstat(file, &status) == 0);
    for (off_t place = 100; place < status.st_size; place += 4096) {
        unsigned char byte, other;
        if (pread(file, &byte, 1, place) != 1) break;
        // Empty space isn't part of the store's content; most of it is skipped to keep this fast.
        if (byte == 0 && place % (64 * 4096) > 4096) continue;
        other = byte ^ 0x55;
        CHECK(pwrite(file, &other, 1, place) == 1);
        int problems = 0, result = hb_open(path_of("damaged.hornbeam"), NULL, &store);
        if (result == HB_OK) {
            result = hb_check(store, count_problem, &problems);
            CHECK(result == HB_OK ? problems == 0 : result == HB_CORRUPT);
            hb_close(store);
        } else {
            CHECK(result == HB_CORRUPT || result == HB_INVALID);
        }
        told += result == HB_CORRUPT;
        CHECK(pwrite(file, &byte, 1, place) == 1);
    }
    close(file);
    CHECK(told > 10);
}

// ---- Threads

static hb_store *shared_store;
static hb_tree shared_tree;
static _Atomic bool stop;
static _Atomic bool begun;

static void *read_pairs(void *unused) {
    (void)unused;
    while (!stop) {
        hb_txn *txn = begin(shared_store, HB_READ);
        hb_slice left, right;
        OK(hb_get(txn, shared_tree, S("left"), &left));
        OK(hb_get(txn, shared_tree, S("right"), &right));
        CHECK(left.size == right.size && memcmp(left.data, right.data, left.size) == 0);
        hb_abort(txn);
    }
    return NULL;
}

static void *count_up(void *unused) {
    (void)unused;
    for (int i = 0; i < 300; i++) {
        hb_txn *txn = begin(shared_store, HB_WRITE);
        hb_slice value;
        uint64_t number;
        OK(hb_get(txn, shared_tree, S("left"), &value));
        memcpy(&number, value.data, sizeof number);
        number++;
        OK(hb_put(txn, shared_tree, S("left"), (hb_slice){&number, sizeof number}));
        OK(hb_put(txn, shared_tree, S("right"), (hb_slice){&number, sizeof number}));
        OK(hb_commit(txn));
    }
    return NULL;
}

static void readers_and_writers_at_once(void) {
    hb_store *store = shared_store = memory_store();
    hb_txn *txn = begin(store, HB_WRITE);
    shared_tree = tree_of(txn, "t");
    uint64_t zero = 0;
    OK(hb_put(txn, shared_tree, S("left"), (hb_slice){&zero, sizeof zero}));
    OK(hb_put(txn, shared_tree, S("right"), (hb_slice){&zero, sizeof zero}));
    OK(hb_commit(txn));
    pthread_t readers[3], writers[3];
    stop = false;
    for (int i = 0; i < 3; i++) pthread_create(&readers[i], NULL, read_pairs, NULL);
    for (int i = 0; i < 3; i++) pthread_create(&writers[i], NULL, count_up, NULL);
    for (int i = 0; i < 3; i++) pthread_join(writers[i], NULL);
    stop = true;
    for (int i = 0; i < 3; i++) pthread_join(readers[i], NULL);
    txn = begin(store, HB_READ);
    hb_slice value;
    uint64_t number = 0;
    OK(hb_get(txn, shared_tree, S("left"), &value));
    memcpy(&number, value.data, sizeof number);
    CHECK(number == 900);
    hb_abort(txn);
    OK(hb_close(store));
}

static _Atomic int refused;
static _Atomic int closed;

static void *read_until_refused(void *unused) {
    (void)unused;
    hb_txn *txn;
    int result;
    while ((result = hb_begin(shared_store, HB_READ, &txn)) == HB_OK) {
        hb_slice value;
        OK(hb_get(txn, shared_tree, S("a"), &value));
        hb_abort(txn);
        sched_yield();
    }
    CHECK(result == HB_INVALID && txn == NULL);
    refused++;
    return NULL;
}

static void *close_until_closed(void *unused) {
    (void)unused;
    int result;
    while ((result = hb_close(shared_store)) == HB_BUSY) sched_yield();
    CHECK(result == HB_OK || result == HB_INVALID);
    if (result == HB_OK) closed++;
    return NULL;
}

// A store that could not be closed stays usable, and of several threads that close it one succeeds.
static void closing_while_others_enter(void) {
    for (int round = 0; round < 300; round++) {
        shared_store = memory_store();
        shared_tree = letters(shared_store, "a");
        refused = closed = 0;
        pthread_t readers[3], closer;
        for (int i = 0; i < 3; i++) pthread_create(&readers[i], NULL, read_until_refused, NULL);
        if (round % 2 == 0) {
            int result;
            while ((result = hb_close(shared_store)) == HB_BUSY) CHECK(refused == 0);
            CHECK(result == HB_OK);
        } else {
            pthread_create(&closer, NULL, close_until_closed, NULL);
            close_until_closed(NULL);
            pthread_join(closer, NULL);
            CHECK(closed == 1);
        }
        for (int i = 0; i < 3; i++) pthread_join(readers[i], NULL);
        CHECK(refused == 3);
        RESULT(hb_close(shared_store), HB_INVALID);
    }
}

static void *wait_for_turn(void *unused) {
    (void)unused;
    hb_txn *txn = begin(shared_store, HB_WRITE);
    begun = true;
    return txn;
}

static void a_transaction_may_change_threads(void) {
    hb_store *store = shared_store = memory_store();
    hb_tree tree = letters(store, "a");
    hb_txn *txn = begin(store, HB_WRITE);
    pthread_t thread;
    begun = false;
    pthread_create(&thread, NULL, wait_for_turn, NULL);
    nanosleep(&(struct timespec){0, 50000000}, NULL);
    CHECK(!begun);
    RESULT(hb_close(store), HB_BUSY);
    OK(hb_put(txn, tree, S("b"), S("b")));
    OK(hb_commit(txn));
    void *handed;
    pthread_join(thread, &handed);
    // Begun in another thread, used and ended here.
    CHECK(has(handed, tree, "b", "b"));
    OK(hb_put(handed, tree, S("c"), S("c")));
    OK(hb_commit(handed));
    txn = begin(store, HB_READ);
    CHECK(count_of(txn, tree) == 3);
    hb_abort(txn);
    OK(hb_close(store));
}

static void *fresh_error(void *unused) {
    (void)unused;
    CHECK(hb_error()[0] == 0);
    RESULT(hb_commit(NULL), HB_INVALID);
    CHECK(strstr(hb_error(), "transaction") != NULL);
    return NULL;
}

static void errors_belong_to_their_thread(void) {
    RESULT(hb_close(NULL), HB_INVALID);
    char *text = strdup(hb_error());
    pthread_t thread;
    pthread_create(&thread, NULL, fresh_error, NULL);
    pthread_join(thread, NULL);
    CHECK(strcmp(text, hb_error()) == 0 && strstr(text, "store") != NULL);
    free(text);
}

// ---- Against a model

enum { MODEL_KEYS = 600 };
static uint64_t seed;

static uint32_t random_below(uint32_t bound) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (uint32_t)((seed >> 20) % bound);
}

static hb_slice model_key(uint32_t index, char *buffer) {
    return (hb_slice){buffer, (size_t)sprintf(buffer, "key %05u%s", index, index % 7 ? "" : " with a long tail")};
}

// Checks that the whole tree equals the model: forwards, backwards, by index and by count.
static void check_model(hb_txn *txn, hb_tree tree, const uint32_t *model) {
    char buffer[64];
    hb_cursor *forward, *backward, *indexed;
    OK(hb_cursor_open(txn, tree, &forward));
    OK(hb_cursor_open(txn, tree, &backward));
    OK(hb_cursor_open(txn, tree, &indexed));
    uint64_t count = 0;
    for (uint32_t i = 0; i < MODEL_KEYS; i++) {
        hb_slice key, value, expected = model_key(i, buffer);
        if (!model[i]) continue;
        OK(hb_cursor_next(forward));
        OK(hb_cursor_entry(forward, &key, &value));
        CHECK(key.size == expected.size && memcmp(key.data, expected.data, key.size) == 0);
        CHECK(value.size == model[i] - 1);
        OK(hb_cursor_at(indexed, count++));
        CHECK(at(indexed, buffer));
    }
    RESULT(hb_cursor_next(forward), HB_NOT_FOUND);
    CHECK(count_of(txn, tree) == count);
    int result = hb_cursor_last(backward);
    for (uint32_t i = MODEL_KEYS; i-- > 0;) {
        if (!model[i]) continue;
        model_key(i, buffer);
        CHECK(result == HB_OK && at(backward, buffer));
        result = hb_cursor_prev(backward);
    }
    CHECK(result == HB_NOT_FOUND);
    hb_cursor_close(forward);
    hb_cursor_close(backward);
    hb_cursor_close(indexed);
}

static void random_change(hb_txn *txn, hb_tree tree, uint32_t *model) {
    static char text[20000];
    char first[64], second[64];
    uint32_t i = random_below(MODEL_KEYS), j = random_below(MODEL_KEYS);
    uint32_t kind = random_below(100);
    if (kind < 60) {
        uint32_t size = random_below(20) ? random_below(100) : random_below(sizeof text);
        OK(hb_put(txn, tree, model_key(i, first), (hb_slice){text, size}));
        model[i] = size + 1;
    } else if (kind < 95) {
        RESULT(hb_delete(txn, tree, model_key(i, first)), model[i] ? HB_OK : HB_NOT_FOUND);
        model[i] = 0;
    } else if (i < j && j - i < 100) {
        uint64_t deleted, expected = 0;
        OK(hb_delete_range(txn, tree, model_key(i, first), model_key(j, second), &deleted));
        for (uint32_t k = i; k < j; k++) {
            expected += model[k] != 0;
            model[k] = 0;
        }
        CHECK(deleted == expected);
    }
}

static void random_changes_equal_a_model(void) {
    const char *given = getenv("HORNBEAM_SEED");
    uint64_t start = given ? strtoull(given, NULL, 10) : 1;
    if (given && strcmp(given, "random") == 0) start = (uint64_t)time(NULL) * 2654435761u + (uint64_t)getpid();
    int before = failed_checks;
    seed = start ? start : 1;
    static uint32_t model[MODEL_KEYS], changed[MODEL_KEYS];
    hb_store *store = file_store("model.hornbeam");
    for (int round = 0; round < 120 && failed_checks == before; round++) {
        hb_txn *txn = begin(store, HB_WRITE);
        OK(hb_durability(txn, HB_DURABLE_NONE));
        hb_tree tree = tree_of(txn, "model");
        memcpy(changed, model, sizeof model);
        for (uint32_t n = random_below(400); n > 0; n--) random_change(txn, tree, changed);
        check_model(txn, tree, changed);
        if (random_below(4) == 0) {
            hb_abort(txn);
        } else {
            OK(hb_commit(txn));
            memcpy(model, changed, sizeof model);
        }
        if (random_below(20) == 0) {
            OK(hb_close(store));
            store = file_store("model.hornbeam");
        }
        txn = begin(store, HB_READ);
        int found = hb_tree_open(txn, "model", 0, &tree);
        if (found == HB_OK) check_model(txn, tree, model);
        hb_abort(txn);
    }
    OK(hb_check(store, NULL, NULL));
    OK(hb_close(store));
    if (failed_checks != before) fprintf(stderr, "  replay with HORNBEAM_SEED=%llu\n", (unsigned long long)start);
}

// ---- All of them

static const struct test tests[] = {
    TEST(version_and_first_error),
    TEST(options_are_checked),
    TEST(every_page_size_works),
    TEST(options_of_other_sizes),
    TEST(what_is_no_store),
    TEST(one_opener_at_a_time),
    TEST(a_read_only_store),
    TEST(put_get_delete),
    TEST(empty_keys_and_values),
    TEST(limits),
    TEST(many_at_once),
    TEST(appending),
    TEST(ranges),
    TEST(cursors_move_both_ways),
    TEST(a_cursor_of_an_empty_tree),
    TEST(cursors_keep_their_place_while_writing),
    TEST(slices_may_come_straight_back),
    TEST(slices_outlive_what_changes_nothing),
    TEST(trees_have_names),
    TEST(dropping_a_tree),
    TEST(trees_of_others_are_told),
    TEST(aborted_creations_are_told),
    TEST(snapshots_stay_frozen),
    TEST(aborting_leaves_nothing),
    TEST(reads_do_not_write),
    TEST(one_writer_at_a_time),
    TEST(every_durability_commits),
    TEST(misuse_is_told),
    TEST(an_old_handle_is_never_a_new_one),
    TEST(many_cursors_end_with_their_transaction),
    TEST(a_callback_may_end_the_transaction),
    TEST(what_was_committed_is_there_again),
    TEST(a_killed_process_loses_no_commit),
    TEST(backups),
    TEST(compaction_shortens_the_file),
    TEST(damage_is_told),
    TEST(readers_and_writers_at_once),
    TEST(closing_while_others_enter),
    TEST(a_transaction_may_change_threads),
    TEST(errors_belong_to_their_thread),
    TEST(random_changes_equal_a_model),
};

int main(int count, char **arguments) {
    if (count < 2) {
        fprintf(stderr, "usage: %s FOLDER\n", arguments[0]);
        return 2;
    }
    folder = arguments[1];
    if (count == 4 && strcmp(arguments[2], "open") == 0) {
        hb_store *store;
        int result = hb_open(arguments[3], NULL, &store);
        return result == HB_OK ? hb_close(store) : result;
    }
    if (count == 4 && strcmp(arguments[2], "commit and die") == 0) {
        commit_and_die(arguments[3]);
        return 6;
    }
    return run_tests(tests, sizeof tests / sizeof tests[0], count == 3 ? arguments[2] : NULL);
}
