// SPDX-License-Identifier: Apache-2.0
// Random lives of a store. A change is made in the store and in a copy of the model; the copy becomes the model when
// the commit has succeeded. The expected content never comes from the store.

#define _GNU_SOURCE
#include "workload.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "preload.h"

const struct shape shapes[] = {
    {.name = "single puts", .transactions = 40, .changes = 1, .largest = 300},
    {.name = "batches", .transactions = 14, .changes = 60, .largest = 3000, .aborts = 15, .checkpoints = 15},
    {.name = "durabilities", .transactions = 50, .changes = 6, .largest = 500, .lesser = 60, .checkpoints = 4},
    {.name = "large transactions", .transactions = 8, .changes = 30, .largest = 40000, .wholesale = 50, .lesser = 20},
    {.name = "long values", .transactions = 10, .changes = 8, .largest = 150000, .checkpoints = 20},
    {.name = "reopenings", .transactions = 16, .changes = 20, .largest = 2000, .reopenings = 40, .lesser = 20},
    {.name = "backups", .transactions = 8, .changes = 30, .largest = 2000, .backups = 30},
    {.name = "compaction", .transactions = 10, .changes = 60, .largest = 20000, .compactions = 30, .checkpoints = 10},
    {.name = "several writers", .transactions = 12, .changes = 5, .largest = 300, .threads = 4, .lesser = 20},
    {.name = "killed", .transactions = 12, .changes = 20, .largest = 1500, .lesser = 30, .is_left_open = true},
};
const unsigned shape_count = sizeof shapes / sizeof shapes[0];

void say_problem(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fputs("  ", stderr);
    vfprintf(stderr, format, arguments);
    fprintf(stderr, " (hb_error: %s)\n", hb_error());
    va_end(arguments);
}

// ---- Numbers and bytes

uint64_t mix(uint64_t value) {
    value ^= value >> 31;
    value *= 0x9E3779B97F4A7C15;
    value ^= value >> 29;
    value *= 0xBF58476D1CE4E5B9;
    return value ^ value >> 32;
}

static uint64_t hash(const void *bytes, size_t count, uint64_t seed) {
    const unsigned char *next = bytes;
    uint64_t result = mix(seed ^ count), word = 0;
    for (; count >= 8; next += 8, count -= 8) {
        memcpy(&word, next, 8);
        result = mix(result ^ word);
    }
    word = 0;
    memcpy(&word, next, count);
    return mix(result ^ word);
}

static uint32_t below(struct life *life, uint32_t bound) {
    life->random = life->random * 6364136223846793005 + 1442695040888963407;
    return bound ? (uint32_t)((life->random >> 33) % bound) : 0;
}

static bool chance(struct life *life, uint32_t percent) { return below(life, 100) < percent; }

static const char *const tree_names[TREES] = {"alpha", "beta", "gamma", "δ"};

static hb_slice key_of(uint32_t tree, uint32_t index, char *buffer) {
    int size = sprintf(buffer, "%c%05u", 'a' + (int)(index % 3), index);
    // Some trees have long common prefixes, some entries long keys.
    if (tree == 1) size = sprintf(buffer, "a prefix that every key has/%05u", index);
    if (index % 11 == 0) {
        memset(buffer + size, 'x', 200);
        size += 200;
    }
    return (hb_slice){buffer, (size_t)size};
}

// The size of a value is part of its version, so that the model need not keep it.
static uint32_t size_of_version(uint32_t version) { return version & 0x3FFFF; }

static void fill(unsigned char *bytes, uint32_t tree, uint32_t index, uint32_t version) {
    uint64_t state = mix(version * 31ull + index * 7ull + tree);
    uint32_t size = size_of_version(version);
    for (uint32_t i = 0; i < size; i++) {
        // Half of it is compressible.
        if (i % 16 == 0) state = mix(state + i);
        bytes[i] = i % 16 < 8 ? (unsigned char)(state >> 8 * (i % 8)) : (unsigned char)('a' + i % 16);
    }
}

static uint64_t tree_digest(const char *name) { return hash(name, strlen(name), 1); }

static uint64_t entry_digest(const char *name, hb_slice key, hb_slice value) {
    return hash(value.data, value.size, hash(key.data, key.size, tree_digest(name)));
}

static void set_entry(struct model *model, uint32_t tree, uint32_t index, uint32_t version, uint64_t digest) {
    model->digest += digest - model->entry_digest[tree][index];
    model->entry_digest[tree][index] = digest;
    model->version[tree][index] = version;
}

// ---- Changes

// Returns whether a result is the expected one, or an error that a fault explains.
static bool is_fine(struct life *life, int result, int expected, const char *what) {
    if (result == expected) return true;
    // To an opener, a file system whose locks fail is one without locks; other calls don't use locks.
    bool is_unlockable = result == HB_UNSUPPORTED && strcmp(what, "hb_open") == 0;
    bool is_error = result == HB_IO || result == HB_FULL || result == HB_FAILED || result == HB_BUSY || is_unlockable;
    life->has_failed = true;
    if (!(life->fails_are_fine && is_error) || life->never_fails || (life->goes_on && result == HB_FAILED)) {
        say_problem("%s gave %d, not %d", what, result, expected);
        life->problems++;
    }
    return false;
}

static bool open_tree(struct life *life, hb_txn *txn, uint32_t tree, struct model *model, hb_tree *number) {
    uint32_t flags = HB_TREE_CREATE | (tree == 2 ? HB_TREE_LZ4 : 0);
    int result = hb_tree_open(txn, tree_names[tree], flags, number);
    if (!is_fine(life, result, HB_OK, "hb_tree_open")) return false;
    if (!model->exists[tree]) model->digest += tree_digest(tree_names[tree]);
    model->exists[tree] = true;
    return true;
}

static bool put(struct life *life, hb_txn *txn, uint32_t tree, hb_tree number, uint32_t index, struct model *model) {
    static _Thread_local unsigned char *bytes;
    if (!bytes) bytes = malloc(1 << 18);
    if (!bytes) return false;
    char buffer[300];
    uint32_t largest = below(life, 10) ? (life->shape->largest < 200 ? life->shape->largest : 200) : life->shape->largest;
    uint32_t version = (below(life, 1 << 13) + 1) << 18 | below(life, largest + 1);
    hb_slice key = key_of(tree, index, buffer), value = {bytes, size_of_version(version)};
    fill(bytes, tree, index, version);
    if (!is_fine(life, hb_put(txn, number, key, value), HB_OK, "hb_put")) return false;
    set_entry(model, tree, index, version, entry_digest(tree_names[tree], key, value));
    return true;
}

static bool delete_range(struct life *life, hb_txn *txn, uint32_t tree, hb_tree number, struct model *model) {
    // Tree 1 has its keys in the order of their indexes.
    if (tree != 1) return true;
    char first[300], second[300];
    uint32_t from = below(life, KEYS), to = from + below(life, 40);
    if (to >= KEYS) to = KEYS - 1;
    uint64_t deleted = 0, expected = 0;
    int result = hb_delete_range(txn, number, key_of(tree, from, first), key_of(tree, to, second), &deleted);
    if (!is_fine(life, result, HB_OK, "hb_delete_range")) return false;
    for (uint32_t i = from; i < to; i++) {
        expected += model->version[tree][i] != 0;
        set_entry(model, tree, i, 0, 0);
    }
    if (deleted == expected) return true;
    say_problem("hb_delete_range deleted %llu, not %llu", (unsigned long long)deleted, (unsigned long long)expected);
    life->problems++;
    return false;
}

static bool drop(struct life *life, hb_txn *txn, uint32_t tree, struct model *model) {
    if (!is_fine(life, hb_tree_drop(txn, tree_names[tree]), HB_OK, "hb_tree_drop")) return false;
    for (uint32_t i = 0; i < KEYS; i++) set_entry(model, tree, i, 0, 0);
    model->digest -= tree_digest(tree_names[tree]);
    model->exists[tree] = false;
    return true;
}

static bool change(struct life *life, hb_txn *txn, struct model *model) {
    uint32_t tree = below(life, TREES), index = below(life, KEYS), kind = below(life, 100);
    hb_tree number;
    if (!open_tree(life, txn, tree, model, &number)) return false;
    if (kind < 65) return put(life, txn, tree, number, index, model);
    if (kind == 99 && life->shape->changes > 1) return drop(life, txn, tree, model);
    if (kind > 92) return delete_range(life, txn, tree, number, model);
    char buffer[300];
    int expected = model->version[tree][index] ? HB_OK : HB_NOT_FOUND;
    if (!is_fine(life, hb_delete(txn, number, key_of(tree, index, buffer)), expected, "hb_delete")) return false;
    set_entry(model, tree, index, 0, 0);
    return true;
}

// Makes some changes inside a savepoint, half of the time undone; always if they failed midway. Returns false if the
// transaction can't continue.
static bool change_with_savepoint(struct life *life, hb_txn *txn, struct model *model) {
    static _Thread_local struct model kept;
    hb_savepoint savepoint;
    kept = *model;
    if (!is_fine(life, hb_save(txn, &savepoint), HB_OK, "hb_save")) return false;
    bool is_whole = true;
    for (uint32_t count = 1 + below(life, 20); count > 0 && is_whole; count--) is_whole = change(life, txn, model);
    if (is_whole && below(life, 2)) return is_fine(life, hb_release(txn, savepoint), HB_OK, "hb_release");
    *model = kept;
    return is_fine(life, hb_rollback(txn, savepoint), HB_OK, "hb_rollback");
}

// ---- Transactions

static void note_mark(enum mark mark, uint64_t first, uint64_t second, uint64_t third) {
    if (outside_mark) outside_mark(mark, first, second, third);
}

// After a commit that wasn't acknowledged: nothing of it is visible, or its outcome is known after reopening.
static void note_failure(struct life *life, int result, const struct model *after) {
    bool is_unknown = result == HB_FAILED;
    note_mark(MARK_FAILED, life->commits + 1, is_unknown, 0);
    if (is_unknown) {
        life->past[(life->commits + 1) % PAST] = *after;
        life->is_uncertain = true;
        return;
    }
    uint64_t digest;
    if (!is_fine(life, digest_of(life->store, &digest), HB_OK, "reading all") || digest == life->model.digest) return;
    say_problem("after a commit that failed with %d the store is another one", result);
    life->problems++;
}

// False: the life can't go on with this handle.
static bool transact(struct life *life) {
    static _Thread_local struct model after;
    hb_txn *txn;
    if (!is_fine(life, hb_begin(life->store, HB_WRITE, &txn), HB_OK, "hb_begin")) return false;
    after = life->model;
    uint32_t durability = chance(life, life->shape->lesser) ? 1 + below(life, 2) : HB_DURABLE_FULL;
    if (durability) is_fine(life, hb_durability(txn, durability), HB_OK, "hb_durability");
    uint32_t changes = 1 + below(life, life->shape->changes);
    if (chance(life, life->shape->wholesale)) changes *= 20;
    bool is_whole = true;
    for (uint32_t i = 0; i < changes && is_whole; i++) {
        bool is_inside = life->shape->changes > 1 && below(life, 30) == 0;
        is_whole = is_inside ? change_with_savepoint(life, txn, &after) : change(life, txn, &after);
    }
    if (!is_whole || chance(life, life->shape->aborts)) {
        hb_abort(txn);
        return true;
    }
    uint64_t number = life->commits + 1;
    note_mark(MARK_COMMITTING, number, after.digest, durability);
    if (life->shape->threads > 1) {
        // The next writer builds on this commit, acknowledged or not.
        life->commits = number;
        life->past[number % PAST] = life->model = after;
    }
    int result = hb_commit(txn);
    if (!is_fine(life, result, HB_OK, "hb_commit")) {
        note_failure(life, result, &after);
        return result != HB_FAILED;
    }
    note_mark(MARK_COMMITTED, number, durability, 0);
    if (life->shape->threads <= 1) {
        life->commits = number;
        life->past[number % PAST] = life->model = after;
        if (durability != HB_DURABLE_NONE) life->in_process = number;
    }
    return true;
}

// After a failure the newest commits may be gone, but none before `in_process`; which, the store says now.
static bool find_state(struct life *life, uint64_t digest) {
    uint64_t newest = life->commits + life->is_uncertain;
    uint64_t oldest = life->has_failed ? life->in_process : life->commits;
    for (uint64_t number = newest + 1; number-- > oldest;) {
        if (life->past[number % PAST].digest != digest) continue;
        life->model = life->past[number % PAST];
        life->commits = life->in_process = number;
        return true;
    }
    return false;
}

bool open_store(struct life *life) {
    // Small pages make deep trees; a small limit makes many checkpoints.
    hb_options options = {.struct_size = sizeof options, .page_size = 4096, .checkpoint_bytes = 96 << 10};
    // Sometimes with hardly any memory, so that transactions spill, and without a mapping.
    hb_more_options more = {.struct_size = sizeof more, .unmapped = below(life, 3) == 0};
    if (below(life, 2)) options.cache_bytes = 256 << 10;
    int result = hb_open_with(life->path, &options, &more, &life->store);
    if (!is_fine(life, result, HB_OK, "hb_open")) return false;
    uint64_t digest = 0;
    if (!is_fine(life, digest_of(life->store, &digest), HB_OK, "reading all")) {
        hb_close(life->store);
        return false;
    }
    if (!find_state(life, digest)) {
        say_problem("after opening the store is not as it was committed last");
        life->problems++;
    }
    life->is_uncertain = life->has_failed = false;
    note_mark(MARK_OPENED, life->commits, 0, 0);
    return true;
}

static bool reopen(struct life *life) {
    int result = hb_close(life->store);
    bool is_closed = is_fine(life, result, HB_OK, "hb_close");
    if (result == HB_BUSY) return false;
    if (is_closed) note_mark(MARK_DURABLE, life->commits, 0, 0);
    life->store = NULL;
    // A fault may meet the opening too; it passes.
    for (int attempt = 0; attempt < 4; attempt++) {
        if (open_store(life)) return true;
        if (!life->fails_are_fine) return false;
    }
    life->store = NULL;
    say_problem("the store does not open any more");
    life->problems++;
    return false;
}

// Makes an operation that comes between transactions.
static void look_after(struct life *life) {
    if (chance(life, life->shape->checkpoints) &&
        is_fine(life, hb_checkpoint(life->store), HB_OK, "hb_checkpoint")) {
        note_mark(MARK_DURABLE, life->commits, 0, 0);
        life->in_process = life->commits;
    }
    if (chance(life, life->shape->compactions)) {
        int result = hb_compact(life->store);
        if (is_fine(life, result, HB_OK, "hb_compact")) note_mark(MARK_DURABLE, life->commits, 0, 0);
    }
    if (chance(life, life->shape->backups)) {
        note_mark(MARK_COPYING, life->commits, 0, 0);
        unlink(life->copy_path);
        int result = hb_backup(life->store, life->copy_path);
        // The fault may have met our own unlink.
        bool is_taken = result == HB_EXISTS && life->fails_are_fine;
        if (!is_taken && is_fine(life, result, HB_OK, "hb_backup")) note_mark(MARK_COPIED, life->commits, 0, 0);
    }
}

// ---- Lives

static void live_alone(struct life *life) {
    uint32_t failures = 0;
    for (uint32_t i = 0; i < life->shape->transactions && failures < 3; i++) {
        bool goes_on = transact(life);
        if (!goes_on) {
            failures++;
            if (!reopen(life)) return;
        }
        look_after(life);
        if (chance(life, life->shape->reopenings) && !reopen(life)) return;
    }
}

struct writer {
    pthread_t thread;
    struct life *life;
    uint64_t random;
};

// One of several writers. The transaction's turn guards the life: it is touched between hb_begin and hb_commit alone.
static void *write_beside_others(void *argument) {
    struct writer *writer = argument;
    for (uint32_t i = 0; i < writer->life->shape->transactions; i++) transact(writer->life);
    return NULL;
}

static void live_together(struct life *life) {
    struct writer writers[8];
    uint32_t count = life->shape->threads;
    for (uint32_t i = 0; i < count; i++) {
        writers[i].life = life;
        if (pthread_create(&writers[i].thread, NULL, write_beside_others, &writers[i]) != 0) writers[i].life = NULL;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (writers[i].life) pthread_join(writers[i].thread, NULL);
    }
}

uint32_t live(struct life *life) {
    bool is_open = false;
    for (int attempt = 0; attempt < 4 && !is_open; attempt++) {
        is_open = open_store(life);
        if (!is_open && !life->fails_are_fine) break;
    }
    if (!is_open) {
        say_problem("the store does not open");
        return life->problems + 1;
    }
    if (life->shape->threads > 1) live_together(life); else live_alone(life);
    if (life->shape->is_left_open || !life->store) return life->problems;
    if (is_fine(life, hb_close(life->store), HB_OK, "hb_close")) note_mark(MARK_DURABLE, life->commits, 0, 0);
    return life->problems;
}

// ---- Looking at a store

struct scan {
    hb_txn *txn;
    uint64_t digest;
    int result;
};

static void scan_tree(void *context, const char *name) {
    struct scan *scan = context;
    hb_tree tree;
    hb_cursor *cursor;
    hb_slice key, value;
    char last[4096];
    size_t last_size = 0;
    uint64_t entries = 0, count = 0;
    if (scan->result != HB_OK || (scan->result = hb_tree_open(scan->txn, name, 0, &tree)) != HB_OK) return;
    if ((scan->result = hb_cursor_open(scan->txn, tree, &cursor)) != HB_OK) return;
    scan->digest += tree_digest(name);
    while ((scan->result = hb_cursor_next(cursor)) == HB_OK) {
        if ((scan->result = hb_cursor_entry(cursor, &key, &value)) != HB_OK) break;
        int order = memcmp(last, key.data, last_size < key.size ? last_size : key.size);
        if (order > 0 || (order == 0 && last_size >= key.size && last_size > 0) || key.size > sizeof last) {
            // Silently out of order: make sure that no digest fits.
            scan->digest += 1;
        }
        memcpy(last, key.data, key.size < sizeof last ? key.size : sizeof last);
        last_size = key.size;
        scan->digest += entry_digest(name, key, value);
        entries++;
    }
    hb_cursor_close(cursor);
    if (scan->result != HB_NOT_FOUND) return;
    scan->result = hb_count(scan->txn, tree, (hb_slice){NULL, 0}, (hb_slice){NULL, 0}, &count);
    if (scan->result == HB_OK && count != entries) scan->digest += 1;
}

int digest_of(hb_store *store, uint64_t *digest) {
    struct scan scan = {0};
    int result = hb_begin(store, HB_READ, &scan.txn);
    if (result != HB_OK) return result;
    result = hb_tree_list(scan.txn, scan_tree, &scan);
    hb_abort(scan.txn);
    *digest = scan.digest;
    return result != HB_OK ? result : scan.result;
}

// An answer that is wrong. Errors are none, if there may be any.
static bool differs(int result, int expected, bool may_fail, const char *what) {
    if (result == expected) return false;
    if (may_fail && result != HB_OK && result != HB_NOT_FOUND && result != HB_INVALID) return false;
    say_problem("%s gave %d, not %d", what, result, expected);
    return true;
}

static bool agrees_in_tree(hb_txn *txn, uint32_t tree, const struct model *model, bool may_fail) {
    static unsigned char bytes[1 << 18];
    char buffer[300];
    hb_tree number;
    hb_slice value;
    int result = hb_tree_open(txn, tree_names[tree], 0, &number);
    if (differs(result, model->exists[tree] ? HB_OK : HB_NOT_FOUND, may_fail, "hb_tree_open")) return false;
    if (result != HB_OK) return true;
    uint64_t entries = 0, count;
    for (uint32_t i = 0; i < KEYS; i++) {
        uint32_t version = model->version[tree][i];
        entries += version != 0;
        result = hb_get(txn, number, key_of(tree, i, buffer), &value);
        if (differs(result, version ? HB_OK : HB_NOT_FOUND, may_fail, "hb_get")) return false;
        if (result != HB_OK) continue;
        fill(bytes, tree, i, version);
        if (value.size != size_of_version(version) || memcmp(value.data, bytes, value.size) != 0) {
            say_problem("tree %u, entry %u has a wrong value", tree, i);
            return false;
        }
    }
    result = hb_count(txn, number, (hb_slice){NULL, 0}, (hb_slice){NULL, 0}, &count);
    if (differs(result, HB_OK, may_fail, "hb_count") || (result == HB_OK && count != entries)) return false;
    hb_cursor *cursor;
    result = hb_cursor_open(txn, number, &cursor);
    if (differs(result, HB_OK, may_fail, "hb_cursor_open") || result != HB_OK) return result != HB_OK && may_fail;
    result = hb_cursor_last(cursor);
    uint64_t seen = 0;
    for (; result == HB_OK; result = hb_cursor_prev(cursor)) seen++;
    hb_cursor_close(cursor);
    return !differs(result, HB_NOT_FOUND, may_fail, "hb_cursor_prev") && (result != HB_NOT_FOUND || seen == entries);
}

bool agrees(hb_store *store, const struct model *model, bool may_fail) {
    hb_txn *txn;
    int result = hb_begin(store, HB_READ, &txn);
    if (differs(result, HB_OK, may_fail, "hb_begin") || result != HB_OK) return result != HB_OK && may_fail;
    bool all = true;
    for (uint32_t tree = 0; tree < TREES && all; tree++) all = agrees_in_tree(txn, tree, model, may_fail);
    hb_abort(txn);
    return all;
}
