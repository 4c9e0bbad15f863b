// SPDX-License-Identifier: Apache-2.0
// The events that the preloaded library (preload.c) records for every call of a process on the files of one folder,
// and how the tests control it. The log is an array of bytes in shared memory, so that it outlives a child that was
// killed.
#pragma once
#include <stddef.h>
#include <stdint.h>

enum event_kind {
    EVENT_FILE = 1,     // file: a new file; data: its content if it was there before (whole and durable then)
    EVENT_NAME,         // file got the name in data; durable at the next EVENT_FOLDER_SYNC_END with a result of 0
    EVENT_UNNAME,       // the name in data is gone
    EVENT_RENAME,       // data: old name, 0, new name
    EVENT_WRITE,        // file, offset, data; `through`: durable when it has ended
    EVENT_SIZE,         // file, offset: its new size (allocated, cut or written)
    EVENT_SYNC,         // file
    EVENT_FOLDER_SYNC,
    EVENT_END,          // of the event `of`: result; `cached`: the bytes of a failed write are in the page cache
    EVENT_MARK,         // mark, values
};

struct event {
    uint32_t size; // of the whole event with its data, a multiple of 8
    uint16_t kind;
    uint16_t file;
    uint32_t of;   // EVENT_END: the index of the event that ended
    uint16_t through;
    uint16_t cached;
    int64_t result;
    uint64_t offset;
    uint64_t values[4]; // EVENT_MARK
    uint64_t count;     // bytes of data
    unsigned char data[];
};

struct event_log {
    uint64_t capacity;
    _Atomic uint64_t used;
    _Atomic uint32_t events;
    _Atomic uint32_t lost;     // events that found no room: the log is useless
    _Atomic uint32_t forbidden; // calls that change a file unseen, such as a writable shared mapping
    unsigned char bytes[];
};

// The calls that can fail, in the order of `call_names` in preload.c.
enum call {
    CALL_OPEN, CALL_FSTAT, CALL_LOCK, CALL_MMAP, CALL_FALLOCATE, CALL_FTRUNCATE, CALL_PWRITE, CALL_PWRITEV2,
    CALL_FDATASYNC, CALL_FSYNC, CALL_SYNC_RANGE, CALL_LINK, CALL_UNLINK, CALL_PREAD, CALL_THREAD, CALL_COUNT
};

enum fault_mode {
    FAULT_ERROR,      // nothing happens, the call fails
    FAULT_AFTER,      // it happens, then the call fails (a sync: the dirty bytes are dropped from the next sync)
    FAULT_HALF,       // half of it happens, then the call fails
    FAULT_SHORT,      // half of it happens, and the call says so
    FAULT_ZERO,       // nothing happens, and the call says so: 0 bytes
};

struct fault {
    uint32_t call, mode;
    int32_t error;
    uint32_t first; // the first call of the kind that fails, from 1
    uint32_t times; // how many fail in a row
};

// Functions of the preloaded library. Weak: they are NULL in a process without it.
#define WEAK __attribute__((weak))
WEAK void outside_watch(const char *folder);             // from now on, files in this folder are watched
WEAK void outside_record(struct event_log *log);         // NULL ends it
WEAK void outside_arm(const struct fault *fault);        // NULL: none
WEAK uint32_t outside_calls(uint32_t call);              // how often it was made since `outside_arm`
WEAK uint32_t outside_faults(void);                      // how many calls failed since `outside_arm`
WEAK void outside_slow(uint32_t milliseconds);           // each write-through takes as long from now on
WEAK void outside_mark(uint64_t mark, uint64_t first, uint64_t second, uint64_t third);
