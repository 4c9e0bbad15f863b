// SPDX-License-Identifier: Apache-2.0
// A disk as the log of a life leaves it: the certain content of the medium, and the possible contents. Makes the
// files that a power loss, or the death of the process, could leave at any event.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "preload.h"

struct disk;

// How the possible contents are chosen.
enum loss {
    LOSS_ALL,       // nothing unsynced is there
    LOSS_NONE,      // all of it is
    LOSS_ANY,       // each sector in any of its contents since it was synced
    LOSS_TORN,      // and mixed of several, in parts of 512 bytes
    LOSS_GARBAGE,   // and with parts that were never written
    LOSS_ONE,       // all is there but one sector
    LOSS_BUT_ONE,   // nothing is there but one sector
    LOSS_PROCESS,   // the machine goes on: all calls that returned have happened, those that had not, in part
    LOSS_KINDS
};

struct disk *disk_new(const struct event_log *log);
void disk_free(struct disk *disk);

// Returns the next event, which has now happened, or NULL at the end.
const struct event *disk_step(struct disk *disk);

// Returns the amount of uncertain content: if it is 0, all losses give the same files.
uint32_t disk_uncertain(const struct disk *disk);

// Writes the files to `folder`. Returns false if they could not be written.
bool disk_image(const struct disk *disk, enum loss loss, uint64_t seed, const char *folder);
