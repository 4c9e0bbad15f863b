// SPDX-License-Identifier: Apache-2.0
// The few lines of C that can't be written in Swift: functions that glibc declares only under _GNU_SOURCE, code that
// runs inside a signal handler or between fork and the child's first instruction, and variables of a thread.
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/// Prefetches the cache line at `address`. Any address is allowed.
static inline void hbs_prefetch(const void *address) { __builtin_prefetch(address); }

/// Computes XXH3-64 with a seed, by instructions that not every processor has. Returns 1, or 0 without a result if the
/// processor doesn't have them.
int hbs_checksum_fast(const void *bytes, size_t count, uint64_t seed, uint64_t *result);

/// fallocate(2) with mode 0: real blocks, so that a later write can't fail for lack of space. Returns 0 or an errno.
int hbs_allocate(int descriptor, int64_t offset, int64_t length);

/// One pwritev2 with RWF_DSYNC: durable on return. Returns the number of bytes written, or -1 with errno.
ssize_t hbs_write_through(int descriptor, const void *bytes, size_t count, int64_t offset);

/// sync_file_range(2): starts writing the range's dirty pages back, without waiting. Returns 0 or an errno.
int hbs_start_write_back(int descriptor, int64_t offset, int64_t length);

/// posix_fadvise(2): starts reading the range into memory, without waiting. Does nothing if its first byte is in
/// memory, because posix_fadvise takes longer to walk such a range than this check takes. It is a hint, so failures are
/// ignored.
void hbs_start_read(int descriptor, int64_t offset, int64_t length);

/// Takes or gives up an open-file-description lock on `count` bytes from `start` (0: all from there), without waiting.
/// `mode` 0 gives up, 1 is shared, 2 is exclusive (and needs a descriptor that may write). Returns 0, EAGAIN/EACCES if
/// another description has the lock, or another errno.
int hbs_lock(int descriptor, int mode, int64_t start, int64_t count);

/// Finds one lock of another description, of either mode, on bytes of the range. `*found_count` is 0 if there is none.
/// Returns 0 or an errno.
int hbs_find_lock(int descriptor, int64_t start, int64_t count, int64_t *found_start, int64_t *found_count);

/// Opens the file of a descriptor again, with another open file description. Returns the descriptor, or -1 with errno
/// (if /proc is not mounted, for example).
int hbs_reopen(int descriptor, int flags);

/// Opens an unnamed file in `directory` (O_TMPFILE). Returns the descriptor, or -1 with errno: EOPNOTSUPP if it could
/// never get a name, because /proc is not mounted.
int hbs_open_unnamed(const char *directory, int mode);

/// Gives an unnamed file its name. Returns 0 or an errno: EEXIST if the name is taken.
int hbs_link_unnamed(int descriptor, const char *path);

/// Maps `length` bytes of the file read-only and shared, or anonymous writable memory if the descriptor is negative.
/// Returns NULL on failure, with errno. The range may reach beyond the end of the file.
void *hbs_map(int descriptor, size_t length);

/// Has the system provide the pages of anonymous memory before they are touched. A hint: systems before Linux 5.14
/// provide them when they are touched.
void hbs_provide(void *base, size_t length);

/// Maps a part of the file again to its place in a mapping that begins at `base`, instead of the guard's zeros.
void hbs_map_again(int descriptor, void *base, size_t offset, size_t count);

/// Names the calling thread for the system's tools; at most 15 bytes.
void hbs_name_thread(const char *name);

/// Returns the number of bytes left of the calling thread's stack. The number is larger than any stack if that is
/// unknown, or if the thread runs on a stack that the program has made itself.
size_t hbs_stack_room(void);

// Signals (guard.c)

/// Guards a mapping of a file against SIGBUS: a page that can't be read is replaced by zeros, and either the thread was
/// watching the page (below), or `*lost` becomes 1. Returns a number for the calls below, or -1 on failure; then a
/// fault ends the process as it would without a guard.
int hbs_guard_add(void *base, size_t length, uint32_t *lost);

/// Sets the bits of the mapping's verified pages, which are zeroed if the mapping is lost. NULL ends that.
void hbs_guard_set_bits(int guard, void *bits, size_t length);

/// Ends the guard. Must be called before the mapping is removed.
void hbs_guard_remove(int guard);

/// Begins a watch: this thread will read bytes that are not trusted yet, and only `hbs_guard_unwatch` reports a fault
/// in them.
void hbs_guard_watch(const void *start, size_t count);

/// Ends the watch. Returns whether there was a fault.
int hbs_guard_unwatch(void);

/// Makes a write beyond the limit on file sizes return EFBIG instead of ending the process, unless the program has its
/// own handler for SIGXFSZ. Later calls have no effect.
void hbs_survive_file_limit(void);

// Fork (fork.c)

/// Number of forks between the process in which this library was loaded and this one. Each transaction reads it more
/// than once.
extern uint32_t hbs_generation;
static inline uint32_t hbs_fork_generation(void) { return __atomic_load_n(&hbs_generation, __ATOMIC_RELAXED); }

/// Guards state that all stores of a process have in common. Held across a fork, so that it is free in the child, and
/// the guarded state is whole there. Must not be taken by a thread that has it.
void hbs_process_lock(void);
void hbs_process_unlock(void);

/// Notes a descriptor that a forked child must close at once, because locks belong to it. Returns 0, or -1 if there is
/// no memory for that.
int hbs_fork_close(int descriptor);

/// Forgets a descriptor. Must be called before it is closed.
void hbs_fork_forget(int descriptor);

// Stripes (stripes.c)

/// Number of stripes of a count that many threads change: a power of two, from 2 to 64, and within these limits at
/// least the number of processors that were online when the library was loaded.
extern uint32_t hbs_stripes;
static inline uint32_t hbs_stripe_count(void) { return hbs_stripes; }

/// The calling thread's stripe plus one; 0 if it has none yet. (With this model a read takes two instructions, in a
/// shared library too.)
extern _Thread_local uint32_t hbs_thread_stripe __attribute__((tls_model("initial-exec")));

/// Gives the calling thread its stripe and returns it. Threads get stripes in turn: up to the number of stripes, each
/// thread has its own.
uint32_t hbs_take_stripe(void);

/// The calling thread's stripe.
static inline uint32_t hbs_stripe(void) {
    uint32_t known = hbs_thread_stripe;
    return known != 0 ? known - 1 : hbs_take_stripe();
}
