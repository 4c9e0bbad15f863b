// SPDX-License-Identifier: Apache-2.0
// The guard against SIGBUS: touching a page of a mapped file that can't be read (cut off from outside, a fault of the
// medium) must become an error of the store and not end the process. The handler puts a page of zeros there and notes
// that. Faults outside guarded mappings go to the former handler.
//
// All calls in the handler are async-signal-safe, or plain system calls: mmap, sigaction, raise.
#define _GNU_SOURCE
#include "CHornbeamShims.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { capacity = 16384 };

/// A guarded mapping. `base` is stored last and cleared first: a handler that sees it sees the other fields.
struct guard {
    atomic_uintptr_t base;
    size_t length;
    uint32_t *lost;
    _Atomic(void *) bits;
    size_t bits_length;
};

static struct guard guards[capacity];
// Guards from this index on were never used. Changes under the process's lock.
static atomic_int used;
static struct sigaction former;
// Whether the handler is installed, which happens once: 1, or -1 if that failed. Changes under the process's lock, as
// the guards do.
static int installed;
static uintptr_t page_size;

// This thread writes these before any fault, so the handler never creates them.
#define THREAD static __thread __attribute__((tls_model("initial-exec")))
THREAD volatile uintptr_t watched_start;
THREAD volatile uintptr_t watched_end;
THREAD volatile int watched_faulted;

static int repair(uintptr_t address) {
    int end = atomic_load_explicit(&used, memory_order_acquire);
    for (int index = 0; index < end; index++) {
        struct guard *guard = &guards[index];
        uintptr_t base = atomic_load_explicit(&guard->base, memory_order_acquire);
        if (base == 0 || address < base || address - base >= guard->length) continue;
        void *page = (void *)(address & ~(page_size - 1));
        int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
        int is_watched = address >= watched_start && address < watched_end;
        // Before the zeros appear, so that a thread that reads them and then checks `lost` sees it set.
        if (!is_watched) __atomic_store_n(guard->lost, 1, __ATOMIC_SEQ_CST);
        if (mmap(page, page_size, PROT_READ, flags, -1, 0) == MAP_FAILED) return 0;
        if (is_watched) {
            watched_faulted = 1;
            return 1;
        }
        // A page that was verified may have zeros now, so from here on none counts as verified.
        void *bits = atomic_load_explicit(&guard->bits, memory_order_acquire);
        if (bits != NULL) {
            mmap(bits, guard->bits_length, PROT_READ | PROT_WRITE, flags | MAP_NORESERVE, -1, 0);
        }
        return 1;
    }
    return 0;
}

static void pass_on(int number, siginfo_t *information, void *context) {
    // First, because SA_SIGINFO may be set even if there is no handler.
    if (former.sa_handler == SIG_IGN && information->si_code <= 0) {
        return;
    } else if (former.sa_handler == SIG_DFL || former.sa_handler == SIG_IGN) {
        // The instruction faults again and ends the process as it would without this handler. A signal that was sent is
        // sent again.
        sigaction(number, &former, NULL);
        if (information->si_code <= 0) raise(number);
    } else if (former.sa_flags & SA_SIGINFO) {
        former.sa_sigaction(number, information, context);
    } else {
        former.sa_handler(number);
    }
}

static void on_fault(int number, siginfo_t *information, void *context) {
    int code = errno;
    if (information->si_code <= 0 || !repair((uintptr_t)information->si_addr)) {
        pass_on(number, information, context);
    }
    errno = code;
}

static void install(void) {
    page_size = (uintptr_t)sysconf(_SC_PAGESIZE);
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    installed = sigaction(SIGBUS, &action, &former) == 0 ? 1 : -1;
}

int hbs_guard_add(void *base, size_t length, uint32_t *lost) {
    hbs_process_lock();
    if (installed == 0) install();
    int found = -1;
    for (int index = 0; index < capacity && found < 0 && installed > 0; index++) {
        struct guard *guard = &guards[index];
        if (atomic_load_explicit(&guard->base, memory_order_relaxed) != 0) continue;
        found = index;
        guard->length = length;
        guard->lost = lost;
        atomic_store_explicit(&guard->bits, NULL, memory_order_relaxed);
        atomic_store_explicit(&guard->base, (uintptr_t)base, memory_order_release);
        if (index >= atomic_load_explicit(&used, memory_order_relaxed)) {
            atomic_store_explicit(&used, index + 1, memory_order_release);
        }
    }
    hbs_process_unlock();
    return found;
}

void hbs_guard_set_bits(int guard, void *bits, size_t length) {
    if (guard < 0) return;
    if (bits != NULL) guards[guard].bits_length = length;
    atomic_store_explicit(&guards[guard].bits, bits, memory_order_release);
}

void hbs_guard_remove(int guard) {
    if (guard < 0) return;
    atomic_store_explicit(&guards[guard].base, 0, memory_order_release);
}

void hbs_guard_watch(const void *start, size_t count) {
    watched_faulted = 0;
    watched_start = (uintptr_t)start;
    watched_end = (uintptr_t)start + count;
}

int hbs_guard_unwatch(void) {
    watched_end = 0;
    watched_start = 0;
    return watched_faulted;
}

static void ignore(int number) { (void)number; }

static void install_file_limit(void) {
    struct sigaction current;
    if (sigaction(SIGXFSZ, NULL, &current) != 0) return;
    if ((current.sa_flags & SA_SIGINFO) || current.sa_handler != SIG_DFL) return;
    // A handler and not SIG_IGN, which programs that the process executes would inherit.
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = ignore;
    action.sa_flags = SA_RESTART | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    sigaction(SIGXFSZ, &action, NULL);
}

void hbs_survive_file_limit(void) {
    static pthread_once_t once_limit = PTHREAD_ONCE_INIT;
    pthread_once(&once_limit, install_file_limit);
}
