// SPDX-License-Identifier: Apache-2.0
// The library's system calls, and the calls that wait for them: one write-through for a durable commit and no other
// sync, none for reads, one for many commits at once. While one is in progress, readers see the former state, and no
// other call waits without need.

#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "trial.h"
#include "workload.h"

static uint32_t passed, failed;

static void check(bool condition, int line, const char *what) {
    condition ? passed++ : failed++;
    if (!condition) fprintf(stderr, "FAILED: line %d: %s (hb_error: %s)\n", line, what, hb_error());
}
#define CHECK(condition) check(condition, __LINE__, #condition)
#define OK(call) CHECK((call) == HB_OK)

static hb_store *store;
static hb_tree tree;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void put(uint32_t number, uint32_t durability) {
    hb_txn *txn;
    hb_slice key = {&number, sizeof number};
    OK(hb_begin(store, HB_WRITE, &txn));
    OK(hb_durability(txn, durability));
    OK(hb_put(txn, tree, key, key));
    OK(hb_commit(txn));
}

static bool has(uint32_t number) {
    hb_txn *txn;
    hb_slice value;
    OK(hb_begin(store, HB_READ, &txn));
    int result = hb_get(txn, tree, (hb_slice){&number, sizeof number}, &value);
    hb_abort(txn);
    return result == HB_OK;
}

static uint32_t syncs(void) { return outside_calls(CALL_FDATASYNC) + outside_calls(CALL_FSYNC); }

static uint32_t all_calls(void) {
    uint32_t sum = 0;
    for (uint32_t call = 0; call < CALL_COUNT; call++) sum += outside_calls(call);
    return sum;
}

// ---- How many

static void put_full(void) {
    for (uint32_t i = 0; i < 50; i++) put(i, HB_DURABLE_FULL);
}

static void put_less(void) {
    for (uint32_t i = 0; i < 50; i++) put(100 + i, i % 2 ? HB_DURABLE_NONE : HB_DURABLE_PROCESS);
}

static void put_one(void) { put(200, HB_DURABLE_FULL); }

/// Counts the calls of `work`. If the disk delays commits for a second, a background checkpoint adds syncs of its
/// own: then `work` is repeated.
static void count(void (*work)(void)) {
    for (int attempt = 0; attempt < 5; attempt++) {
        outside_arm(NULL);
        work();
        if (syncs() == 0) return;
    }
}

/// The journal of a new store is so small that it fills up several times, until it has grown with the commits.
static void grow_journal(void) {
    hb_figures figures = {.struct_size = sizeof figures};
    for (int round = 0; round < 100; round++) {
        put_full();
        if (hb_figures_of(store, &figures) != HB_OK || figures.journal_capacity_bytes >= 1 << 20) return;
    }
}

static void one_write_through_a_commit(void) {
    grow_journal();
    count(put_full);
    CHECK(outside_calls(CALL_PWRITEV2) == 50 && syncs() == 0);
    count(put_less);
    CHECK(outside_calls(CALL_PWRITEV2) == 0 && syncs() == 0);
    count(put_one);
    CHECK(outside_calls(CALL_PWRITEV2) == 1 && syncs() == 0);
    // There is nothing to make durable.
    hb_txn *txn;
    outside_arm(NULL);
    OK(hb_begin(store, HB_WRITE, &txn));
    OK(hb_commit(txn));
    OK(hb_begin(store, HB_WRITE, &txn));
    hb_abort(txn);
    CHECK(outside_calls(CALL_PWRITEV2) == 0 && syncs() == 0);
}

static void reads_make_no_calls(void) {
    outside_arm(NULL);
    for (uint32_t i = 0; i < 50; i++) CHECK(has(i));
    uint64_t digest;
    OK(digest_of(store, &digest));
    CHECK(all_calls() == 0);
}

static void *put_many(void *first) {
    for (uint32_t i = 0; i < 20; i++) put((uint32_t)(uintptr_t)first + i, HB_DURABLE_FULL);
    return NULL;
}

static void many_commits_share_a_write_through(void) {
    pthread_t threads[8];
    outside_arm(NULL);
    outside_slow(3);
    for (uintptr_t i = 0; i < 8; i++) pthread_create(&threads[i], NULL, put_many, (void *)(1000 + 100 * i));
    for (int i = 0; i < 8; i++) pthread_join(threads[i], NULL);
    outside_slow(0);
    CHECK(outside_calls(CALL_PWRITEV2) < 8 * 20 / 2);
    for (uint32_t i = 0; i < 8; i++) CHECK(has(1000 + 100 * i) && has(1019 + 100 * i));
}

// ---- Who waits

static void *put_slowly(void *number) {
    put((uint32_t)(uintptr_t)number, HB_DURABLE_FULL);
    return NULL;
}

static void the_next_runs_while_one_is_being_synced(void) {
    pthread_t thread;
    hb_txn *txn;
    uint32_t next = 5001;
    hb_slice key = {&next, sizeof next}, value;
    outside_arm(NULL);
    outside_slow(2000);
    pthread_create(&thread, NULL, put_slowly, (void *)5000);
    while (outside_calls(CALL_PWRITEV2) == 0) usleep(1000);
    double start = now();
    // Its write-through is in progress: no other thread may see it.
    CHECK(!has(5000));
    OK(hb_begin(store, HB_WRITE, &txn));
    // But the next writer sees it.
    uint32_t former = 5000;
    OK(hb_get(txn, tree, (hb_slice){&former, sizeof former}, &value));
    OK(hb_put(txn, tree, key, key));
    CHECK(now() - start < 1.5);
    OK(hb_commit(txn));
    CHECK(now() - start > 1.5);
    CHECK(has(5000) && has(5001));
    pthread_join(thread, NULL);
    outside_slow(0);
}

static int run(void *context) {
    const struct settings *settings = context;
    const char *folder = fresh_folder(settings, "calls");
    outside_watch(folder);
    hb_txn *txn;
    OK(hb_open(path_in(folder, "store"), NULL, &store));
    OK(hb_begin(store, HB_WRITE, &txn));
    OK(hb_tree_open(txn, "t", HB_TREE_CREATE, &tree));
    OK(hb_commit(txn));
    one_write_through_a_commit();
    reads_make_no_calls();
    many_commits_share_a_write_through();
    the_next_runs_while_one_is_being_synced();
    OK(hb_close(store));
    printf("calls: %u passed, %u failed\n", passed, failed);
    return failed != 0;
}

int test_calls(const struct settings *settings) {
    int status = in_child(run, (void *)settings, 60);
    if (status < 0) fprintf(stderr, "FAILED: calls: signal %d\n", -status);
    return status != 0;
}
