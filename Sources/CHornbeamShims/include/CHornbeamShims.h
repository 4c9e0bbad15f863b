// SPDX-License-Identifier: Apache-2.0
// The few lines of C that Swift can't say: what glibc declares only under _GNU_SOURCE, what must run inside a signal
// handler or between fork and the child's first instruction, and variables of a thread.
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/// Asks for the cache line at `address`, which may be any.
static inline void hbs_prefetch(const void *address) { __builtin_prefetch(address); }

/// XXH3-64 with a seed, by instructions that not every processor has. 0 if this one hasn't: nothing is done then.
int hbs_checksum_fast(const void *bytes, size_t count, uint64_t seed, uint64_t *result);

/// fallocate(2) with mode 0: real blocks, so that a later write can't fail for want of space. Returns 0 or an errno.
int hbs_allocate(int descriptor, int64_t offset, int64_t length);

/// One pwritev2 with RWF_DSYNC: durable when it returns. Bytes written, or -1 with errno.
ssize_t hbs_write_through(int descriptor, const void *bytes, size_t count, int64_t offset);

/// sync_file_range(2): begins writing the range's dirty pages back, waits for none. Returns 0 or an errno.
int hbs_start_write_back(int descriptor, int64_t offset, int64_t length);

/// posix_fadvise(2): begins reading the range into memory, waits for none, unless its first byte is there already: to go
/// through what is there takes longer than to ask. Whatever fails: it is a hint.
void hbs_start_read(int descriptor, int64_t offset, int64_t length);

/// Takes or gives up an open-file-description lock on `count` bytes from `start` (0: all from there), without waiting.
/// `mode` 0 gives up, 1 is shared, 2 exclusive (and needs a descriptor that may write). Returns 0, EAGAIN/EACCES if another description
/// holds it, or another errno.
int hbs_lock(int descriptor, int mode, int64_t start, int64_t count);

/// Finds one lock of another description, of either mode, on bytes of the range. `*found_count` is 0 if there is none.
/// Returns 0 or an errno.
int hbs_find_lock(int descriptor, int64_t start, int64_t count, int64_t *found_start, int64_t *found_count);

/// Opens the file behind a descriptor again: another open file description of the same file. Descriptor, or -1 with
/// errno (where /proc is not mounted, for one).
int hbs_reopen(int descriptor, int flags);

/// Opens an unnamed file in `directory` (O_TMPFILE). Descriptor, or -1 with errno: EOPNOTSUPP where it could not be given
/// a name, because /proc is not mounted.
int hbs_open_unnamed(const char *directory, int mode);

/// Gives an unnamed file its name; fails with EEXIST if the name is taken. Returns 0 or an errno.
int hbs_link_unnamed(int descriptor, const char *path);

/// Maps `length` bytes of the file read-only and shared (anonymous memory if the descriptor is negative,
/// then writable). NULL on failure, with errno. The range may reach beyond the end of the file.
void *hbs_map(int descriptor, size_t length);

/// Maps a part of the file again to its place in a mapping that begins at `base`, in place of what the guard put there.
void hbs_map_again(int descriptor, void *base, size_t offset, size_t count);

/// Names the calling thread, for the system's tools; 15 bytes at most.
void hbs_name_thread(const char *name);

/// Returns the bytes that are left of the calling thread's stack. The number is larger than any stack if the system
/// doesn't tell, or if the thread runs on a stack that the program has made for itself.
size_t hbs_stack_room(void);

// Signals (guard.c)

/// Guards a mapping of a file against SIGBUS: a page that can't be read is replaced by zeros; then either the thread was
/// watching the page (below), or `*lost` becomes 1. Returns a number for the calls below, or -1 if it could not be done:
/// then a fault ends the process as ever.
int hbs_guard_add(void *base, size_t length, uint32_t *lost);

/// The bits that say which pages of the mapping were verified: zeroed when it is lost. NULL: none any more.
void hbs_guard_set_bits(int guard, void *bits, size_t length);

/// Ends the guard; before the mapping goes.
void hbs_guard_remove(int guard);

/// This thread is about to look at bytes that nobody trusts yet: a fault in them is told by `hbs_guard_unwatch` alone.
void hbs_guard_watch(const void *start, size_t count);

/// Ends the watch; whether a fault came.
int hbs_guard_unwatch(void);

/// A write beyond the limit on the size of files gives EFBIG and not the end of the process, unless the program has its
/// own handler for SIGXFSZ. Without effect the second time.
void hbs_survive_file_limit(void);

// Fork (fork.c)

/// How many forks lie between the process in which this library was loaded and this one. Each transaction asks for it
/// more than once.
extern uint32_t hbs_generation;
static inline uint32_t hbs_fork_generation(void) { return __atomic_load_n(&hbs_generation, __ATOMIC_RELAXED); }

/// Guards what all stores of a process share. Held across a fork, so that it is free in the child and what it guards is
/// whole there. Never taken by one who has it.
void hbs_process_lock(void);
void hbs_process_unlock(void);

/// A descriptor that a forked child must close at once, because locks hang from it. Returns 0, or -1 if there is no
/// memory to take note of it.
int hbs_fork_close(int descriptor);

/// Before the descriptor is closed in the ordinary way.
void hbs_fork_forget(int descriptor);

// Stripes (stripes.c)

/// In how many stripes counts are kept that many threads change: a power of two, from 2 to 64, and in between at least
/// the number of processors that were online when the library was loaded.
extern uint32_t hbs_stripes;
static inline uint32_t hbs_stripe_count(void) { return hbs_stripes; }

/// The calling thread's stripe plus one; 0: it has none yet. (The model makes it two instructions, in a shared library too.)
extern _Thread_local uint32_t hbs_thread_stripe __attribute__((tls_model("initial-exec")));

/// Gives the calling thread its stripe. Threads get them in turn: as many threads as there are stripes have one each.
uint32_t hbs_take_stripe(void);

/// The calling thread's stripe.
static inline uint32_t hbs_stripe(void) {
    uint32_t known = hbs_thread_stripe;
    return known != 0 ? known - 1 : hbs_take_stripe();
}
