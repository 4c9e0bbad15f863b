// SPDX-License-Identifier: Apache-2.0
// A disk made from a log. It is stricter than any file system: each unsynced sector is kept or lost by itself, a name
// is certain only once its folder was synced, a file's size is as uncertain as its content, and a failed sync marks
// its sectors as clean, so that no later sync writes them. The unit of the kernel's cache and of torn writes is 4,096
// bytes.

#define _GNU_SOURCE
#include "disk.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "workload.h"

enum { SECTOR = 4096, FILES = 64, NAMES = 256, NEVER = 0x7FFFFFFF };

// A content of a sector that the medium may have.
struct version {
    struct version *newer;
    uint32_t event;
    bool is_dropped; // by a sync that failed: no later one writes it
    unsigned char bytes[SECTOR];
};

struct file {
    bool is_used;
    unsigned char *certain; // what is on the medium, as long as `room`
    uint64_t room, size;    // size: on the medium
    uint64_t newest_size;
    struct { uint32_t event; uint64_t size; } *sizes; // since, oldest first
    uint32_t size_count;
    struct version **versions; // of each sector, oldest first
    uint32_t *open;            // sectors that have versions
    uint32_t open_count;
};

struct name_change {
    uint32_t event;
    uint16_t file; // 0: the name goes
    char name[64], old[64];
};

struct disk {
    const struct event **events;
    uint32_t *ends; // of each event: the index of its end, or NEVER
    uint32_t count, next;
    struct file files[FILES];
    struct { char name[64]; uint16_t file; } names[NAMES]; // on the medium
    uint32_t name_count;
    struct name_change changes[NAMES];
    uint32_t change_count;
};

struct disk *disk_new(const struct event_log *log) {
    struct disk *disk = calloc(1, sizeof *disk);
    disk->count = log->events;
    disk->events = calloc(disk->count + 1, sizeof *disk->events);
    disk->ends = calloc(disk->count + 1, sizeof *disk->ends);
    const unsigned char *next = log->bytes;
    for (uint32_t i = 0; i < disk->count; i++) {
        disk->events[i] = (const struct event *)next;
        disk->ends[i] = NEVER;
        if (disk->events[i]->kind == EVENT_END) disk->ends[disk->events[i]->of] = i;
        next += disk->events[i]->size;
    }
    return disk;
}

void disk_free(struct disk *disk) {
    for (int i = 0; i < FILES; i++) {
        struct file *file = &disk->files[i];
        for (uint32_t k = 0; k < file->open_count; k++) {
            for (struct version *v = file->versions[file->open[k]], *newer; v; v = newer) newer = v->newer, free(v);
        }
        free(file->certain), free(file->sizes), free(file->versions), free(file->open);
    }
    free(disk->events), free(disk->ends), free(disk);
}

// ---- What happens

static void make_room(struct file *file, uint64_t size) {
    if (size <= file->room) return;
    uint64_t room = (size * 2 + 0xFFFFF) & ~0xFFFFFull;
    file->certain = realloc(file->certain, room);
    file->versions = realloc(file->versions, room / SECTOR * sizeof *file->versions);
    file->open = realloc(file->open, room / SECTOR * sizeof *file->open);
    memset(file->certain + file->room, 0, room - file->room);
    memset(file->versions + file->room / SECTOR, 0, (room - file->room) / SECTOR * sizeof *file->versions);
    file->room = room;
}

static const unsigned char *newest(const struct file *file, uint64_t sector) {
    const struct version *version = file->versions[sector];
    if (!version) return file->certain + sector * SECTOR;
    while (version->newer) version = version->newer;
    return version->bytes;
}

// Makes a new content of the sector, at first equal to its newest one.
static struct version *changed(struct file *file, uint64_t sector, uint32_t event) {
    struct version *made = malloc(sizeof *made);
    memcpy(made->bytes, newest(file, sector), SECTOR);
    made->event = event;
    made->is_dropped = false;
    made->newer = NULL;
    struct version **place = &file->versions[sector];
    if (!*place) file->open[file->open_count++] = (uint32_t)sector;
    while (*place) place = &(*place)->newer;
    *place = made;
    return made;
}

static void note_size(struct file *file, uint32_t event, uint64_t size) {
    file->sizes = realloc(file->sizes, (file->size_count + 1) * sizeof *file->sizes);
    file->sizes[file->size_count].event = event;
    file->sizes[file->size_count++].size = size;
    file->newest_size = size;
}

static void write_to(struct file *file, uint32_t index, const struct event *event) {
    uint64_t end = event->offset + event->count;
    make_room(file, end);
    for (uint64_t sector = event->offset / SECTOR; sector * SECTOR < end; sector++) {
        struct version *version = changed(file, sector, index);
        uint64_t from = sector * SECTOR > event->offset ? sector * SECTOR : event->offset;
        uint64_t to = (sector + 1) * SECTOR < end ? (sector + 1) * SECTOR : end;
        memcpy(version->bytes + from % SECTOR, event->data + (from - event->offset), to - from);
    }
    if (end > file->newest_size) note_size(file, index, end);
}

static void resize(struct file *file, uint32_t index, uint64_t size) {
    make_room(file, size);
    // The part that is cut off reads as zeros if the file grows again.
    for (uint64_t sector = (size + SECTOR - 1) / SECTOR; sector * SECTOR < file->newest_size; sector++) {
        memset(changed(file, sector, index)->bytes, 0, SECTOR);
    }
    if (size != file->newest_size) note_size(file, index, size);
}

// Makes the newest version with `is_covered` certain, and removes older ones. Returns false when no version is left.
static bool settle(struct file *file, uint64_t sector, bool (*is_covered)(const struct version *, const void *),
                   const void *context) {
    struct version *last = NULL;
    for (struct version *v = file->versions[sector]; v; v = v->newer) {
        if (is_covered(v, context)) last = v;
    }
    if (last) {
        memcpy(file->certain + sector * SECTOR, last->bytes, SECTOR);
        struct version *v = file->versions[sector];
        file->versions[sector] = last->newer;
        for (struct version *after = last->newer, *newer; v != after; v = newer) newer = v->newer, free(v);
    }
    return file->versions[sector] != NULL;
}

struct coverage {
    const struct disk *disk;
    uint32_t before; // a sync: what had ended before it began
    uint32_t event;  // a write-through: this one
};

static bool synced(const struct version *version, const void *context) {
    const struct coverage *coverage = context;
    return !version->is_dropped && coverage->disk->ends[version->event] < coverage->before;
}
static bool written_through(const struct version *version, const void *context) {
    return version->event == ((const struct coverage *)context)->event;
}

static void drop_versions(struct file *file, bool (*is_covered)(const struct version *, const void *),
                          const void *context) {
    for (uint32_t i = 0; i < file->open_count; i++) {
        for (struct version *v = file->versions[file->open[i]]; v; v = v->newer) {
            if (is_covered(v, context)) v->is_dropped = true;
        }
    }
}

static void settle_all(struct file *file, bool (*is_covered)(const struct version *, const void *),
                       const void *context) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < file->open_count; i++) {
        uint32_t sector = file->open[i];
        if (settle(file, sector, is_covered, context)) file->open[kept++] = sector;
    }
    file->open_count = kept;
}

static void settle_sizes(struct disk *disk, struct file *file, uint32_t before) {
    uint32_t last = 0;
    for (uint32_t i = 0; i < file->size_count; i++) {
        if (disk->ends[file->sizes[i].event] < before) last = i + 1;
    }
    if (last == 0) return;
    file->size = file->sizes[last - 1].size;
    memmove(file->sizes, file->sizes + last, (file->size_count - last) * sizeof *file->sizes);
    file->size_count -= last;
}

static void change_name(struct disk *disk, const struct name_change *change) {
    uint16_t file = change->file;
    for (uint32_t i = 0; i < disk->name_count; i++) {
        bool is_old = strcmp(disk->names[i].name, change->old) == 0;
        if (is_old && change->old[0]) file = disk->names[i].file;
        if (is_old || strcmp(disk->names[i].name, change->name) == 0) disk->names[i--] = disk->names[--disk->name_count];
    }
    if (file == 0) return;
    snprintf(disk->names[disk->name_count].name, sizeof disk->names[0].name, "%s", change->name);
    disk->names[disk->name_count++].file = file;
}

static void settle_names(struct disk *disk, uint32_t before) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < disk->change_count; i++) {
        if (disk->changes[i].event < before) change_name(disk, &disk->changes[i]);
        else disk->changes[kept++] = disk->changes[i];
    }
    disk->change_count = kept;
}

static void note_name_change(struct disk *disk, uint32_t index, const struct event *event) {
    if (disk->change_count == NAMES) settle_names(disk, NEVER);
    struct name_change *change = &disk->changes[disk->change_count++];
    *change = (struct name_change){.event = index, .file = event->kind == EVENT_NAME ? event->file : 0};
    const char *name = (const char *)event->data;
    if (event->kind == EVENT_RENAME) {
        snprintf(change->old, sizeof change->old, "%s", name);
        name += strlen(name) + 1;
    }
    snprintf(change->name, sizeof change->name, "%s", name);
    if (event->through) settle_names(disk, NEVER);
}

static void end_event(struct disk *disk, uint32_t index, const struct event *end) {
    const struct event *event = disk->events[end->of];
    struct file *file = &disk->files[event->file % FILES];
    struct coverage coverage = {.disk = disk, .before = end->of, .event = end->of};
    (void)index;
    if (event->kind == EVENT_FOLDER_SYNC) {
        if (end->result == 0) settle_names(disk, end->of);
    } else if (event->kind == EVENT_SYNC && end->result == 0) {
        settle_all(file, synced, &coverage);
        settle_sizes(disk, file, end->of);
    } else if (event->kind == EVENT_SYNC) {
        drop_versions(file, synced, &coverage);
    } else if (event->kind == EVENT_WRITE && event->through && end->result >= 0) {
        settle_all(file, written_through, &coverage);
        uint64_t reached = event->offset + event->count;
        if (file->size < reached) file->size = reached;
    } else if (event->kind == EVENT_WRITE && event->through) {
        drop_versions(file, written_through, &coverage);
    }
}

const struct event *disk_step(struct disk *disk) {
    if (disk->next >= disk->count) return NULL;
    uint32_t index = disk->next++;
    const struct event *event = disk->events[index];
    struct file *file = &disk->files[event->file % FILES];
    switch (event->kind) {
    case EVENT_FILE:
        file->is_used = true;
        make_room(file, event->offset + SECTOR);
        if (event->count) memcpy(file->certain, event->data, event->count);
        file->size = file->newest_size = event->offset;
        break;
    case EVENT_NAME: case EVENT_UNNAME: case EVENT_RENAME: note_name_change(disk, index, event); break;
    case EVENT_WRITE: write_to(file, index, event); break;
    case EVENT_SIZE: resize(file, index, event->offset); break;
    case EVENT_END: end_event(disk, index, event); break;
    default: break;
    }
    return event;
}

uint32_t disk_uncertain(const struct disk *disk) {
    uint32_t count = disk->change_count;
    for (int i = 0; i < FILES; i++) count += disk->files[i].open_count + disk->files[i].size_count;
    return count;
}

// ---- What is left

struct dice { uint64_t state; };

static uint32_t roll(struct dice *dice, uint32_t bound) {
    dice->state += 0x9E3779B97F4A7C15;
    return bound ? (uint32_t)(mix(dice->state) % bound) : 0;
}

// Returns one of the sector's contents, from 0 (the certain one) to the newest.
static const unsigned char *content(const struct file *file, uint32_t sector, uint32_t choice) {
    const struct version *version = file->versions[sector];
    if (choice == 0 || !version) return file->certain + (uint64_t)sector * SECTOR;
    while (--choice > 0 && version->newer) version = version->newer;
    return version->bytes;
}

static void choose_parts(const struct file *file, uint32_t sector, uint32_t versions, bool garbage, struct dice *dice,
                         unsigned char *target) {
    for (uint32_t part = 0; part < SECTOR; part += 512) {
        memcpy(target + part, content(file, sector, roll(dice, versions + 1)) + part, 512);
        if (!garbage || roll(dice, 4) != 0) continue;
        uint64_t noise = roll(dice, 3) ? dice->state : 0; // now and then all zeros
        for (uint32_t i = 0; i < 512; i += 8) {
            if (noise) noise = mix(noise + i);
            memcpy(target + part + i, &noise, 8);
        }
    }
}

// Returns the sector as the death of the process leaves it.
static const unsigned char *content_in_cache(const struct disk *disk, const struct file *file, uint32_t sector,
                                             struct dice *dice) {
    uint32_t choice = 0, number = 0;
    for (const struct version *v = file->versions[sector]; v; v = v->newer) {
        number++;
        if (disk->ends[v->event] < disk->next || roll(dice, 2)) choice = number;
    }
    return content(file, sector, choice);
}

static void choose_sectors(const struct disk *disk, const struct file *file, enum loss loss, struct dice *dice,
                           unsigned char *image) {
    uint32_t chosen = file->open_count ? file->open[roll(dice, file->open_count)] : 0;
    for (uint32_t i = 0; i < file->open_count; i++) {
        uint32_t sector = file->open[i], versions = 0;
        for (const struct version *v = file->versions[sector]; v; v = v->newer) versions++;
        unsigned char *target = image + (uint64_t)sector * SECTOR;
        const unsigned char *from = NULL;
        switch (loss) {
        case LOSS_NONE: from = content(file, sector, versions); break;
        case LOSS_ANY: from = content(file, sector, roll(dice, versions + 1)); break;
        case LOSS_ONE: from = content(file, sector, sector == chosen ? 0 : versions); break;
        case LOSS_BUT_ONE: from = content(file, sector, sector == chosen ? versions : 0); break;
        case LOSS_PROCESS: from = content_in_cache(disk, file, sector, dice); break;
        case LOSS_TORN: choose_parts(file, sector, versions, false, dice, target); break;
        case LOSS_GARBAGE: choose_parts(file, sector, versions, true, dice, target); break;
        default: break;
        }
        if (from) memcpy(target, from, SECTOR);
    }
}

static uint64_t choose_size(const struct disk *disk, const struct file *file, enum loss loss, struct dice *dice) {
    uint32_t choice = 0;
    switch (loss) {
    case LOSS_NONE: case LOSS_ONE: choice = file->size_count; break;
    case LOSS_ANY: case LOSS_TORN: case LOSS_GARBAGE: choice = roll(dice, file->size_count + 1); break;
    case LOSS_PROCESS:
        for (uint32_t i = 0; i < file->size_count; i++) {
            if (disk->ends[file->sizes[i].event] < disk->next || roll(dice, 2)) choice = i + 1;
        }
        break;
    default: break;
    }
    return choice ? file->sizes[choice - 1].size : file->size;
}

static bool put_file(const char *folder, const char *name, const unsigned char *bytes, uint64_t size) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int descriptor = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0644);
    if (descriptor < 0) return false;
    uint64_t done = 0;
    while (done < size) {
        ssize_t count = pwrite(descriptor, bytes + done, size - done, (off_t)done);
        if (count <= 0) break;
        done += (uint64_t)count;
    }
    close(descriptor);
    return done == size;
}

bool disk_image(const struct disk *disk, enum loss loss, uint64_t seed, const char *folder) {
    struct dice dice = {mix(seed)};
    static struct disk named;
    memcpy(&named.names, &disk->names, sizeof named.names);
    named.name_count = disk->name_count;
    for (uint32_t i = 0; i < disk->change_count; i++) {
        bool is_there = loss == LOSS_NONE || loss == LOSS_ONE || loss == LOSS_PROCESS;
        if (loss == LOSS_ANY || loss == LOSS_TORN || loss == LOSS_GARBAGE) is_there = roll(&dice, 2);
        if (is_there) change_name(&named, &disk->changes[i]);
    }
    bool all = true;
    for (uint32_t i = 0; i < named.name_count; i++) {
        const struct file *file = &disk->files[named.names[i].file % FILES];
        unsigned char *image = malloc(file->room);
        memcpy(image, file->certain, file->room);
        // The part beyond the medium's size is zeros, unless it was written since.
        choose_sectors(disk, file, loss, &dice, image);
        all = put_file(folder, named.names[i].name, image, choose_size(disk, file, loss, &dice)) && all;
        free(image);
    }
    return all;
}
