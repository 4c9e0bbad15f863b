// SPDX-License-Identifier: Apache-2.0
// Power losses and deaths of the process, at every call of a recorded life. Each state that could be left is opened,
// checked and compared with the commits acknowledged by then. Some openings are recorded themselves, and cut.

#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "disk.h"
#include "trial.h"
#include "workload.h"

enum { COMMITS = 4096, PATIENCE = 60 };

// The allowed contents of a store at a point of its life.
struct history {
    uint64_t digests[COMMITS];     // after each commit
    int64_t durable, in_process;   // the newest commit that a power loss, or a death, must leave; -1: maybe no file
    int64_t newest;                // the newest one that may be there
    int64_t copying, copied;       // what a backup must hold at least; once it must be there, -1 before
};

struct crash_trial {
    const struct settings *settings;
    struct tally *tally;
    struct event_log *log;
    struct history start;
    const char *image_folder;
    uint64_t seed, states; // how many to look at
    bool is_recovery;      // the life is an opening: it isn't recorded once more
    bool is_faulty;        // a call failed in it
};

// ---- What the marks say

static void follow(struct history *history, const struct event *event) {
    int64_t first = (int64_t)event->values[0 + 1], durability = (int64_t)event->values[2];
    switch (event->values[0]) {
    case MARK_OPENED:
        history->durable = history->in_process = history->newest = first;
        break;
    case MARK_COMMITTING:
        history->digests[first % COMMITS] = event->values[2];
        if (history->newest < first) history->newest = first;
        break;
    case MARK_COMMITTED:
        if (durability == HB_DURABLE_FULL && history->durable < first) history->durable = first;
        if (durability != HB_DURABLE_NONE && history->in_process < first) history->in_process = first;
        break;
    case MARK_FAILED:
        if (durability == 0) history->newest = first - 1;
        break;
    case MARK_DURABLE:
        if (history->durable < first) history->durable = first;
        if (history->in_process < first) history->in_process = first;
        break;
    case MARK_COPYING: history->copying = first, history->copied = -1; break;
    case MARK_COPIED: history->copied = history->copying; break;
    default: break;
    }
}

// ---- Looking at a state

static void count_problem(void *context, const char *problem) {
    if ((*(int *)context)++ == 0) fprintf(stderr, "  check: %s\n", problem);
}

static bool may_hold(const struct history *history, int64_t oldest, uint64_t digest) {
    for (int64_t k = oldest < 0 ? 0 : oldest; k <= history->newest; k++) {
        if (history->digests[k % COMMITS] == digest) return true;
    }
    return false;
}

// Opens the store at `path` and compares it; `digest` receives the digest of its content.
static bool opens_with(const struct history *history, int64_t oldest, const char *path, bool goes_on, uint64_t *digest) {
    hb_store *store;
    hb_more_options more = {.struct_size = sizeof more, .unmapped = goes_on};
    int problems = 0, result;
    if ((result = hb_open_with(path, NULL, &more, &store)) != HB_OK) return say_problem("hb_open gave %d", result), false;
    bool is_right = false;
    if ((result = digest_of(store, digest)) != HB_OK) {
        say_problem("reading all gave %d", result);
    } else if (!may_hold(history, oldest, *digest)) {
        const char *what = may_hold(history, 0, *digest) ? "acknowledged commits are lost" : "no state of the store";
        say_problem("%s (commits %lld to %lld)", what, (long long)oldest, (long long)history->newest);
    } else if ((result = hb_check(store, count_problem, &problems)) != HB_OK) {
        say_problem("hb_check gave %d", result);
    } else {
        is_right = true;
    }
    if (is_right && goes_on) {
        hb_txn *txn;
        hb_tree tree;
        hb_slice word = {"goes on", 7};
        is_right = hb_begin(store, HB_WRITE, &txn) == HB_OK &&
                   hb_tree_open(txn, "goes on", HB_TREE_CREATE, &tree) == HB_OK &&
                   hb_put(txn, tree, word, word) == HB_OK && hb_tree_drop(txn, "goes on") == HB_OK &&
                   hb_commit(txn) == HB_OK;
        if (!is_right) say_problem("the store can't be written any more");
    }
    if ((result = hb_close(store)) != HB_OK) return say_problem("hb_close gave %d", result), false;
    if (!is_right || !goes_on) return is_right;
    uint64_t again = 0;
    is_right = hb_open(path, NULL, &store) == HB_OK && digest_of(store, &again) == HB_OK && again == *digest &&
               hb_close(store) == HB_OK;
    if (!is_right) say_problem("the store is another one after the next opening");
    return is_right;
}

static bool look_at(const struct crash_trial *trial, const struct history *history, enum loss loss, uint64_t number,
                    uint64_t *digest) {
    const char *path = path_in(trial->image_folder, "store");
    int64_t oldest = loss == LOSS_PROCESS ? history->in_process : history->durable;
    if (access(path, F_OK) != 0) {
        if (oldest < 0) return true;
        say_problem("there is no file");
        return false;
    }
    if (!opens_with(history, oldest, path, number % 8 == 0, digest)) return false;
    const char *copy = path_in(trial->image_folder, "copy");
    uint64_t copied = 0;
    if (access(copy, F_OK) != 0) {
        if (history->copied < 0) return true;
        say_problem("there is no backup");
        return false;
    }
    // Until the new copy has its name, the former one may be there.
    if (opens_with(history, history->copied, copy, false, &copied)) return true;
    say_problem("the backup is wrong");
    return false;
}

// ---- States of a life

static int look_at_states(struct crash_trial *trial);

struct opening {
    const char *folder;
    struct event_log *log;
};

static int record_opening(void *context) {
    struct opening *opening = context;
    hb_store *store;
    outside_watch(opening->folder);
    outside_record(opening->log);
    if (hb_open(path_in(opening->folder, "store"), NULL, &store) != HB_OK) return say_problem("hb_open failed"), 1;
    outside_mark(MARK_OPENED, 0, 0, 0);
    if (hb_close(store) != HB_OK) return say_problem("hb_close failed"), 1;
    return 0;
}

// The opening of this state is a life of its own, which can be cut anywhere.
static bool cut_opening(const struct crash_trial *trial, uint64_t digest, uint64_t seed) {
    static char deep[512];
    snprintf(deep, sizeof deep, "%s", fresh_folder(trial->settings, "deep"));
    struct crash_trial *inner = calloc(1, sizeof *inner);
    *inner = (struct crash_trial){.settings = trial->settings, .tally = trial->tally, .image_folder = deep, .seed = seed,
                                  .states = 40, .is_recovery = true, .is_faulty = trial->is_faulty};
    inner->log = shared_log(64 << 20);
    inner->start.digests[0] = digest;
    inner->start.copied = -1;
    struct opening opening = {trial->image_folder, inner->log};
    int status = in_child(record_opening, &opening, PATIENCE);
    if (status != 0) fprintf(stderr, "  a recorded opening ended with %d\n", status);
    bool is_right = status == 0 && look_at_states(inner) == 0;
    free_shared_log(inner->log);
    free(inner);
    return is_right;
}

// The last events before a crash.
static void tell_events(const struct event_log *log, uint64_t last) {
    static const char *const kinds[] = {"", "file", "name", "no name", "rename", "write", "size", "sync", "folder sync",
                                        "end of", "mark"};
    const unsigned char *next = log->bytes;
    for (uint64_t i = 0; i <= last && i < log->events; i++) {
        const struct event *event = (const struct event *)next;
        next += event->size;
        if (i + 40 < last) continue;
        fprintf(stderr, "    %llu %s", (unsigned long long)i, kinds[event->kind]);
        if (event->kind == EVENT_END) {
            fprintf(stderr, " %u: %lld\n", event->of, (long long)event->result);
        } else if (event->kind == EVENT_MARK) {
            fprintf(stderr, " %llu: %llu, %llx, %llu\n", (unsigned long long)event->values[0],
                    (unsigned long long)event->values[1], (unsigned long long)event->values[2],
                    (unsigned long long)event->values[3]);
        } else {
            fprintf(stderr, "%s of file %u at %llu, %llu bytes\n", event->through ? " through" : "", event->file,
                    (unsigned long long)event->offset, (unsigned long long)event->count);
        }
    }
}

static void tell(const struct crash_trial *trial, uint64_t number, enum loss loss) {
    if (trial->settings->is_verbose) tell_events(trial->log, number);
    static const char *const names[] = {
        "all unsynced is lost", "nothing is lost", "any sectors are lost", "torn sectors", "garbage in sectors",
        "one sector is lost", "one sector is kept", "the process dies"};
    fprintf(stderr, "FAILED: crash at event %llu, %s%s (seed %llu)\n", (unsigned long long)number, names[loss],
            trial->is_recovery ? ", of a recovery" : "", (unsigned long long)trial->seed);
}

// Returns whether a state that this loss leaves is right.
static bool is_state_right(const struct crash_trial *trial, const struct disk *disk, const struct history *history,
                           enum loss loss, uint64_t seed) {
    uint64_t digest = 0;
    bool is_deep = !trial->is_recovery && seed % 64 == 0;
    clean_folder(trial->image_folder);
    if (!disk_image(disk, loss, seed, trial->image_folder)) return fputs("  no room for an image\n", stderr), false;
    if (!look_at(trial, history, loss, is_deep ? 1 : seed / 64, &digest)) return false;
    trial->tally->done++;
    if (!is_deep || access(path_in(trial->image_folder, "store"), F_OK) != 0) return true;
    clean_folder(trial->image_folder);
    return disk_image(disk, loss, seed, trial->image_folder) && cut_opening(trial, digest, seed);
}

// Examines about `states` states, spread over the whole life. Returns the number of wrong ones, three at most.
static int look_at_states(struct crash_trial *trial) {
    struct disk *disk = disk_new(trial->log);
    struct history *history = malloc(sizeof *history);
    *history = trial->start;
    uint64_t number = 0, random = mix(trial->seed);
    // The first two events of an opening are the existing file and its name.
    uint64_t resume = trial->is_recovery ? 2 : trial->tally->at;
    int wrong = 0;
    outside_watch("");
    for (const struct event *event; wrong < 3 && (event = disk_step(disk)) != NULL; number++) {
        if (event->kind == EVENT_MARK) follow(history, event);
        random = mix(random + number);
        if (number < resume) continue;
        // As many losses as the budget has for one event; a fraction is rounded randomly.
        uint64_t budget = trial->states * 1000 / (trial->log->events + 1);
        uint64_t wanted = budget / 1000 + (random % 1000 < budget % 1000);
        if (wanted > 1 && disk_uncertain(disk) == 0) wanted = 1;
        if (!trial->is_recovery) trial->tally->at = number + 1;
        for (uint64_t i = 0; i < wanted && wrong < 3; i++) {
            uint64_t seed = mix(random + i);
            enum loss loss = wanted >= LOSS_KINDS ? i % LOSS_KINDS : mix(seed) % LOSS_KINDS;
            still_alive(PATIENCE);
            if (is_state_right(trial, disk, history, loss, seed)) continue;
            tell(trial, number, loss);
            wrong++;
        }
    }
    disk_free(disk);
    free(history);
    return wrong;
}

static int look_in_child(void *context) { return look_at_states(context); }

// ---- Lives

struct recording {
    const struct shape *shape;
    const char *folder;
    struct event_log *log;
    struct fault fault;
    uint64_t seed;
    struct tally *tally; // counts[]: calls that were made
};

static int record_life(void *context) {
    struct recording *recording = context;
    static struct life life;
    char path[512], copy[512];
    snprintf(path, sizeof path, "%s/store", recording->folder);
    snprintf(copy, sizeof copy, "%s/copy", recording->folder);
    life = (struct life){.shape = recording->shape, .path = path, .copy_path = copy, .random = mix(recording->seed)};
    life.fails_are_fine = recording->fault.first != 0;
    outside_watch(recording->folder);
    outside_record(recording->log);
    outside_arm(&recording->fault);
    uint32_t problems = live(&life);
    for (uint32_t call = 0; call < CALL_COUNT; call++) recording->tally->counts[call] = outside_calls(call);
    return problems != 0;
}

// Records a life of this shape and seed, and crashes it. Returns whether all states were right.
static bool try_life(struct crash_trial *trial, struct recording *recording) {
    char folder[512];
    snprintf(folder, sizeof folder, "%s", fresh_folder(trial->settings, "life"));
    recording->folder = folder;
    recording->log->used = recording->log->events = recording->log->lost = recording->log->forbidden = 0;
    int status = in_child(record_life, recording, PATIENCE);
    if (status != 0 || recording->log->lost || recording->log->forbidden) {
        fprintf(stderr, "FAILED: the recorded life itself: status %d, %u events lost, %u forbidden calls\n", status,
                recording->log->lost, recording->log->forbidden);
        return false;
    }
    trial->tally->at = 0;
    while ((status = in_child(look_in_child, trial, PATIENCE)) < 0) {
        fprintf(stderr, "FAILED: crash at event %llu: signal %d at opening\n",
                (unsigned long long)trial->tally->at - 1, -status);
        if (++trial->tally->problems % 4 == 0) return false;
    }
    return status == 0;
}

int test_crashes(const struct settings *settings) {
    uint32_t states = settings->size ? settings->size : 3000, passed = 0, failed = 0;
    char images[512];
    snprintf(images, sizeof images, "%s", fresh_folder(settings, "images"));
    struct crash_trial *trial = calloc(1, sizeof *trial);
    *trial = (struct crash_trial){.settings = settings, .tally = shared_tally(), .log = shared_log(1ull << 30),
                                  .image_folder = images};
    trial->start.durable = trial->start.in_process = -1;
    trial->start.copied = -1;
    struct recording recording = {.log = trial->log, .tally = trial->tally};
    for (uint64_t round = 0; trial->tally->done < states && failed < 10; round++) {
        recording.shape = &shapes[round % shape_count];
        recording.seed = trial->seed = settings->seed * 1000003 + round;
        if (settings->only && strcmp(settings->only, recording.shape->name) != 0) continue;
        // Every other life has a failing sync: the file system then forgets the unwritten data.
        recording.fault = (struct fault){0};
        uint64_t kind = mix(round) % 3, turn = round / shape_count;
        if (turn % 2 == 1 && recording.shape->threads <= 1) {
            static const uint32_t calls[] = {CALL_PWRITEV2, CALL_FDATASYNC, CALL_FSYNC}, bounds[] = {50, 8, 1};
            recording.fault = (struct fault){.call = calls[kind], .mode = FAULT_AFTER, .error = 5, .times = 1,
                                             .first = 1 + (uint32_t)(mix(round + 1) % bounds[kind])};
        }
        trial->is_faulty = recording.fault.first != 0;
        trial->states = 250;
        bool is_right = try_life(trial, &recording);
        is_right ? passed++ : failed++;
        if (!is_right || settings->is_verbose) {
            fprintf(stderr, "%s: %s, round %llu, fault %u/%u, %u events, %llu states so far (--seed %llu)\n",
                    is_right ? "right" : "FAILED", recording.shape->name, (unsigned long long)round,
                    recording.fault.call, recording.fault.first, recording.log->events,
                    (unsigned long long)trial->tally->done, (unsigned long long)settings->seed);
        }
    }
    printf("%llu states after crashes; %u passed, %u failed\n", (unsigned long long)trial->tally->done, passed, failed);
    return failed != 0;
}
