// SPDX-License-Identifier: Apache-2.0
// The machine's effects on a store: limits of the process, other processes, fork, a file cut off from outside. Each has
// a result, none a signal. Runs in a folder given on the command line; prints "N passed, M failed" last.

#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "checks.h"

static void pause_ms(long milliseconds) {
    nanosleep(&(struct timespec){milliseconds / 1000, milliseconds % 1000 * 1000000}, NULL);
}

// Runs `body` in a child. Returns its exit status, or minus the signal that ended it. A failed check makes it 1.
static int in_child(void (*body)(void)) {
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        alarm(30);
        failed_checks = 0;
        body();
        _exit(failed_checks ? 1 : 0);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void limit(int resource, rlim_t value) {
    struct rlimit limits;
    CHECK(getrlimit((__rlimit_resource_t)resource, &limits) == 0);
    limits.rlim_cur = value;
    CHECK(setrlimit((__rlimit_resource_t)resource, &limits) == 0);
}

static char large[200000];

// ---- Limits of the process

static void fill_up_to_a_limit(void) {
    hb_store *store = file_store("limited.hornbeam");
    hb_tree tree = letters(store, "abc");
    limit(RLIMIT_FSIZE, 4 << 20);
    int result = HB_OK;
    uint32_t number = 0;
    while (result == HB_OK && number < 1000) {
        hb_txn *txn = begin(store, HB_WRITE);
        result = hb_put(txn, tree, (hb_slice){&number, sizeof number}, (hb_slice){large, sizeof large});
        if (result == HB_OK) {
            result = hb_commit(txn);
        } else {
            hb_abort(txn);
        }
        if (result == HB_OK) number++;
    }
    CHECK(result == HB_FULL || result == HB_IO);
    hb_txn *txn = begin(store, HB_READ);
    CHECK(has(txn, tree, "b", "b") && count_of(txn, tree) == 3 + number);
    hb_abort(txn);
    // With space again, the same handle works.
    limit(RLIMIT_FSIZE, RLIM_INFINITY);
    txn = begin(store, HB_WRITE);
    OK(hb_put(txn, tree, S("after"), (hb_slice){large, sizeof large}));
    OK(hb_commit(txn));
    OK(hb_check(store, NULL, NULL));
    OK(hb_close(store));
}

static void a_file_may_not_grow(void) { CHECK(in_child(fill_up_to_a_limit) == 0); }

static void open_in_little_address_space(void) {
    limit(RLIMIT_AS, 400 << 20);
    hb_store *store = NULL;
    int result = hb_open(path_of("narrow.hornbeam"), NULL, &store);
    CHECK(result == HB_OK || result == HB_IO || result == HB_UNSUPPORTED);
    if (result != HB_OK) return;
    hb_tree tree = letters(store, "abc");
    hb_txn *txn = begin(store, HB_WRITE);
    for (uint32_t i = 0; i < 50; i++) OK(hb_put(txn, tree, (hb_slice){&i, sizeof i}, (hb_slice){large, sizeof large}));
    OK(hb_commit(txn));
    OK(hb_check(store, NULL, NULL));
    OK(hb_close(store));
}

static void little_address_space(void) { CHECK(in_child(open_in_little_address_space) == 0); }

static void open_without_descriptors(void) {
    hb_store *store = file_store("few.hornbeam");
    OK(hb_close(store));
    limit(RLIMIT_NOFILE, 3);
    RESULT(hb_open(path_of("few.hornbeam"), NULL, &store), HB_IO);
    RESULT(hb_open(path_of("few new.hornbeam"), NULL, &store), HB_IO);
    limit(RLIMIT_NOFILE, 64);
    OK(hb_open(path_of("few.hornbeam"), NULL, &store));
    limit(RLIMIT_NOFILE, 3);
    // An open store needs no further descriptor to commit.
    letters(store, "abc");
    CHECK(hb_backup(store, path_of("few copy")) == HB_IO);
    limit(RLIMIT_NOFILE, 64);
    OK(hb_close(store));
}

static void few_descriptors(void) { CHECK(in_child(open_without_descriptors) == 0); }

// ---- fork

static hb_store *shared;
static hb_tree shared_tree;

static void use_what_the_parent_opened(void) {
    hb_txn *txn = NULL;
    RESULT(hb_begin(shared, HB_READ, &txn), HB_INVALID);
    RESULT(hb_begin(shared, HB_WRITE, &txn), HB_INVALID);
    RESULT(hb_begin(shared, HB_WRITE | HB_NOWAIT, &txn), HB_INVALID);
    CHECK(hb_checkpoint(shared) == HB_INVALID);
    CHECK(strlen(hb_error()) > 10);
    (void)hb_close(shared);
    // Its own stores work, and the parent's file is the parent's.
    hb_store *own = file_store("childs own.hornbeam"), *parents;
    letters(own, "xyz");
    OK(hb_close(own));
    RESULT(hb_open(path_of("forked.hornbeam"), NULL, &parents), HB_BUSY);
}

static void a_child_refuses_its_parents_store(void) {
    shared = file_store("forked.hornbeam");
    shared_tree = letters(shared, "abc");
    hb_txn *txn = begin(shared, HB_WRITE);
    OK(hb_put(txn, shared_tree, S("d"), S("d")));
    CHECK(in_child(use_what_the_parent_opened) == 0);
    // The parent's store is unchanged.
    OK(hb_put(txn, shared_tree, S("e"), S("e")));
    OK(hb_commit(txn));
    hb_store *second;
    CHECK(hb_open(path_of("forked.hornbeam"), NULL, &second) == HB_BUSY);
    OK(hb_check(shared, NULL, NULL));
    OK(hb_close(shared));
    shared = file_store("forked.hornbeam");
    txn = begin(shared, HB_READ);
    OK(hb_tree_open(txn, "t", 0, &shared_tree));
    CHECK(count_of(txn, shared_tree) == 5);
    hb_abort(txn);
    OK(hb_close(shared));
}

static hb_txn *ended_reads[3];

static void use_what_the_parent_will_read_again(void) {
    hb_txn *txn = (hb_txn *)&txn;
    hb_slice value;
    for (int i = 0; i < 3; i++) {
        RESULT(hb_get(ended_reads[i], shared_tree, S("a"), &value), HB_INVALID);
        RESULT(hb_begin(shared, HB_READ, &txn), HB_INVALID);
        CHECK(txn == NULL);
        hb_abort(ended_reads[i]);
    }
    RESULT(hb_begin(shared, HB_WRITE, &txn), HB_INVALID);
    // Nothing is open in the store, so that closing isn't refused for that reason.
    RESULT(hb_close(shared), HB_INVALID);
    CHECK(strstr(hb_error(), "fork") != NULL);
    hb_store *parents;
    RESULT(hb_open(path_of("reads.hornbeam"), NULL, &parents), HB_BUSY);
    RESULT(hb_begin(shared, HB_READ, &txn), HB_INVALID);
}

static void a_child_refuses_its_parents_ended_reads(void) {
    shared = file_store("reads.hornbeam");
    shared_tree = letters(shared, "abc");
    for (int i = 0; i < 3; i++) ended_reads[i] = begin(shared, HB_READ);
    for (int i = 0; i < 3; i++) {
        CHECK(has(ended_reads[i], shared_tree, "b", "b"));
        hb_abort(ended_reads[i]);
    }
    CHECK(in_child(use_what_the_parent_will_read_again) == 0);
    // The parent's ended reads can still be reused, and see the commit.
    hb_txn *reads[3], *write = begin(shared, HB_WRITE);
    for (int i = 0; i < 3; i++) {
        reads[i] = begin(shared, HB_READ);
        CHECK(has(reads[i], shared_tree, "b", "b") && count_of(reads[i], shared_tree) == 3);
    }
    OK(hb_put(write, shared_tree, S("d"), S("d")));
    OK(hb_commit(write));
    for (int i = 0; i < 3; i++) {
        CHECK(count_of(reads[i], shared_tree) == 3);
        hb_abort(reads[i]);
        reads[i] = begin(shared, HB_READ);
        CHECK(has(reads[i], shared_tree, "d", "d"));
    }
    for (int i = 0; i < 3; i++) hb_abort(reads[i]);
    OK(hb_check(shared, NULL, NULL));
    OK(hb_close(shared));
}

// ---- A file that somebody else changes

static void read_a_file_that_was_cut(void) {
    hb_store *store = file_store("cut.hornbeam");
    hb_txn *txn = begin(store, HB_WRITE);
    hb_tree tree = tree_of(txn, "t");
    for (uint32_t i = 0; i < 200; i++) OK(hb_put(txn, tree, (hb_slice){&i, sizeof i}, (hb_slice){large, 20000}));
    OK(hb_commit(txn));
    OK(hb_close(store));
    OK(hb_open(path_of("cut.hornbeam"), NULL, &store));
    CHECK(truncate(path_of("cut.hornbeam"), 64 << 10) == 0);
    txn = begin(store, HB_READ);
    int errors = 0;
    if (hb_tree_open(txn, "t", 0, &tree) == HB_OK) {
        for (uint32_t i = 0; i < 200; i++) {
            hb_slice value;
            int result = hb_get(txn, tree, (hb_slice){&i, sizeof i}, &value);
            CHECK(result == HB_OK || result == HB_IO || result == HB_CORRUPT);
            errors += result != HB_OK;
        }
    } else {
        errors++;
    }
    CHECK(errors > 0);
    hb_abort(txn);
    CHECK(hb_check(store, NULL, NULL) != HB_OK);
    (void)hb_close(store);
}

static void a_file_cut_off_under_a_store(void) { CHECK(in_child(read_a_file_that_was_cut) == 0); }

static void a_deleted_file(void) {
    hb_store *store = file_store("deleted.hornbeam");
    hb_tree tree = letters(store, "abc");
    CHECK(unlink(path_of("deleted.hornbeam")) == 0);
    hb_txn *txn = begin(store, HB_WRITE);
    OK(hb_put(txn, tree, S("d"), S("d")));
    OK(hb_commit(txn));
    OK(hb_close(store));
    CHECK(access(path_of("deleted.hornbeam"), F_OK) != 0);
}

// ---- Readers in other processes

enum { ACCOUNTS = 50, TOTAL = 1000 * ACCOUNTS };

// Returns the sum of all accounts, which no transaction changes, or -1 if they can't be read.
static int64_t sum_of(hb_store *store) {
    hb_txn *txn;
    hb_tree tree;
    hb_cursor *cursor;
    hb_slice key, value;
    int64_t sum = 0, number;
    if (hb_begin(store, HB_READ, &txn) != HB_OK) return -1;
    if (hb_tree_open(txn, "accounts", 0, &tree) != HB_OK || hb_cursor_open(txn, tree, &cursor) != HB_OK) return -1;
    while (hb_cursor_next(cursor) == HB_OK && hb_cursor_entry(cursor, &key, &value) == HB_OK) {
        memcpy(&number, value.data, sizeof number);
        sum += number;
    }
    hb_cursor_close(cursor);
    hb_abort(txn);
    return sum;
}

static void make_accounts(hb_store *store) {
    hb_txn *txn = begin(store, HB_WRITE);
    hb_tree tree = tree_of(txn, "accounts");
    int64_t balance = 1000;
    for (uint32_t i = 0; i < ACCOUNTS; i++) {
        OK(hb_put(txn, tree, (hb_slice){&i, sizeof i}, (hb_slice){&balance, sizeof balance}));
    }
    OK(hb_commit(txn));
}

static void move_money(hb_store *store, uint32_t round) {
    hb_txn *txn = begin(store, HB_WRITE);
    hb_tree tree;
    OK(hb_tree_open(txn, "accounts", 0, &tree));
    OK(hb_durability(txn, round % 3 ? HB_DURABLE_FULL : HB_DURABLE_NONE));
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t account = (round * 7 + i * 13) % ACCOUNTS;
        int64_t balance;
        hb_slice value;
        OK(hb_get(txn, tree, (hb_slice){&account, sizeof account}, &value));
        memcpy(&balance, value.data, sizeof balance);
        balance += i % 2 ? 10 : -10;
        OK(hb_put(txn, tree, (hb_slice){&account, sizeof account}, (hb_slice){&balance, sizeof balance}));
    }
    OK(hb_commit(txn));
    if (round % 50 == 49) OK(hb_checkpoint(store));
}

static void keep_reading(void) {
    hb_store *store;
    hb_options options = {.struct_size = sizeof options, .read_only = 1, .lock_wait_ms = 5000};
    OK(hb_open(path_of("bank.hornbeam"), &options, &store));
    int64_t sum = TOTAL;
    for (int i = 0; i < 300 && sum == TOTAL; i++) sum = sum_of(store);
    CHECK(sum == TOTAL);
    OK(hb_close(store));
}

static void other_processes_read_beside_a_writer(void) {
    hb_store *store = file_store("bank.hornbeam");
    make_accounts(store);
    pid_t readers[3];
    for (int i = 0; i < 3; i++) {
        fflush(NULL);
        if ((readers[i] = fork()) == 0) {
            alarm(30);
            failed_checks = 0;
            keep_reading();
            _exit(failed_checks ? 1 : 0);
        }
    }
    for (uint32_t round = 0; round < 400; round++) move_money(store, round);
    // A reader that dies holds nothing.
    pause_ms(5);
    kill(readers[2], SIGKILL);
    for (uint32_t round = 0; round < 200; round++) move_money(store, round);
    for (int i = 0; i < 3; i++) {
        int status = 0;
        waitpid(readers[i], &status, 0);
        if (i < 2) CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    CHECK(sum_of(store) == TOTAL);
    OK(hb_check(store, NULL, NULL));
    OK(hb_close(store));
}

static void write_until_killed(void) {
    hb_store *store;
    OK(hb_open(path_of("bank.hornbeam"), NULL, &store));
    for (uint32_t round = 0; failed_checks == 0; round++) move_money(store, round);
}

static void a_dead_writer_blocks_nobody(void) {
    for (int round = 0; round < 5; round++) {
        fflush(NULL);
        pid_t writer = fork();
        if (writer == 0) {
            alarm(30);
            failed_checks = 0;
            write_until_killed();
            _exit(1);
        }
        pause_ms(40 + 17 * round);
        hb_store *reader = NULL;
        hb_options options = {.struct_size = sizeof options, .read_only = 1};
        OK(hb_open(path_of("bank.hornbeam"), &options, &reader));
        CHECK(sum_of(reader) == TOTAL);
        kill(writer, SIGKILL);
        waitpid(writer, NULL, 0);
        CHECK(sum_of(reader) == TOTAL);
        OK(hb_close(reader));
        // A file whose writer died can be read before anyone recovers it.
        OK(hb_open(path_of("bank.hornbeam"), &options, &reader));
        CHECK(sum_of(reader) == TOTAL);
        OK(hb_close(reader));
    }
    hb_store *store = file_store("bank.hornbeam");
    CHECK(sum_of(store) == TOTAL);
    OK(hb_check(store, NULL, NULL));
    OK(hb_close(store));
}

// ---- All of them

static const struct test tests[] = {
    TEST(a_file_may_not_grow),
    TEST(little_address_space),
    TEST(few_descriptors),
    TEST(a_child_refuses_its_parents_store),
    TEST(a_child_refuses_its_parents_ended_reads),
    TEST(a_file_cut_off_under_a_store),
    TEST(a_deleted_file),
    TEST(other_processes_read_beside_a_writer),
    TEST(a_dead_writer_blocks_nobody),
};

int main(int count, char **arguments) {
    if (count < 2) {
        fprintf(stderr, "usage: %s FOLDER [TEST]\n", arguments[0]);
        return 2;
    }
    folder = arguments[1];
    setenv("SWIFT_BACKTRACE", "enable=no", 1);
    return run_tests(tests, sizeof tests / sizeof tests[0], count > 2 ? arguments[2] : NULL);
}
