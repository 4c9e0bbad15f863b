// SPDX-License-Identifier: Apache-2.0
// The promises of hornbeam.h to its callers, one test each: options, lifetimes, handles, threads, other processes.
// Runs in a folder given on the command line; prints "N passed, M failed" last.

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "checks.h"

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void pause_ms(long milliseconds) {
    nanosleep(&(struct timespec){milliseconds / 1000, milliseconds % 1000 * 1000000}, NULL);
}

static int open_with(const char *name, hb_options options, hb_store **store) {
    options.struct_size = sizeof options;
    return hb_open(name ? path_of(name) : NULL, &options, store);
}

// ---- Options

static void any_size_of_options(void) {
    // From every size that a caller may have been compiled with, up to sizes of the far future.
    static unsigned char bytes[8192];
    for (size_t size = 0; size <= sizeof bytes; size += size < 64 ? 1 : 61) {
        memset(bytes, 0, sizeof bytes);
        hb_options options = {.struct_size = size, .in_memory = 1};
        memcpy(bytes, &options, sizeof options);
        hb_store *store = NULL;
        int result = hb_open(path_of("sizes.hornbeam"), (const hb_options *)bytes, &store);
        CHECK(size > 0 && (size < 8 || size > 4096) ? result == HB_INVALID : result == HB_OK);
        CHECK((result == HB_OK) == (store != NULL));
        if (result == HB_OK) OK(hb_close(store));
    }
}

static void extreme_options(void) {
    const uint64_t sizes[] = {0, 1, 4095, 1 << 20, UINT32_MAX, INT64_MAX, (uint64_t)INT64_MAX + 1, UINT64_MAX};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        for (uint32_t in_memory = 0; in_memory < 2; in_memory++) {
            hb_options options = {.cache_bytes = sizes[i], .checkpoint_bytes = sizes[i], .in_memory = in_memory,
                                  .lock_wait_ms = UINT32_MAX};
            hb_store *store;
            int result = open_with("extreme.hornbeam", options, &store);
            CHECK(result == HB_OK || result == HB_INVALID);
            if (result != HB_OK) continue;
            hb_tree tree = letters(store, "abc");
            hb_txn *txn = begin(store, HB_READ);
            CHECK(has(txn, tree, "b", "b"));
            hb_abort(txn);
            OK(hb_close(store));
        }
    }
}

static void a_store_keeps_its_page_size(void) {
    hb_store *store;
    OK(open_with("pages.hornbeam", (hb_options){.page_size = 16384}, &store));
    letters(store, "abc");
    OK(hb_close(store));
    OK(open_with("pages.hornbeam", (hb_options){.page_size = 4096}, &store));
    OK(hb_check(store, NULL, NULL));
    OK(hb_close(store));
}

// ---- One store of a file

static void two_stores_of_one_file(void) {
    hb_store *store, *second;
    OK(hb_open(path_of("twice.hornbeam"), NULL, &store));
    letters(store, "abc");
    OK(hb_close(store));
    CHECK(symlink("twice.hornbeam", path_of("other name")) == 0);
    CHECK(link(path_of("twice.hornbeam"), path_of("hard link")) == 0);
    const char *const names[] = {"twice.hornbeam", "other name", "hard link", "./twice.hornbeam"};
    for (uint32_t first = 0; first < 2; first++) {
        OK(open_with("twice.hornbeam", (hb_options){.read_only = first}, &store));
        for (int i = 0; i < 8; i++) {
            second = (hb_store *)&second;
            RESULT(open_with(names[i / 2], (hb_options){.read_only = (uint32_t)i % 2}, &second), HB_BUSY);
            CHECK(second == NULL);
        }
        // The open one is not affected.
        hb_txn *txn = begin(store, HB_READ);
        hb_tree tree;
        OK(hb_tree_open(txn, "t", 0, &tree));
        CHECK(has(txn, tree, "c", "c"));
        hb_abort(txn);
        OK(hb_close(store));
    }
    OK(hb_open(path_of("twice.hornbeam"), NULL, &store));
    OK(hb_close(store));
}

// Runs a child that holds the store open for a while.
static pid_t hold_open(const char *name, long milliseconds) {
    int ready[2];
    char byte = 0;
    CHECK(pipe(ready) == 0);
    pid_t pid = fork();
    if (pid == 0) {
        hb_store *store;
        if (hb_open(path_of(name), NULL, &store) != HB_OK || write(ready[1], &byte, 1) != 1) _exit(1);
        pause_ms(milliseconds);
        _exit(hb_close(store));
    }
    close(ready[1]);
    CHECK(read(ready[0], &byte, 1) == 1);
    close(ready[0]);
    return pid;
}

static void waiting_for_another_process(void) {
    hb_store *store;
    pid_t pid = hold_open("wait.hornbeam", 600);
    double start = now();
    RESULT(hb_open(path_of("wait.hornbeam"), NULL, &store), HB_BUSY);
    CHECK(now() - start < 0.3);
    start = now();
    RESULT(open_with("wait.hornbeam", (hb_options){.lock_wait_ms = 100}, &store), HB_BUSY);
    CHECK(now() - start >= 0.09);
    OK(open_with("wait.hornbeam", (hb_options){.lock_wait_ms = 20000}, &store));
    CHECK(now() - start < 5);
    OK(hb_close(store));
    int status = 0;
    waitpid(pid, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void a_dead_process_holds_nothing(void) {
    hb_store *store;
    pid_t pid = hold_open("dead.hornbeam", 60000);
    RESULT(hb_open(path_of("dead.hornbeam"), NULL, &store), HB_BUSY);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    OK(hb_open(path_of("dead.hornbeam"), NULL, &store));
    OK(hb_close(store));
}

// ---- Read-only stores

static void a_read_only_store_refuses_changes(void) {
    hb_store *store;
    OK(hb_open(path_of("fixed.hornbeam"), NULL, &store));
    letters(store, "abc");
    OK(hb_close(store));
    struct stat before, after;
    CHECK(stat(path_of("fixed.hornbeam"), &before) == 0);
    OK(open_with("fixed.hornbeam", (hb_options){.read_only = 1}, &store));
    hb_txn *txn = begin(store, HB_READ);
    hb_tree tree;
    RESULT(hb_tree_open(txn, "new", HB_TREE_CREATE, &tree), HB_READ_ONLY);
    OK(hb_tree_open(txn, "t", HB_TREE_CREATE, &tree));
    RESULT(hb_put(txn, tree, S("d"), S("d")), HB_READ_ONLY);
    hb_abort(txn);
    RESULT(hb_checkpoint(store), HB_READ_ONLY);
    RESULT(hb_compact(store), HB_READ_ONLY);
    OK(hb_check(store, NULL, NULL));
    OK(hb_backup(store, path_of("fixed copy")));
    OK(hb_close(store));
    CHECK(stat(path_of("fixed.hornbeam"), &after) == 0 && before.st_size == after.st_size);
}

// ---- Lifetimes

static void slices_of_a_read_live_as_long_as_it(void) {
    hb_store *store = file_store("lifetimes.hornbeam");
    hb_txn *txn = begin(store, HB_WRITE);
    hb_tree tree = tree_of(txn, "t");
    static char large[100000];
    memset(large, 'l', sizeof large);
    for (uint32_t i = 0; i < 500; i++) {
        OK(hb_put(txn, tree, (hb_slice){&i, sizeof i}, (hb_slice){large, i % 50 == 0 ? sizeof large : i}));
    }
    OK(hb_commit(txn));
    static hb_slice held[500];
    hb_txn *reader = begin(store, HB_READ);
    for (uint32_t i = 0; i < 500; i++) OK(hb_get(reader, tree, (hb_slice){&i, sizeof i}, &held[i]));
    // The writer replaces everything several times, with checkpoints in between.
    for (int round = 0; round < 6; round++) {
        txn = begin(store, HB_WRITE);
        for (uint32_t i = 0; i < 500; i++) OK(hb_put(txn, tree, (hb_slice){&i, sizeof i}, S("replaced")));
        if (round == 3) OK(hb_delete_range(txn, tree, OPEN, OPEN, NULL));
        OK(hb_commit(txn));
        OK(hb_checkpoint(store));
    }
    for (uint32_t i = 0; i < 500; i++) {
        CHECK(held[i].size == (i % 50 == 0 ? sizeof large : i) && memcmp(held[i].data, large, held[i].size) == 0);
    }
    hb_abort(reader);
    OK(hb_close(store));
}

static void slices_of_a_write_live_until_its_next_change(void) {
    hb_store *store = memory_store();
    hb_txn *txn = begin(store, HB_WRITE);
    hb_tree tree = tree_of(txn, "t");
    OK(hb_put(txn, tree, S("a"), S("first")));
    OK(hb_put(txn, tree, S("b"), S("second")));
    hb_slice a, b, key, value;
    hb_cursor *cursor;
    uint64_t count;
    OK(hb_get(txn, tree, S("a"), &a));
    OK(hb_get(txn, tree, S("b"), &b));
    // The following calls change nothing.
    OK(hb_cursor_open(txn, tree, &cursor));
    OK(hb_cursor_last(cursor));
    OK(hb_cursor_entry(cursor, &key, &value));
    OK(hb_cursor_first(cursor));
    OK(hb_count(txn, tree, OPEN, OPEN, &count));
    RESULT(hb_delete(txn, tree, S("c")), HB_NOT_FOUND);
    RESULT(hb_put(txn, tree, OPEN, S("c")), HB_INVALID);
    OK(hb_tree_open(txn, "t", HB_TREE_CREATE, &tree));
    CHECK(equal(a, "first") && equal(b, "second"));
    // A slice is the argument of the change that ends its life; also in another tree.
    hb_tree other = tree_of(txn, "other");
    OK(hb_get(txn, tree, S("a"), &a));
    OK(hb_put(txn, other, a, a));
    CHECK(has(txn, other, "first", "first"));
    OK(hb_get(txn, other, S("first"), &a));
    OK(hb_delete(txn, other, a));
    OK(hb_get(txn, tree, S("a"), &a));
    OK(hb_get(txn, tree, S("b"), &b));
    OK(hb_append(txn, other, a, b));
    CHECK(has(txn, other, "first", "second"));
    OK(hb_get(txn, tree, S("b"), &b));
    OK(hb_delete_range(txn, other, OPEN, b, &count));
    CHECK(count == 1);
    hb_cursor_close(cursor);
    OK(hb_commit(txn));
    OK(hb_close(store));
}

static void handles_outlive_what_they_name(void) {
    hb_store *store = memory_store();
    hb_tree tree = letters(store, "abc");
    hb_txn *txn = begin(store, HB_WRITE);
    hb_cursor *cursor, *second;
    OK(hb_cursor_open(txn, tree, &cursor));
    OK(hb_cursor_open(txn, tree, &second));
    OK(hb_cursor_next(cursor));
    OK(hb_commit(txn));
    OK(hb_close(store));
    hb_slice key, value;
    RESULT(hb_cursor_entry(cursor, &key, &value), HB_INVALID);
    RESULT(hb_cursor_next(cursor), HB_INVALID);
    RESULT(hb_get(txn, tree, S("a"), &value), HB_INVALID);
    RESULT(hb_commit(txn), HB_INVALID);
    hb_abort(txn);
    RESULT(hb_begin(store, HB_READ, &txn), HB_INVALID);
    CHECK(txn == NULL);
    RESULT(hb_close(store), HB_INVALID);
    hb_cursor_close(cursor);
    hb_cursor_close(cursor);
    hb_cursor_close(second);
    RESULT(hb_cursor_next(second), HB_INVALID);
}

// The slot of a handle, which earlier handles used too; the bits above it count them.
static uintptr_t slot_of(const hb_txn *txn) { return (uintptr_t)txn & ((1 << 23) - 1); }

static void ended_reads_come_back_under_new_handles(void) {
    hb_store *store = file_store("ended reads.hornbeam");
    hb_tree tree = letters(store, "abc");
    hb_txn *ended = begin(store, HB_READ), *write;
    hb_cursor *old, *cursor;
    hb_slice key, value;
    uint64_t count;
    OK(hb_cursor_open(ended, tree, &old));
    OK(hb_cursor_seek(old, S("b")));
    hb_abort(ended);
    hb_txn *txn = begin(store, HB_READ);
    // The following checks use two handles of one slot.
    CHECK(txn != ended && slot_of(txn) == slot_of(ended));
    RESULT(hb_get(ended, tree, S("a"), &value), HB_INVALID);
    RESULT(hb_count(ended, tree, OPEN, OPEN, &count), HB_INVALID);
    RESULT(hb_cursor_open(ended, tree, &cursor), HB_INVALID);
    RESULT(hb_commit(ended), HB_INVALID);
    OK(hb_cursor_open(txn, tree, &cursor));
    OK(hb_cursor_seek(cursor, S("b")));
    RESULT(hb_cursor_entry(old, &key, &value), HB_INVALID);
    RESULT(hb_cursor_next(old), HB_INVALID);
    RESULT(hb_cursor_prev(old), HB_INVALID);
    RESULT(hb_cursor_first(old), HB_INVALID);
    RESULT(hb_cursor_last(old), HB_INVALID);
    RESULT(hb_cursor_seek(old, S("a")), HB_INVALID);
    RESULT(hb_cursor_at(old, 0), HB_INVALID);
    hb_cursor_close(old);
    RESULT(hb_cursor_next(old), HB_INVALID);
    // Ending an ended handle ends no other one.
    hb_abort(ended);
    hb_abort(ended);
    CHECK(has(txn, tree, "a", "a") && at(cursor, "b"));
    OK(hb_cursor_next(cursor));
    CHECK(at(cursor, "c"));
    // The handle doesn't see later commits, but the next one does.
    write = begin(store, HB_WRITE);
    OK(hb_put(write, tree, S("d"), S("d")));
    OK(hb_commit(write));
    CHECK(has(txn, tree, "d", NULL) && count_of(txn, tree) == 3);
    OK(hb_commit(txn));
    RESULT(hb_commit(txn), HB_INVALID);
    RESULT(hb_cursor_entry(cursor, &key, &value), HB_INVALID);
    hb_cursor_close(cursor);
    ended = txn;
    txn = begin(store, HB_READ);
    CHECK(txn != ended && slot_of(txn) == slot_of(ended));
    CHECK(has(txn, tree, "d", "d") && count_of(txn, tree) == 4);
    RESULT(hb_close(store), HB_BUSY);
    hb_abort(txn);
    OK(hb_close(store));
    RESULT(hb_get(txn, tree, S("a"), &value), HB_INVALID);
    RESULT(hb_commit(txn), HB_INVALID);
    hb_abort(txn);
    RESULT(hb_begin(store, HB_READ, &txn), HB_INVALID);
    CHECK(txn == NULL);
}

static void more_reads_end_than_can_wait(void) {
    enum { READS = 20 };
    hb_store *store = file_store("many reads.hornbeam");
    hb_tree tree = letters(store, "a");
    hb_txn *reads[READS], *ended[READS];
    hb_slice value;
    for (uint32_t round = 0; round < 4; round++) {
        for (int i = 0; i < READS; i++) {
            reads[i] = begin(store, HB_READ);
            for (int j = 0; j < i; j++) CHECK(reads[j] != reads[i]);
        }
        hb_txn *write = begin(store, HB_WRITE);
        OK(hb_put(write, tree, (hb_slice){&round, sizeof round}, S("new")));
        OK(hb_commit(write));
        for (int i = 0; i < READS; i++) {
            CHECK(count_of(reads[i], tree) == 1 + round);
            if (round > 0) RESULT(hb_get(ended[i], tree, S("a"), &value), HB_INVALID);
        }
        for (int i = 0; i < READS; i++) {
            RESULT(hb_close(store), HB_BUSY);
            if (round > 0) hb_abort(ended[i]);
            // Open ones still see their state.
            CHECK(count_of(reads[READS - 1], tree) == 1 + round);
            hb_abort(reads[i]);
            ended[i] = reads[i];
        }
    }
    OK(hb_check(store, NULL, NULL));
    OK(hb_close(store));
    for (int i = 0; i < READS; i++) RESULT(hb_get(ended[i], tree, S("a"), &value), HB_INVALID);
}

static void tree_numbers_last_as_long_as_their_store(void) {
    hb_store *store = file_store("numbers.hornbeam");
    hb_txn *reader = begin(store, HB_READ), *txn = begin(store, HB_WRITE);
    hb_tree first = tree_of(txn, "first"), second = tree_of(txn, "second"), found;
    OK(hb_put(txn, first, S("a"), S("1")));
    OK(hb_commit(txn));
    // A snapshot from before doesn't know the tree; every later transaction does, without opening it by name.
    hb_slice value;
    RESULT(hb_get(reader, first, S("a"), &value), HB_INVALID);
    hb_abort(reader);
    OK(hb_checkpoint(store));
    txn = begin(store, HB_WRITE);
    CHECK(has(txn, first, "a", "1"));
    OK(hb_put(txn, second, S("b"), S("2")));
    OK(hb_tree_drop(txn, "second"));
    RESULT(hb_put(txn, second, S("b"), S("2")), HB_INVALID);
    hb_abort(txn);
    txn = begin(store, HB_WRITE);
    // The drop was undone.
    OK(hb_put(txn, second, S("b"), S("2")));
    OK(hb_tree_drop(txn, "first"));
    OK(hb_tree_open(txn, "first", HB_TREE_CREATE, &found));
    CHECK(found != first);
    RESULT(hb_get(txn, first, S("a"), &value), HB_INVALID);
    OK(hb_commit(txn));
    txn = begin(store, HB_READ);
    RESULT(hb_get(txn, first, S("a"), &value), HB_INVALID);
    CHECK(count_of(txn, found) == 0 && has(txn, second, "b", "2"));
    hb_abort(txn);
    OK(hb_close(store));
    // A handle of this file, but of another store.
    store = file_store("numbers.hornbeam");
    txn = begin(store, HB_WRITE);
    RESULT(hb_get(txn, second, S("b"), &value), HB_INVALID);
    RESULT(hb_put(txn, second, S("b"), S("b")), HB_INVALID);
    OK(hb_commit(txn));
    OK(hb_close(store));
}

// ---- Cursors

static void a_cursor_beyond_an_end_while_writing(void) {
    hb_store *store = memory_store();
    hb_tree tree = letters(store, "bc");
    hb_txn *txn = begin(store, HB_WRITE);
    hb_cursor *cursor;
    OK(hb_cursor_open(txn, tree, &cursor));
    RESULT(hb_cursor_prev(cursor), HB_NOT_FOUND);
    OK(hb_put(txn, tree, S("a"), S("a")));
    OK(hb_cursor_next(cursor));
    CHECK(at(cursor, "a"));
    OK(hb_cursor_last(cursor));
    RESULT(hb_cursor_next(cursor), HB_NOT_FOUND);
    CHECK(at(cursor, NULL));
    OK(hb_put(txn, tree, S("d"), S("d")));
    OK(hb_cursor_prev(cursor));
    CHECK(at(cursor, "d"));
    RESULT(hb_cursor_next(cursor), HB_NOT_FOUND);
    OK(hb_delete_range(txn, tree, OPEN, OPEN, NULL));
    RESULT(hb_cursor_prev(cursor), HB_NOT_FOUND);
    RESULT(hb_cursor_next(cursor), HB_NOT_FOUND);
    OK(hb_put(txn, tree, S("m"), S("m")));
    OK(hb_cursor_first(cursor));
    CHECK(at(cursor, "m"));
    OK(hb_cursor_at(cursor, 0));
    RESULT(hb_cursor_at(cursor, 1), HB_NOT_FOUND);
    RESULT(hb_cursor_seek(cursor, OPEN), HB_INVALID);
    hb_cursor_close(cursor);
    hb_abort(txn);
    OK(hb_close(store));
}

static void a_cursor_shows_what_its_own_transaction_wrote(void) {
    hb_store *store = memory_store();
    hb_tree tree = letters(store, "bd");
    hb_txn *txn = begin(store, HB_WRITE);
    hb_cursor *cursor;
    hb_slice key, value;
    OK(hb_cursor_open(txn, tree, &cursor));
    OK(hb_cursor_seek(cursor, S("b")));
    OK(hb_put(txn, tree, S("b"), S("another value")));
    OK(hb_cursor_entry(cursor, &key, &value));
    CHECK(equal(key, "b") && equal(value, "another value"));
    OK(hb_delete(txn, tree, S("b")));
    RESULT(hb_cursor_entry(cursor, &key, &value), HB_NOT_FOUND);
    CHECK(key.data == NULL && value.data == NULL);
    OK(hb_put(txn, tree, S("c"), S("c")));
    OK(hb_cursor_next(cursor));
    CHECK(at(cursor, "c"));
    hb_cursor_close(cursor);
    hb_abort(txn);
    OK(hb_close(store));
}

// ---- Many at once

static void many_keys_at_once(void) {
    enum { COUNT = 5000 };
    static uint32_t numbers[COUNT];
    static hb_slice keys[COUNT], values[COUNT];
    static char large[9000];
    hb_store *store = file_store("many.hornbeam");
    hb_txn *txn = begin(store, HB_WRITE);
    hb_tree tree = tree_of(txn, "t");
    memset(large, 'x', sizeof large);
    for (uint32_t i = 0; i < COUNT; i++) {
        numbers[i] = i * 2654435761u;
        keys[i] = (hb_slice){&numbers[i], 4};
        if (i % 3) OK(hb_put(txn, tree, keys[i], (hb_slice){large, i % 97 == 0 ? sizeof large : i % 40}));
    }
    for (int round = 0; round < 2; round++) {
        OK(hb_get_many(txn, tree, keys, values, COUNT));
        for (uint32_t i = 0; i < COUNT; i++) {
            size_t size = i % 97 == 0 ? sizeof large : i % 40;
            CHECK(i % 3 == 0 ? values[i].data == NULL && values[i].size == 0
                             : values[i].data != NULL && values[i].size == size &&
                                   memcmp(values[i].data, large, size) == 0);
        }
        OK(hb_commit(txn));
        txn = begin(store, HB_READ);
    }
    RESULT(hb_get_many(txn, tree + 1, keys, values, COUNT), HB_INVALID);
    CHECK(values[1].data == NULL);
    hb_abort(txn);
    OK(hb_close(store));
}

// ---- Threads

static hb_store *shared;
static hb_tree shared_tree;

static void *commit_many(void *argument) {
    uint32_t writer = (uint32_t)(uintptr_t)argument;
    for (uint32_t i = 0; i < 60; i++) {
        hb_txn *txn = begin(shared, HB_WRITE);
        uint32_t key[2] = {writer, i};
        uint64_t before = count_of(txn, shared_tree), after;
        OK(hb_put(txn, shared_tree, (hb_slice){key, sizeof key}, S("v")));
        OK(hb_commit(txn));
        // Acknowledged data is there for the next process.
        txn = begin(shared, HB_READ);
        after = count_of(txn, shared_tree);
        CHECK(after > before);
        hb_slice value;
        OK(hb_get(txn, shared_tree, (hb_slice){key, sizeof key}, &value));
        hb_abort(txn);
    }
    return NULL;
}

static void writers_on_many_threads(void) {
    shared = file_store("writers.hornbeam");
    shared_tree = letters(shared, "");
    pthread_t threads[8];
    for (uintptr_t i = 0; i < 8; i++) pthread_create(&threads[i], NULL, commit_many, (void *)i);
    for (int i = 0; i < 8; i++) pthread_join(threads[i], NULL);
    OK(hb_check(shared, NULL, NULL));
    OK(hb_close(shared));
    shared = file_store("writers.hornbeam");
    hb_txn *txn = begin(shared, HB_READ);
    OK(hb_tree_open(txn, "t", 0, &shared_tree));
    CHECK(count_of(txn, shared_tree) == 8 * 60);
    hb_abort(txn);
    OK(hb_close(shared));
}

static void *finish(void *txn) {
    pause_ms(100);
    OK(hb_put(txn, shared_tree, S("handed over"), S("v")));
    OK(hb_commit(txn));
    return NULL;
}

static void a_write_may_end_where_it_did_not_begin(void) {
    shared = memory_store();
    shared_tree = letters(shared, "a");
    for (int round = 0; round < 3; round++) {
        hb_txn *txn = begin(shared, HB_WRITE);
        pthread_t thread;
        pthread_create(&thread, NULL, finish, txn);
        // This thread began the other transaction, but has passed it on: so it waits like any thread.
        hb_txn *next = begin(shared, HB_WRITE);
        CHECK(has(next, shared_tree, "handed over", "v"));
        OK(hb_delete(next, shared_tree, S("handed over")));
        OK(hb_commit(next));
        pthread_join(thread, NULL);
    }
    OK(hb_close(shared));
}

static void waiting_for_oneself_is_told(void) {
    shared = memory_store();
    shared_tree = letters(shared, "a");
    hb_txn *txn = begin(shared, HB_WRITE), *second = (hb_txn *)&second;
    double start = now();
    RESULT(hb_begin(shared, HB_WRITE, &second), HB_INVALID);
    CHECK(second == NULL && now() - start < 10);
    RESULT(hb_begin(shared, HB_WRITE | HB_NOWAIT, &second), HB_BUSY);
    OK(hb_put(txn, shared_tree, S("b"), S("b")));
    OK(hb_commit(txn));
    OK(hb_close(shared));
}

static void *read_and_wait(void *ready) {
    hb_txn *txn = begin(shared, HB_READ);
    *(_Atomic bool *)ready = true;
    pause_ms(100);
    hb_abort(txn);
    return NULL;
}

static void closing_waits_for_nobody(void) {
    shared = memory_store();
    _Atomic bool is_ready = false;
    pthread_t thread;
    pthread_create(&thread, NULL, read_and_wait, &is_ready);
    while (!is_ready) pause_ms(1);
    double start = now();
    RESULT(hb_close(shared), HB_BUSY);
    CHECK(now() - start < 0.09);
    pthread_join(thread, NULL);
    OK(hb_close(shared));
    RESULT(hb_close(shared), HB_INVALID);
}

static _Atomic bool stop;

static void *open_and_close(void *store) {
    while (!stop) {
        hb_txn *txn;
        int result = hb_begin(store, HB_READ, &txn);
        CHECK(result == HB_OK || result == HB_INVALID);
        if (result == HB_OK) hb_abort(txn);
    }
    return NULL;
}

static void closing_races_with_beginning(void) {
    for (int round = 0; round < 30; round++) {
        hb_store *store = memory_store();
        stop = false;
        pthread_t threads[2];
        for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, open_and_close, store);
        int result;
        while ((result = hb_close(store)) == HB_BUSY) pause_ms(0);
        CHECK(result == HB_OK);
        stop = true;
        for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    }
}

// ---- Looking after a store

static void *keep_committing(void *unused) {
    (void)unused;
    for (uint32_t i = 0; !stop; i++) {
        hb_txn *txn = begin(shared, HB_WRITE);
        OK(hb_durability(txn, HB_DURABLE_NONE));
        // Always written in pairs.
        uint32_t key[2] = {i % 3000, 0};
        OK(hb_put(txn, shared_tree, (hb_slice){key, sizeof key}, (hb_slice){&i, sizeof i}));
        key[1] = 1;
        OK(hb_put(txn, shared_tree, (hb_slice){key, sizeof key}, (hb_slice){&i, sizeof i}));
        OK(hb_commit(txn));
    }
    return NULL;
}

static void check_and_backup_beside_a_writer(void) {
    shared = file_store("busy writer.hornbeam");
    shared_tree = letters(shared, "");
    stop = false;
    pthread_t thread;
    pthread_create(&thread, NULL, keep_committing, NULL);
    for (int round = 0; round < 3; round++) {
        pause_ms(60);
        OK(hb_check(shared, NULL, NULL));
        OK(hb_checkpoint(shared));
        unlink(path_of("pairs"));
        OK(hb_backup(shared, path_of("pairs")));
        hb_store *copy = file_store("pairs");
        OK(hb_check(copy, NULL, NULL));
        hb_txn *txn = begin(copy, HB_READ);
        hb_tree tree;
        OK(hb_tree_open(txn, "t", 0, &tree));
        CHECK(count_of(txn, tree) % 2 == 0);
        hb_abort(txn);
        OK(hb_close(copy));
    }
    stop = true;
    pthread_join(thread, NULL);
    OK(hb_close(shared));
}

static void backups_that_cannot_be(void) {
    hb_store *store = file_store("backed up.hornbeam");
    letters(store, "abc");
    CHECK(mkdir(path_of("a folder"), 0755) == 0);
    CHECK(symlink("nowhere", path_of("dangling")) == 0);
    RESULT(hb_backup(store, path_of("a folder")), HB_EXISTS);
    RESULT(hb_backup(store, path_of("dangling")), HB_EXISTS);
    RESULT(hb_backup(store, path_of("backed up.hornbeam")), HB_EXISTS);
    RESULT(hb_backup(store, path_of("no folder/copy")), HB_IO);
    RESULT(hb_backup(store, ""), HB_INVALID);
    RESULT(hb_backup(store, "\xff"), HB_INVALID);
    RESULT(hb_backup(store, NULL), HB_INVALID);
    OK(hb_check(store, NULL, NULL));
    OK(hb_close(store));
}

static void a_failed_open_leaves_nothing(void) {
    hb_store *store = (hb_store *)&store;
    RESULT(hb_open(path_of("no folder/store"), NULL, &store), HB_IO);
    CHECK(store == NULL);
    RESULT(open_with("absent.hornbeam", (hb_options){.read_only = 1}, &store), HB_IO);
    CHECK(access(path_of("absent.hornbeam"), F_OK) != 0);
    CHECK(mkfifo(path_of("fifo"), 0644) == 0);
    RESULT(hb_open(path_of("fifo"), NULL, &store), HB_INVALID);
    int file = open(path_of("empty file"), O_CREAT | O_WRONLY, 0644);
    close(file);
    RESULT(hb_open(path_of("empty file"), NULL, &store), HB_INVALID);
    struct stat status;
    CHECK(stat(path_of("empty file"), &status) == 0 && status.st_size == 0);
    CHECK(symlink("loop", path_of("loop")) == 0);
    RESULT(hb_open(path_of("loop"), NULL, &store), HB_IO);
}

// ---- More than the least

static void figures(void) {
    hb_store *store = file_store("figures.hornbeam");
    hb_tree tree = letters(store, "abc");
    hb_figures figures = {.struct_size = sizeof figures};
    OK(hb_figures_of(store, &figures));
    CHECK(figures.file_bytes >= 128 << 10 && figures.file_bytes % 4096 == 0);
    CHECK(figures.used_bytes > 0 && figures.used_bytes <= figures.file_bytes);
    CHECK(figures.journal_bytes > 0 && figures.journal_bytes <= figures.journal_capacity_bytes);
    CHECK(figures.page_size >= 4096 && figures.transaction == 1 && figures.checkpoint >= 1);
    CHECK(figures.dirty_bytes > 0 && figures.writer_bytes == 0);
    hb_txn *reader = begin(store, HB_READ), *txn = begin(store, HB_WRITE);
    OK(hb_put(txn, tree, S("d"), S("d")));
    OK(hb_figures_of(store, &figures));
    CHECK(figures.writer_bytes >= figures.page_size);
    OK(hb_commit(txn));
    OK(hb_checkpoint(store));
    OK(hb_figures_of(store, &figures));
    CHECK(figures.dirty_bytes == 0 && figures.writer_bytes == 0);
    CHECK(figures.retired_bytes > 0 && figures.checkpoint_retired_bytes == 0);
    CHECK(figures.transaction == 2 && figures.older_snapshots == 1);
    CHECK(figures.snapshot_bytes > 0 && figures.snapshot_bytes <= figures.retired_bytes);
    hb_abort(reader);
    // An older caller's struct, and a newer one's.
    struct {
        hb_figures known;
        uint64_t unknown[2];
    } other;
    memset(&other, 0xAA, sizeof other);
    other.known.struct_size = sizeof other;
    OK(hb_figures_of(store, &other.known));
    CHECK(other.unknown[0] == 0 && other.unknown[1] == 0 && other.known.transaction == 2);
    memset(&other, 0xAA, sizeof other);
    other.known.struct_size = offsetof(hb_figures, retired_bytes);
    OK(hb_figures_of(store, &other.known));
    CHECK(other.known.file_bytes == figures.file_bytes && other.known.retired_bytes == 0xAAAAAAAAAAAAAAAA);
    const size_t sizes[] = {0, 7, 4097, SIZE_MAX};
    for (int i = 0; i < 4; i++) {
        other.known.struct_size = sizes[i];
        RESULT(hb_figures_of(store, &other.known), HB_INVALID);
    }
    RESULT(hb_figures_of(store, NULL), HB_INVALID);
    OK(hb_close(store));
    other.known.struct_size = sizeof other;
    RESULT(hb_figures_of(store, &other.known), HB_INVALID);
}

static void a_store_without_a_mapping(void) {
    hb_store *store;
    hb_options options = {.struct_size = sizeof options, .cache_bytes = 1 << 20};
    hb_more_options more = {.struct_size = sizeof more, .unmapped = 1};
    OK(hb_open_with(path_of("unmapped.hornbeam"), &options, &more, &store));
    hb_txn *txn = begin(store, HB_WRITE);
    hb_tree tree = tree_of(txn, "t");
    static char value[30000];
    for (uint32_t i = 0; i < 3000; i++) {
        memset(value, (int)i, 100);
        OK(hb_put(txn, tree, (hb_slice){&i, sizeof i}, (hb_slice){value, i % 100 ? i % 100 : sizeof value}));
    }
    OK(hb_commit(txn));
    OK(hb_close(store));
    OK(hb_open_with(path_of("unmapped.hornbeam"), &options, &more, &store));
    txn = begin(store, HB_READ);
    OK(hb_tree_open(txn, "t", 0, &tree));
    // A slice lives as long as the transaction, whatever the cache does meanwhile.
    uint32_t zero = 0;
    hb_slice held, found;
    OK(hb_get(txn, tree, (hb_slice){&zero, sizeof zero}, &held));
    for (uint32_t i = 0; i < 3000; i++) {
        OK(hb_get(txn, tree, (hb_slice){&i, sizeof i}, &found));
        CHECK(found.size == (i % 100 ? i % 100 : sizeof value));
    }
    CHECK(held.size == sizeof value && memcmp(held.data, (char[100]){0}, 100) == 0);
    hb_figures figures = {.struct_size = sizeof figures};
    OK(hb_figures_of(store, &figures));
    CHECK(figures.cache_misses > 0 && figures.cache_resident_bytes <= figures.cache_budget_bytes);
    CHECK(figures.reader_copied_bytes + figures.reader_private_bytes >= sizeof value);
    CHECK(figures.copied_bytes == figures.reader_copied_bytes && figures.pinned_bytes == figures.reader_pinned_bytes);
    hb_abort(txn);
    OK(hb_check(store, NULL, NULL));
    OK(hb_close(store));
}

static void savepoints(void) {
    hb_store *store = file_store("savepoints.hornbeam");
    hb_tree tree = letters(store, "abc"), made;
    hb_txn *txn = begin(store, HB_WRITE), *reader = begin(store, HB_READ);
    hb_savepoint outer, inner, refused = 7;
    hb_cursor *cursor;
    OK(hb_cursor_open(txn, tree, &cursor));
    OK(hb_cursor_seek(cursor, S("b")));
    OK(hb_put(txn, tree, S("d"), S("d")));
    OK(hb_save(txn, &outer));
    OK(hb_delete_range(txn, tree, OPEN, OPEN, NULL));
    made = tree_of(txn, "made");
    OK(hb_put(txn, made, S("x"), S("x")));
    OK(hb_save(txn, &inner));
    CHECK(inner != outer);
    OK(hb_tree_drop(txn, "t"));
    OK(hb_put(txn, made, S("y"), S("y")));
    OK(hb_rollback(txn, inner));
    CHECK(count_of(txn, made) == 1 && count_of(txn, tree) == 0);
    OK(hb_rollback(txn, outer));
    RESULT(hb_rollback(txn, inner), HB_INVALID);
    hb_slice value;
    RESULT(hb_get(txn, made, S("x"), &value), HB_INVALID);
    CHECK(count_of(txn, tree) == 4 && has(txn, tree, "d", "d"));
    OK(hb_cursor_next(cursor));
    CHECK(at(cursor, "c"));
    OK(hb_put(txn, tree, S("e"), S("e")));
    OK(hb_release(txn, outer));
    RESULT(hb_release(txn, outer), HB_INVALID);
    RESULT(hb_save(reader, &refused), HB_READ_ONLY);
    CHECK(refused == 0);
    RESULT(hb_save(txn, NULL), HB_INVALID);
    OK(hb_commit(txn));
    RESULT(hb_rollback(txn, outer), HB_INVALID);
    hb_abort(reader);
    txn = begin(store, HB_WRITE);
    RESULT(hb_rollback(txn, outer), HB_INVALID);
    CHECK(count_of(txn, tree) == 5);
    hb_abort(txn);
    hb_cursor_close(cursor);
    OK(hb_check(store, NULL, NULL));
    OK(hb_close(store));
}

static void add_value(void *context, hb_slice key, hb_slice value, void *target) {
    (void)context, (void)key;
    memcpy(target, value.data, 8);
}

static void add_sums(void *context, void *target, const void *next) {
    uint64_t left, right;
    memcpy(&left, target, 8);
    memcpy(&right, next, 8);
    left += right;
    memcpy(target, &left, 8);
    (*(_Atomic int *)context)++;
}

static void reductions_in_c(void) {
    static _Atomic int combined;
    uint64_t zero = 0, sum, number;
    hb_reduction sums = {"sum of values", 8, &zero, add_value, add_sums, &combined};
    hb_more_options more = {.struct_size = sizeof more, .reduction_count = 1, .reductions = &sums};
    hb_store *store;
    hb_tree tree, plain;
    OK(hb_open_with(path_of("sums.hornbeam"), NULL, &more, &store));
    hb_txn *txn = begin(store, HB_WRITE);
    OK(hb_tree_open_reduced(txn, "numbers", HB_TREE_CREATE, "sum of values", &tree));
    RESULT(hb_tree_open_reduced(txn, "others", HB_TREE_CREATE, "no such", &plain), HB_INVALID);
    plain = tree_of(txn, "plain");
    char key[16];
    for (number = 0; number < 20000; number++) {
        snprintf(key, sizeof key, "%08llu", (unsigned long long)(number * 7919 % 20000));
        uint64_t value = number * 7919 % 20000;
        OK(hb_put(txn, tree, S(key), (hb_slice){&value, 8}));
    }
    OK(hb_commit(txn));
    txn = begin(store, HB_READ);
    OK(hb_reduce(txn, tree, OPEN, OPEN, &sum, 8));
    CHECK(sum == 19999ull * 10000);
    combined = 0;
    OK(hb_reduce(txn, tree, S("00005000"), S("00015000"), &sum, 8));
    CHECK(sum == (5000ull + 14999) * 5000 && combined < 1000);
    OK(hb_reduce(txn, tree, S("5"), S("4"), &sum, 8));
    CHECK(sum == 0);
    RESULT(hb_reduce(txn, tree, OPEN, OPEN, &sum, 4), HB_INVALID);
    RESULT(hb_reduce(txn, tree, OPEN, OPEN, NULL, 8), HB_INVALID);
    RESULT(hb_reduce(txn, plain, OPEN, OPEN, &sum, 8), HB_INVALID);
    hb_abort(txn);
    OK(hb_check(store, NULL, NULL));
    OK(hb_close(store));
    // Functions under another name are another reduction, even if their values have the same size.
    sums.name = "largest value";
    OK(hb_open_with(path_of("sums.hornbeam"), NULL, &more, &store));
    txn = begin(store, HB_WRITE);
    RESULT(hb_tree_open_reduced(txn, "numbers", HB_TREE_CREATE, "largest value", &tree), HB_INVALID);
    RESULT(hb_tree_open_reduced(txn, "plain", HB_TREE_CREATE, "largest value", &tree), HB_INVALID);
    CHECK(tree == 0);
    hb_abort(txn);
    OK(hb_close(store));
    // Without the functions the tree can be read, not changed.
    OK(hb_open(path_of("sums.hornbeam"), NULL, &store));
    txn = begin(store, HB_WRITE);
    OK(hb_tree_open_reduced(txn, "numbers", 0, "sum of values", &tree));
    CHECK(count_of(txn, tree) == 20000);
    RESULT(hb_put(txn, tree, S("x"), (hb_slice){&zero, 8}), HB_UNSUPPORTED);
    hb_abort(txn);
    OK(hb_close(store));
    hb_reduction bad[] = {{NULL, 8, &zero, add_value, add_sums, NULL},  {"n", 0, &zero, add_value, add_sums, NULL},
                          {"n", 65, &zero, add_value, add_sums, NULL},  {"n", 8, NULL, add_value, add_sums, NULL},
                          {"n", 8, &zero, NULL, add_sums, NULL},        {"n", 8, &zero, add_value, NULL, NULL},
                          {"n", SIZE_MAX, &zero, add_value, add_sums, NULL}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        more.reductions = &bad[i];
        RESULT(hb_open_with(path_of("sums.hornbeam"), NULL, &more, &store), HB_INVALID);
    }
    more.reductions = NULL;
    RESULT(hb_open_with(path_of("sums.hornbeam"), NULL, &more, &store), HB_INVALID);
}

// ---- Long values in parts

static void values_in_parts(void) {
    enum { size = 3000000, part = 70001 };
    static unsigned char sent[size], got[size];
    for (size_t i = 0; i < size; i++) sent[i] = (unsigned char)(i * 31 >> 8);
    hb_store *store = file_store("parts.hornbeam");
    hb_txn *txn = begin(store, HB_WRITE);
    hb_tree tree = tree_of(txn, "t");
    hb_value *value, *other, *stale;
    OK(hb_put_begin(txn, tree, S("long"), size, &value));
    OK(hb_put_begin(txn, tree, S("short"), 5, &other));
    for (size_t at = 0; at < size; at += part) {
        size_t count = size - at < part ? size - at : part;
        OK(hb_put_more(value, (hb_slice){sent + at, count}));
        // Other entries are put meanwhile.
        OK(hb_put(txn, tree, (hb_slice){&at, sizeof at}, S("x")));
    }
    RESULT(hb_put_more(value, S("x")), HB_INVALID);
    OK(hb_put_more(other, S("abc")));
    OK(hb_put_end(value));
    RESULT(hb_put_end(value), HB_INVALID);
    RESULT(hb_put_more(value, S("x")), HB_INVALID);
    // Bytes are missing.
    RESULT(hb_put_end(other), HB_INVALID);
    CHECK(!has(txn, tree, "short", "abc"));
    OK(hb_put_begin(txn, tree, S("given up"), size, &other));
    OK(hb_put_more(other, (hb_slice){sent, 1000000}));
    hb_put_cancel(other);
    hb_put_cancel(NULL);
    OK(hb_put_begin(txn, tree, S("unfinished"), size, &stale));
    OK(hb_put_more(stale, (hb_slice){sent, size}));
    OK(hb_commit(txn));
    RESULT(hb_put_end(stale), HB_INVALID);
    hb_put_cancel(stale);

    txn = begin(store, HB_READ);
    size_t copied;
    uint64_t whole;
    for (size_t at = 0; at < size; at += part) {
        OK(hb_get_part(txn, tree, S("long"), at, got + at, part < size - at ? part : size - at, &copied, &whole));
        CHECK(copied == (part < size - at ? part : size - at) && whole == size);
    }
    CHECK(memcmp(sent, got, size) == 0);
    OK(hb_get_part(txn, tree, S("long"), size - 3, got, 10, &copied, NULL));
    CHECK(copied == 3 && memcmp(got, sent + size - 3, 3) == 0);
    OK(hb_get_part(txn, tree, S("long"), UINT64_MAX, got, 10, &copied, &whole));
    CHECK(copied == 0 && whole == size);
    OK(hb_get_part(txn, tree, S("long"), 0, NULL, 0, &copied, &whole));
    RESULT(hb_get_part(txn, tree, S("long"), 0, NULL, 1, &copied, NULL), HB_INVALID);
    RESULT(hb_get_part(txn, tree, S("long"), 0, got, SIZE_MAX, &copied, NULL), HB_INVALID);
    RESULT(hb_get_part(txn, tree, S("long"), 0, got, 1, NULL, NULL), HB_INVALID);
    RESULT(hb_get_part(txn, tree, OPEN, 0, got, 1, &copied, NULL), HB_INVALID);
    RESULT(hb_get_part(txn, tree, S("unfinished"), 0, got, 1, &copied, &whole), HB_NOT_FOUND);
    RESULT(hb_get_part(NULL, tree, S("long"), 0, got, 1, &copied, NULL), HB_INVALID);
    RESULT(hb_put_begin(txn, tree, S("k"), 5, &value), HB_READ_ONLY);
    CHECK(value == NULL);
    hb_abort(txn);
    txn = begin(store, HB_WRITE);
    RESULT(hb_put_begin(txn, tree, S("k"), UINT64_MAX, &value), HB_TOO_LARGE);
    RESULT(hb_put_begin(txn, tree, OPEN, 5, &value), HB_INVALID);
    RESULT(hb_put_begin(txn, tree + 77, S("k"), 5, &value), HB_INVALID);
    RESULT(hb_put_begin(txn, tree, S("k"), 5, NULL), HB_INVALID);
    hb_abort(txn);
    OK(hb_check(store, NULL, NULL));
    OK(hb_close(store));
}

// ---- Keys of encrypted stores

/* Whether the file has the word. Reads at most 4 MB of it. */
static int file_has(const char *path, const char *word) {
    static char bytes[4 << 20];
    FILE *file = fopen(path, "rb");
    CHECK(file != NULL);
    size_t size = file ? fread(bytes, 1, sizeof bytes, file) : 0;
    if (file) fclose(file);
    return memmem(bytes, size, word, strlen(word)) != NULL;
}

/* Makes a store with one entry under the name "marmalade". */
static void make_with(const char *path, const hb_more_options *more) {
    hb_store *store;
    OK(hb_open_with(path, NULL, more, &store));
    hb_txn *txn = begin(store, HB_WRITE);
    OK(hb_put(txn, tree_of(txn, "jars"), S("marmalade"), S("bitter oranges")));
    OK(hb_commit(txn));
    OK(hb_close(store));
}

static void opens_and_has_its_entry(const char *path, const hb_more_options *more) {
    hb_store *store;
    hb_tree tree;
    hb_slice value;
    OK(hb_open_with(path, NULL, more, &store));
    hb_txn *txn = begin(store, HB_READ);
    OK(hb_tree_open(txn, "jars", 0, &tree));
    OK(hb_get(txn, tree, S("marmalade"), &value));
    CHECK(equal(value, "bitter oranges"));
    hb_abort(txn);
    OK(hb_check(store, NULL, NULL));
    OK(hb_close(store));
}

static void keys_of_encrypted_stores(void) {
    char path[512], plain[512];
    snprintf(path, sizeof path, "%s", path_of("secret.hornbeam"));
    snprintf(plain, sizeof plain, "%s", path_of("open.hornbeam"));
    unsigned char first[32], second[32];
    memset(first, 1, sizeof first);
    memset(second, 2, sizeof second);
    hb_more_options none = {.struct_size = sizeof none};
    hb_more_options more = {.struct_size = sizeof more, .key = first, .key_size = sizeof first};
    hb_more_options other = {.struct_size = sizeof other, .key = second, .key_size = sizeof second};
    hb_more_options words = {
        .struct_size = sizeof words, .key = "four small words", .key_size = 16, .key_is_passphrase = 1};
    make_with(path, &more);
    make_with(plain, &none);
    CHECK(file_has(plain, "marmalade") && file_has(plain, "bitter oranges") && file_has(plain, "jars"));
    CHECK(!file_has(path, "marmalade") && !file_has(path, "bitter oranges") && !file_has(path, "jars"));
    opens_and_has_its_entry(path, &more);
    // The key is copied: a program may wipe its own.
    hb_store *store;
    OK(hb_open_with(path, NULL, &more, &store));
    memset(first, 0, sizeof first);
    hb_store *refused = NULL;
    RESULT(hb_rekey(store, NULL, 32, 0), HB_INVALID);
    RESULT(hb_rekey(store, second, 31, 0), HB_INVALID);
    RESULT(hb_rekey(store, second, 0, 1), HB_INVALID);
    RESULT(hb_rekey(NULL, second, 32, 0), HB_INVALID);
    hb_txn *txn = begin(store, HB_WRITE);
    RESULT(hb_rekey(store, second, 32, 0), HB_BUSY);
    hb_abort(txn);
    OK(hb_rekey(store, second, 32, 0));
    OK(hb_close(store));
    memset(first, 1, sizeof first);
    RESULT(hb_open_with(path, NULL, &more, &refused), HB_KEY);
    RESULT(hb_open_with(path, NULL, &words, &refused), HB_KEY);
    RESULT(hb_open_with(path, NULL, &none, &refused), HB_KEY);
    RESULT(hb_open(path, NULL, &refused), HB_KEY);
    CHECK(strstr(hb_error(), path) != NULL);
    RESULT(hb_open_with(plain, NULL, &more, &refused), HB_KEY);
    CHECK(refused == NULL);
    opens_and_has_its_entry(path, &other);
    OK(hb_open_with(path, NULL, &other, &store));
    OK(hb_rekey(store, words.key, words.key_size, 1));
    OK(hb_close(store));
    RESULT(hb_open_with(path, NULL, &other, &refused), HB_KEY);
    opens_and_has_its_entry(path, &words);
    OK(hb_open(plain, NULL, &store));
    RESULT(hb_rekey(store, second, 32, 0), HB_KEY);
    OK(hb_close(store));
    // No key, or one with a wrong size.
    more.key_size = 31;
    RESULT(hb_open_with(path, NULL, &more, &refused), HB_INVALID);
    more.key_size = 0;
    RESULT(hb_open_with(path, NULL, &more, &refused), HB_INVALID);
    more.key = NULL, more.key_size = 32;
    RESULT(hb_open_with(path, NULL, &more, &refused), HB_INVALID);
    words.key_size = 4097;
    RESULT(hb_open_with(path, NULL, &words, &refused), HB_INVALID);
    hb_options memory = {.struct_size = sizeof memory, .in_memory = 1};
    RESULT(hb_open_with(path, &memory, &other, &refused), HB_INVALID);
}

// ---- All of them

static const struct test tests[] = {
    TEST(any_size_of_options),
    TEST(extreme_options),
    TEST(a_store_keeps_its_page_size),
    TEST(two_stores_of_one_file),
    TEST(waiting_for_another_process),
    TEST(a_dead_process_holds_nothing),
    TEST(a_read_only_store_refuses_changes),
    TEST(slices_of_a_read_live_as_long_as_it),
    TEST(slices_of_a_write_live_until_its_next_change),
    TEST(handles_outlive_what_they_name),
    TEST(ended_reads_come_back_under_new_handles),
    TEST(more_reads_end_than_can_wait),
    TEST(tree_numbers_last_as_long_as_their_store),
    TEST(a_cursor_beyond_an_end_while_writing),
    TEST(a_cursor_shows_what_its_own_transaction_wrote),
    TEST(many_keys_at_once),
    TEST(writers_on_many_threads),
    TEST(a_write_may_end_where_it_did_not_begin),
    TEST(waiting_for_oneself_is_told),
    TEST(closing_waits_for_nobody),
    TEST(closing_races_with_beginning),
    TEST(check_and_backup_beside_a_writer),
    TEST(backups_that_cannot_be),
    TEST(a_failed_open_leaves_nothing),
    TEST(figures),
    TEST(a_store_without_a_mapping),
    TEST(savepoints),
    TEST(reductions_in_c),
    TEST(values_in_parts),
    TEST(keys_of_encrypted_stores),
};

int main(int count, char **arguments) {
    if (count < 2) {
        fprintf(stderr, "usage: %s FOLDER [TEST]\n", arguments[0]);
        return 2;
    }
    folder = arguments[1];
    return run_tests(tests, sizeof tests / sizeof tests[0], count > 2 ? arguments[2] : NULL);
}
