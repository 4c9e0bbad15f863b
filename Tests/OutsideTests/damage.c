// SPDX-License-Identifier: Apache-2.0
// Damaged files: many kinds of damage to stores that were closed, killed, or cut by a power loss before. Each file is
// opened and read completely in a child: it may give errors, but never a wrong answer, a signal or a hang.

#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trial.h"
#include "workload.h"

enum { SECTOR = 4096, PATIENCE = 20, VERSIONS = 6 };

struct image {
    unsigned char *bytes;
    uint64_t size;
};

// Stores to be damaged.
struct sample {
    struct image now, versions[VERSIONS], other; // files of earlier moments of its life; of another store
    uint32_t version_count;
};

struct dice { uint64_t state; };

static uint64_t roll(struct dice *dice, uint64_t bound) {
    dice->state = mix(dice->state + 0x9E3779B97F4A7C15);
    return bound ? dice->state % bound : 0;
}

// ---- Kinds of damage

static uint64_t sectors_of(const struct image *image) { return image->size / SECTOR; }

// Returns a sector, mostly one with content, because most of a file is empty space.
static uint64_t pick(const struct image *image, struct dice *dice) {
    uint64_t sector = roll(dice, sectors_of(image));
    for (int i = 0; i < 200; i++) {
        const unsigned char *bytes = image->bytes + sector * SECTOR;
        for (int k = 0; k < 64; k++) {
            if (bytes[k]) return sector;
        }
        sector = roll(dice, sectors_of(image));
    }
    return sector;
}

static unsigned char *at(const struct image *image, struct dice *dice) {
    return image->bytes + pick(image, dice) * SECTOR;
}

static void noise(unsigned char *target, uint64_t count, struct dice *dice) {
    for (uint64_t i = 0; i < count; i++) target[i] = (unsigned char)roll(dice, 256);
}

static const struct image *old_version(const struct sample *sample, struct dice *dice) {
    return &sample->versions[roll(dice, sample->version_count)];
}

static void copy_sectors(struct image *image, const struct image *from, uint64_t sector, uint64_t count) {
    for (uint64_t i = sector; i < sector + count && i < sectors_of(image) && i < sectors_of(from); i++) {
        memcpy(image->bytes + i * SECTOR, from->bytes + i * SECTOR, SECTOR);
    }
}

static void flip_bit(struct image *i, const struct sample *s, struct dice *d) {
    (void)s;
    at(i, d)[roll(d, SECTOR)] ^= (unsigned char)(1 << roll(d, 8));
}
static void flip_bits(struct image *i, const struct sample *s, struct dice *d) {
    for (uint64_t n = 2 + roll(d, 60); n > 0; n--) flip_bit(i, s, d);
}
static void zero_sector(struct image *i, const struct sample *s, struct dice *d) {
    (void)s;
    memset(at(i, d), 0, SECTOR);
}
static void zero_part(struct image *i, const struct sample *s, struct dice *d) {
    (void)s;
    memset(at(i, d) + 512 * roll(d, 8), 0, 512);
}
static void ones_sector(struct image *i, const struct sample *s, struct dice *d) {
    (void)s;
    memset(at(i, d), 0xFF, SECTOR);
}
static void garbage_sector(struct image *i, const struct sample *s, struct dice *d) {
    (void)s;
    noise(at(i, d), SECTOR, d);
}
static void garbage_part(struct image *i, const struct sample *s, struct dice *d) {
    (void)s;
    noise(at(i, d) + 512 * roll(d, 8), 512, d);
}
static void garbage_run(struct image *i, const struct sample *s, struct dice *d) {
    (void)s;
    uint64_t from = pick(i, d) * SECTOR, count = roll(d, 40 * SECTOR);
    noise(i->bytes + from, from + count > i->size ? i->size - from : count, d);
}
// Not the journal's witness together with other sectors: without it and the newest record the file is just an older
// one (Docs/crash-safety.md, "What is not found").
enum { WITNESS = 3 };
static unsigned char *at_other(struct image *image, struct dice *dice) {
    unsigned char *place;
    do place = at(image, dice); while (place == image->bytes + WITNESS * SECTOR);
    return place;
}

static void swap_sectors(struct image *i, const struct sample *s, struct dice *d) {
    (void)s;
    unsigned char *one = at_other(i, d), *two = at_other(i, d), kept[SECTOR];
    memcpy(kept, one, SECTOR);
    memmove(one, two, SECTOR);
    memcpy(two, kept, SECTOR);
}
static void duplicate_sector(struct image *i, const struct sample *s, struct dice *d) {
    (void)s;
    unsigned char *from = at(i, d), *to = at(i, d);
    memmove(to, from, SECTOR);
}
static void stale_sector(struct image *i, const struct sample *s, struct dice *d) {
    copy_sectors(i, old_version(s, d), pick(i, d), 1);
}
static void stale_run(struct image *i, const struct sample *s, struct dice *d) {
    // Nor both header slots.
    uint64_t first = WITNESS + 1 + roll(d, sectors_of(i) - WITNESS - 1);
    copy_sectors(i, old_version(s, d), first, 2 + roll(d, 60));
}
static void stale_slot(struct image *i, const struct sample *s, struct dice *d) {
    copy_sectors(i, old_version(s, d), roll(d, 2), 1);
}
static void others_sector(struct image *i, const struct sample *s, struct dice *d) {
    copy_sectors(i, &s->other, 2 + roll(d, sectors_of(i) - 2), 1 + roll(d, 3));
}
static void slot(struct image *i, const struct sample *s, struct dice *d) {
    (void)s;
    noise(i->bytes + SECTOR * roll(d, 2) + roll(d, 200), 1 + roll(d, 32), d);
}
static void both_slots(struct image *i, const struct sample *s, struct dice *d) {
    (void)s;
    i->bytes[roll(d, 180)] ^= (unsigned char)(1 + roll(d, 255));
    i->bytes[SECTOR + roll(d, 180)] ^= (unsigned char)(1 + roll(d, 255));
}
static void journal(struct image *i, const struct sample *s, struct dice *d) {
    (void)s;
    for (int tries = 0; tries < 3000; tries++) {
        unsigned char *sector = i->bytes + roll(d, sectors_of(i)) * SECTOR;
        if (memcmp(sector, "HBJR", 4) != 0) continue;
        sector[roll(d, 120)] ^= (unsigned char)(1 + roll(d, 255));
        return;
    }
    flip_bit(i, s, d);
}
static void cut(struct image *i, const struct sample *s, struct dice *d) {
    (void)s;
    i->size = roll(d, i->size);
}
static void cut_at_sector(struct image *i, const struct sample *s, struct dice *d) {
    (void)s;
    i->size = roll(d, sectors_of(i)) * SECTOR;
}
static void extend(struct image *i, const struct sample *s, struct dice *d) {
    (void)s;
    uint64_t more = 1 + roll(d, 2 << 20);
    i->bytes = realloc(i->bytes, i->size + more);
    if (roll(d, 2)) noise(i->bytes + i->size, more, d); else memset(i->bytes + i->size, 0, more);
    i->size += more;
}
static void shift(struct image *i, const struct sample *s, struct dice *d) {
    (void)s;
    uint64_t from = roll(d, i->size - SECTOR), by = 1 + roll(d, SECTOR);
    memmove(i->bytes + from, i->bytes + from + by, i->size - from - by);
}

static const struct {
    const char *name;
    void (*apply)(struct image *, const struct sample *, struct dice *);
} kinds[] = {
    {"a flipped bit", flip_bit}, {"flipped bits", flip_bits}, {"a zeroed sector", zero_sector},
    {"512 zeroed bytes", zero_part}, {"a sector of ones", ones_sector}, {"a sector of garbage", garbage_sector},
    {"512 bytes of garbage", garbage_part}, {"a run of garbage", garbage_run}, {"two swapped sectors", swap_sectors},
    {"a duplicated sector", duplicate_sector}, {"a stale sector", stale_sector}, {"a stale run", stale_run},
    {"a stale header slot", stale_slot}, {"another store's sectors", others_sector}, {"a damaged header slot", slot},
    {"both header slots damaged", both_slots}, {"a damaged journal record", journal}, {"cut off", cut},
    {"cut off at a sector", cut_at_sector}, {"extended", extend}, {"shifted bytes", shift},
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

// ---- Samples

static struct image load(const char *path) {
    struct image image = {NULL, 0};
    struct stat status;
    int descriptor = open(path, O_RDONLY);
    if (descriptor >= 0 && fstat(descriptor, &status) == 0) {
        image.size = (uint64_t)status.st_size;
        image.bytes = malloc(image.size + 1);
        if (pread(descriptor, image.bytes, image.size, 0) != (ssize_t)image.size) image.size = 0;
    }
    if (descriptor >= 0) close(descriptor);
    return image;
}

static bool save(const char *path, const struct image *image) {
    int descriptor = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0644);
    bool is_saved = descriptor >= 0 && pwrite(descriptor, image->bytes, image->size, 0) == (ssize_t)image->size;
    if (descriptor >= 0) close(descriptor);
    return is_saved;
}

static const struct shape sample_shapes[] = {
    {.name = "closed", .transactions = 12, .changes = 60, .largest = 20000, .checkpoints = 10},
    {.name = "killed", .transactions = 12, .changes = 30, .largest = 2000, .checkpoints = 5, .is_left_open = true},
    {.name = "small", .transactions = 5, .changes = 3, .largest = 100, .is_left_open = true},
    {.name = "large", .transactions = 10, .changes = 200, .largest = 6000},
};
enum { SHAPES = sizeof sample_shapes / sizeof sample_shapes[0] };

struct making {
    const struct shape *shape;
    const char *folder;
    uint64_t seed;
    struct model *model; // shared with the child that makes it
};

// Runs a part of a life each time, so that files of earlier moments remain.
static int make_sample(void *context) {
    struct making *making = context;
    static struct life life;
    char path[512], copy[512], version[512];
    snprintf(path, sizeof path, "%s/store", making->folder);
    snprintf(copy, sizeof copy, "%s/copy", making->folder);
    struct shape shape = *making->shape;
    life = (struct life){.shape = &shape, .path = path, .copy_path = copy, .random = mix(making->seed)};
    for (int i = 0; i < VERSIONS; i++) {
        shape.is_left_open = i == VERSIONS - 1 && making->shape->is_left_open;
        if (live(&life) != 0) return 1;
        struct image image = load(path);
        snprintf(version, sizeof version, "%s/version%d", making->folder, i);
        if (!save(version, &image)) return 1;
        free(image.bytes);
    }
    *making->model = life.model;
    return 0;
}

static bool get_sample(const struct settings *settings, struct sample *sample, struct model *model,
                       const struct shape *shape, uint64_t seed) {
    char folder[512], name[600];
    // The other store comes first, because the model must be that of the store itself.
    for (int other = 1; other >= 0; other--) {
        snprintf(folder, sizeof folder, "%s", fresh_folder(settings, "sample"));
        struct making making = {shape, folder, seed + (uint64_t)other * 77, model};
        if (in_child(make_sample, &making, 120) != 0) return false;
        for (int i = 0; i < VERSIONS; i++) {
            snprintf(name, sizeof name, "%s/version%d", folder, i);
            if (other == 0 && i < VERSIONS - 1) sample->versions[i] = load(name);
            if (other == 0 && i == VERSIONS - 1) sample->now = load(name);
        }
        if (other) sample->other = load(name);
    }
    sample->version_count = VERSIONS - 1;
    return true;
}

// ---- Looking at what is damaged

struct look {
    const char *path;
    const struct model *model;
    struct tally *tally;
    bool is_unmapped;
};

enum { REFUSED = 0, PARTLY = 1, UNHARMED = 2 }; // in tally->counts

static void ignore_problem(void *context, const char *problem) { (void)context, (void)problem; }

static int look(void *context) {
    struct look *look = context;
    hb_store *store;
    uint64_t digest = 0;
    hb_more_options more = {.struct_size = sizeof more, .unmapped = look->is_unmapped};
    int result = hb_open_with(look->path, NULL, &more, &store);
    if (result != HB_OK) {
        look->tally->counts[REFUSED]++;
        bool is_told = result == HB_CORRUPT || result == HB_INVALID || result == HB_UNSUPPORTED || result == HB_IO;
        if (!is_told) say_problem("hb_open gave %d", result);
        return !is_told;
    }
    bool is_read = digest_of(store, &digest) == HB_OK;
    if (is_read && digest != look->model->digest) return say_problem("reading all gave something else, silently"), 1;
    if (!agrees(store, look->model, true)) return 1;
    result = hb_check(store, ignore_problem, NULL);
    if (!is_read && result == HB_OK) return say_problem("it can't be read, and hb_check is content"), 1;
    look->tally->counts[is_read ? UNHARMED : PARTLY]++;
    // Writing must not crash either; its results are unknown.
    hb_txn *txn;
    hb_tree tree;
    if (hb_begin(store, HB_WRITE, &txn) == HB_OK) {
        hb_slice word = {"a word", 6};
        if (hb_tree_open(txn, "alpha", HB_TREE_CREATE, &tree) == HB_OK) hb_put(txn, tree, word, word);
        hb_commit(txn);
    }
    hb_close(store);
    return 0;
}

// Damages one file in one way. Returns the exit status of the child that used it.
static int try_damage(const struct settings *settings, const struct sample *sample, const struct model *model,
                      struct tally *tally, uint32_t kind, uint64_t seed) {
    struct dice dice = {seed};
    struct image image = {malloc(sample->now.size + 1), sample->now.size};
    memcpy(image.bytes, sample->now.bytes, image.size);
    kinds[kind].apply(&image, sample, &dice);
    const char *path = path_in(fresh_folder(settings, "damaged"), "store");
    bool is_saved = save(path, &image);
    free(image.bytes);
    struct look looking = {path, model, tally, seed % 3 == 0};
    return is_saved ? in_child(look, &looking, PATIENCE) : 99;
}

int test_damage(const struct settings *settings) {
    uint32_t files = settings->size ? settings->size : 2000, failed = 0, done = 0;
    struct tally *tally = shared_tally();
    struct model *model = (struct model *)shared_log(sizeof *model);
    for (uint32_t s = 0; s < SHAPES; s++) {
        struct sample sample = {.version_count = 0};
        if (!get_sample(settings, &sample, model, &sample_shapes[s], settings->seed * 1000 + s)) {
            failed++;
            fprintf(stderr, "FAILED: the store “%s” could not be made\n", sample_shapes[s].name);
            continue;
        }
        for (uint32_t i = 0; i < files / SHAPES; i++) {
            uint32_t kind = i % KINDS;
            if (settings->only && strcmp(settings->only, kinds[kind].name) != 0) continue;
            int status = try_damage(settings, &sample, model, tally, kind, mix(settings->seed * 1000003 + i * SHAPES + s));
            done++;
            if (status == 0) continue;
            failed++;
            fprintf(stderr, "FAILED: %s, %s: %d (--seed %llu, file %u)\n", sample_shapes[s].name, kinds[kind].name,
                    status, (unsigned long long)settings->seed, i);
        }
    }
    printf("%u damaged files of %d kinds: %llu refused, %llu in part readable, %llu unharmed; %u passed, %u failed\n",
           done, KINDS, (unsigned long long)tally->counts[REFUSED], (unsigned long long)tally->counts[PARTLY],
           (unsigned long long)tally->counts[UNHARMED], done - failed, failed);
    return failed != 0;
}
