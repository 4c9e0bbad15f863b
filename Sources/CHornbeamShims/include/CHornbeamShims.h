// SPDX-License-Identifier: Apache-2.0
// The few lines of C that Swift can't say: what glibc declares only under _GNU_SOURCE. No logic here.
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/// Asks for the cache line at `address`, which may be any.
static inline void hbs_prefetch(const void *address) { __builtin_prefetch(address); }

/// fallocate(2) with mode 0: real blocks, so that a later write can't fail for want of space. Returns 0 or an errno.
int hbs_allocate(int descriptor, int64_t offset, int64_t length);

/// One pwritev2 with RWF_DSYNC: durable when it returns. Bytes written, or -1 with errno.
ssize_t hbs_write_through(int descriptor, const void *bytes, size_t count, int64_t offset);

/// sync_file_range(2): begins writing the range's dirty pages back, waits for none. Returns 0 or an errno.
int hbs_start_write_back(int descriptor, int64_t offset, int64_t length);

/// Takes an open-file-description write lock (read lock if `shared`) on the whole file without waiting.
/// Returns 0, EAGAIN/EACCES if another description holds it, or another errno.
int hbs_lock(int descriptor, int shared);

/// Gives the lock up. Needed before closing: a mapping keeps the file description, and with it the lock, alive.
void hbs_unlock(int descriptor);

/// Opens an unnamed file in `directory` (O_TMPFILE). Descriptor, or -1 with errno.
int hbs_open_unnamed(const char *directory, int mode);

/// Gives an unnamed file its name; fails with EEXIST if the name is taken. Returns 0 or an errno.
int hbs_link_unnamed(int descriptor, const char *path);

/// Maps `length` bytes of the file read-only and shared (anonymous memory if the descriptor is negative,
/// then writable). NULL on failure, with errno. The range may reach beyond the end of the file.
void *hbs_map(int descriptor, size_t length);
