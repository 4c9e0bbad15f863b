// SPDX-License-Identifier: Apache-2.0
// Failing calls: each kind of fault, at each call of a life. Results must be those of hornbeam.h, without a crash or
// hang; every acknowledged commit must be there and no part of a failed one; and except after failed syncs the handle
// must work again once the fault is gone.

#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trial.h"
#include "workload.h"

// The effect of a fault on the caller.
enum answer {
    UNSEEN,  // nothing: it is repeated, or done in another way
    SEEN,    // an error code; then the same handle goes on
    UNKNOWN, // perhaps HB_FAILED, until the store is opened again
};

static const struct kind {
    const char *name;
    uint32_t call, mode;
    int error;
    enum answer answer;
} kinds[] = {
    {"open: EIO", CALL_OPEN, FAULT_ERROR, EIO, SEEN},
    {"open: EACCES", CALL_OPEN, FAULT_ERROR, EACCES, SEEN},
    {"open: EMFILE", CALL_OPEN, FAULT_ERROR, EMFILE, SEEN},
    {"open: ENOSPC", CALL_OPEN, FAULT_ERROR, ENOSPC, SEEN},
    {"open: EOPNOTSUPP", CALL_OPEN, FAULT_ERROR, EOPNOTSUPP, SEEN},
    {"open: EINTR", CALL_OPEN, FAULT_ERROR, EINTR, UNSEEN},
    {"fstat: EIO", CALL_FSTAT, FAULT_ERROR, EIO, SEEN},
    {"lock: EAGAIN", CALL_LOCK, FAULT_ERROR, EAGAIN, SEEN},
    {"lock: ENOLCK", CALL_LOCK, FAULT_ERROR, ENOLCK, SEEN},
    {"lock: EINTR", CALL_LOCK, FAULT_ERROR, EINTR, UNSEEN},
    {"mmap: ENOMEM", CALL_MMAP, FAULT_ERROR, ENOMEM, SEEN},
    {"pread: EIO", CALL_PREAD, FAULT_ERROR, EIO, SEEN},
    {"pread: EINTR", CALL_PREAD, FAULT_ERROR, EINTR, UNSEEN},
    {"pread: short", CALL_PREAD, FAULT_SHORT, 0, UNSEEN},
    {"fallocate: ENOSPC", CALL_FALLOCATE, FAULT_ERROR, ENOSPC, SEEN},
    {"fallocate: EDQUOT", CALL_FALLOCATE, FAULT_ERROR, EDQUOT, SEEN},
    {"fallocate: EIO", CALL_FALLOCATE, FAULT_ERROR, EIO, SEEN},
    {"fallocate: EFBIG", CALL_FALLOCATE, FAULT_ERROR, EFBIG, SEEN},
    {"fallocate: EINTR", CALL_FALLOCATE, FAULT_ERROR, EINTR, UNSEEN},
    {"fallocate: EOPNOTSUPP", CALL_FALLOCATE, FAULT_ERROR, EOPNOTSUPP, UNSEEN},
    {"fallocate: done, then ENOSPC", CALL_FALLOCATE, FAULT_AFTER, ENOSPC, SEEN},
    {"ftruncate: EIO", CALL_FTRUNCATE, FAULT_ERROR, EIO, SEEN},
    {"ftruncate: EINTR", CALL_FTRUNCATE, FAULT_ERROR, EINTR, UNSEEN},
    {"write: EIO", CALL_PWRITE, FAULT_ERROR, EIO, SEEN},
    {"write: ENOSPC", CALL_PWRITE, FAULT_ERROR, ENOSPC, SEEN},
    {"write: EDQUOT", CALL_PWRITE, FAULT_ERROR, EDQUOT, SEEN},
    {"write: EINTR", CALL_PWRITE, FAULT_ERROR, EINTR, UNSEEN},
    {"write: short", CALL_PWRITE, FAULT_SHORT, 0, UNSEEN},
    {"write: zero", CALL_PWRITE, FAULT_ZERO, 0, SEEN},
    {"write: half, then ENOSPC", CALL_PWRITE, FAULT_HALF, ENOSPC, SEEN},
    {"write: half, then EIO", CALL_PWRITE, FAULT_HALF, EIO, SEEN},
    {"write through: EIO", CALL_PWRITEV2, FAULT_ERROR, EIO, SEEN},
    {"write through: ENOSPC", CALL_PWRITEV2, FAULT_ERROR, ENOSPC, SEEN},
    {"write through: EDQUOT", CALL_PWRITEV2, FAULT_ERROR, EDQUOT, SEEN},
    {"write through: EINTR", CALL_PWRITEV2, FAULT_ERROR, EINTR, UNSEEN},
    {"write through: EOPNOTSUPP", CALL_PWRITEV2, FAULT_ERROR, EOPNOTSUPP, UNSEEN},
    {"write through: short", CALL_PWRITEV2, FAULT_SHORT, 0, UNSEEN},
    {"write through: zero", CALL_PWRITEV2, FAULT_ZERO, 0, SEEN},
    {"write through: half, then EIO", CALL_PWRITEV2, FAULT_HALF, EIO, UNKNOWN},
    {"write through: done, then EIO", CALL_PWRITEV2, FAULT_AFTER, EIO, UNKNOWN},
    {"fdatasync: EIO", CALL_FDATASYNC, FAULT_AFTER, EIO, UNKNOWN},
    {"fdatasync: ENOSPC", CALL_FDATASYNC, FAULT_AFTER, ENOSPC, UNKNOWN},
    {"fdatasync: EINTR", CALL_FDATASYNC, FAULT_ERROR, EINTR, UNSEEN},
    {"fsync: EIO", CALL_FSYNC, FAULT_AFTER, EIO, UNKNOWN},
    {"fsync: ENOSPC", CALL_FSYNC, FAULT_AFTER, ENOSPC, UNKNOWN},
    {"sync_file_range: EIO", CALL_SYNC_RANGE, FAULT_ERROR, EIO, UNSEEN},
    {"link: EIO", CALL_LINK, FAULT_ERROR, EIO, SEEN},
    {"link: ENOSPC", CALL_LINK, FAULT_ERROR, ENOSPC, SEEN},
    {"link: EPERM", CALL_LINK, FAULT_ERROR, EPERM, SEEN},
    {"unlink: EIO", CALL_UNLINK, FAULT_ERROR, EIO, SEEN},
    {"thread: EAGAIN", CALL_THREAD, FAULT_ERROR, EAGAIN, UNSEEN},
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static const struct shape fault_shapes[] = {
    {.name = "single puts", .transactions = 12, .changes = 1, .largest = 300, .checkpoints = 20, .reopenings = 15},
    {.name = "batches", .transactions = 8, .changes = 60, .largest = 3000, .aborts = 15, .checkpoints = 25},
    {.name = "large transactions", .transactions = 5, .changes = 30, .largest = 40000, .wholesale = 60, .reopenings = 20},
    {.name = "long values", .transactions = 6, .changes = 8, .largest = 150000, .checkpoints = 20},
    {.name = "backups", .transactions = 5, .changes = 30, .largest = 2000, .backups = 50, .lesser = 30},
    {.name = "compaction", .transactions = 8, .changes = 60, .largest = 20000, .compactions = 40},
};
enum { SHAPES = sizeof fault_shapes / sizeof fault_shapes[0], PATIENCE = 20 };

struct faulty_life {
    const struct shape *shape;
    const struct kind *kind;
    const char *folder;
    struct fault fault;
    uint64_t seed;
    struct tally *tally;
};

static void count_problem(void *context, const char *problem) {
    (void)context;
    fprintf(stderr, "  check: %s\n", problem);
}

static int live_with_fault(void *context) {
    struct faulty_life *trial = context;
    static struct life life;
    char path[512], copy[512];
    snprintf(path, sizeof path, "%s/store", trial->folder);
    snprintf(copy, sizeof copy, "%s/copy", trial->folder);
    life = (struct life){.shape = trial->shape, .path = path, .copy_path = copy, .random = mix(trial->seed)};
    life.fails_are_fine = trial->fault.first != 0;
    life.never_fails = trial->kind && trial->kind->answer == UNSEEN;
    // Two failures in a row may hit the repair of the first.
    life.goes_on = trial->kind && trial->kind->answer == SEEN && trial->fault.times == 1;
    outside_watch(trial->folder);
    outside_arm(&trial->fault);
    uint32_t problems = live(&life);
    for (uint32_t call = 0; call < CALL_COUNT; call++) trial->tally->counts[call] = outside_calls(call);
    bool was_met = outside_faults() > 0;
    outside_arm(NULL);
    // The fault is gone: everything must work.
    life.fails_are_fine = life.never_fails = life.goes_on = false;
    life.has_failed = true;
    if (!open_store(&life)) return 1;
    if (!agrees(life.store, &life.model, false)) problems++;
    if (hb_check(life.store, count_problem, NULL) != HB_OK) problems++;
    if (hb_close(life.store) != HB_OK) problems++;
    if (!was_met && trial->fault.first) trial->tally->skipped++;
    return problems + life.problems != 0;
}

static int run(struct faulty_life *trial, const struct settings *settings) {
    char folder[512];
    snprintf(folder, sizeof folder, "%s", fresh_folder(settings, "faults"));
    trial->folder = folder;
    int status = in_child(live_with_fault, trial, PATIENCE);
    trial->tally->done++;
    if (status == 0) return 0;
    const char *what = status == -SIGALRM ? "it hangs" : status < 0 ? "it dies by a signal" : "wrong";
    fprintf(stderr, "FAILED: %s, %s, call %u, %u in a row: %s (%d; --seed %llu)\n", trial->shape->name,
            trial->kind ? trial->kind->name : "no fault", trial->fault.first, trial->fault.times, what, status,
            (unsigned long long)settings->seed);
    return 1;
}

int test_faults(const struct settings *settings) {
    uint32_t wanted = settings->size ? settings->size : 1500, failed = 0;
    struct faulty_life trial = {.tally = shared_tally(), .seed = settings->seed};
    for (uint32_t s = 0; s < SHAPES; s++) {
        trial.shape = &fault_shapes[s];
        trial.kind = NULL;
        trial.fault = (struct fault){0};
        failed += (uint32_t)run(&trial, settings);
        uint64_t counts[CALL_COUNT];
        for (uint32_t call = 0; call < CALL_COUNT; call++) counts[call] = trial.tally->counts[call];
        for (uint32_t k = 0; k < KINDS; k++) {
            trial.kind = &kinds[k];
            if (settings->only && !strstr(trial.kind->name, settings->only)) continue;
            // Every call of a life, or as many as there are trials for, at equal distances.
            uint64_t count = counts[trial.kind->call], budget = wanted / (SHAPES * KINDS) + 1;
            uint64_t step = count > budget ? (count + budget - 1) / budget : 1;
            for (uint64_t first = 1 + mix(settings->seed + k) % step; first <= count; first += step) {
                uint32_t times = mix(first + k) % 4 == 0 && trial.kind->answer != UNSEEN ? 3 : 1;
                trial.fault = (struct fault){trial.kind->call, trial.kind->mode, trial.kind->error, (uint32_t)first,
                                             times};
                failed += (uint32_t)run(&trial, settings);
            }
        }
    }
    printf("%llu lives with faults of %d kinds (%llu did not meet theirs); %llu passed, %u failed\n",
           (unsigned long long)trial.tally->done, KINDS, (unsigned long long)trial.tally->skipped,
           (unsigned long long)trial.tally->done - failed, failed);
    return failed != 0;
}
