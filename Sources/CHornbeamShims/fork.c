// SPDX-License-Identifier: Apache-2.0
// Closes the descriptors of stores in a forked child. Parent and child share the open file descriptions to which locks
// belong: if the child didn't close them at once, the locks would outlive a parent that dies. Between fork and the
// first instruction of the child only async-signal-safe calls are allowed; close is one.
#include "CHornbeamShims.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

enum { capacity = 255 };

/// A piece of the table, which grows and is never freed, so that the child may walk it whatever other threads were
/// doing.
struct piece {
    /// Descriptor plus one; 0 in a free place.
    atomic_int descriptors[capacity];
    _Atomic(struct piece *) next;
};

uint32_t hbs_generation;
static struct piece first;
static pthread_mutex_t process_mutex = PTHREAD_MUTEX_INITIALIZER;

void hbs_process_lock(void) { pthread_mutex_lock(&process_mutex); }

void hbs_process_unlock(void) { pthread_mutex_unlock(&process_mutex); }

static void in_child(void) {
    hbs_process_unlock();
    __atomic_fetch_add(&hbs_generation, 1, __ATOMIC_RELAXED);
    for (struct piece *piece = &first; piece != NULL; piece = atomic_load(&piece->next)) {
        for (int index = 0; index < capacity; index++) {
            int held = atomic_exchange(&piece->descriptors[index], 0);
            if (held > 0) close(held - 1);
        }
    }
}

// Runs when the library is loaded: a fork could come in the middle of the first use.
__attribute__((constructor)) static void prepare(void) {
    pthread_atfork(hbs_process_lock, hbs_process_unlock, in_child);
}

static struct piece *next_of(struct piece *piece) {
    struct piece *next = atomic_load(&piece->next);
    if (next != NULL) return next;
    struct piece *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL) return NULL;
    if (atomic_compare_exchange_strong(&piece->next, &next, fresh)) return fresh;
    free(fresh);
    return next;
}

int hbs_fork_close(int descriptor) {
    for (struct piece *piece = &first; piece != NULL; piece = next_of(piece)) {
        for (int index = 0; index < capacity; index++) {
            int empty = 0;
            if (atomic_compare_exchange_strong(&piece->descriptors[index], &empty, descriptor + 1)) return 0;
        }
    }
    return -1;
}

void hbs_fork_forget(int descriptor) {
    for (struct piece *piece = &first; piece != NULL; piece = atomic_load(&piece->next)) {
        for (int index = 0; index < capacity; index++) {
            int held = descriptor + 1;
            if (atomic_compare_exchange_strong(&piece->descriptors[index], &held, 0)) return;
        }
    }
}
