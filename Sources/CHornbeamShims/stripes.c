// SPDX-License-Identifier: Apache-2.0
// Chooses the stripe of a striped count that a thread writes.
#include "CHornbeamShims.h"

#include <stdatomic.h>
#include <unistd.h>

_Thread_local uint32_t hbs_thread_stripe;

uint32_t hbs_stripes = 2;

static atomic_uint threads;

// Runs when the library is loaded, before any use, because the number must stay constant.
__attribute__((constructor(101))) static void prepare(void) {
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    while (hbs_stripes < 64 && (long)hbs_stripes < processors) hbs_stripes *= 2;
}

uint32_t hbs_take_stripe(void) {
    unsigned thread = atomic_fetch_add_explicit(&threads, 1, memory_order_relaxed);
    hbs_thread_stripe = thread % hbs_stripe_count() + 1;
    return hbs_thread_stripe - 1;
}
