// SPDX-License-Identifier: Apache-2.0
// A program's own malloc replaces libc's for every library in the process. This one counts, and calls libc's.
#include "counts.h"

#include <errno.h>
#include <stddef.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *former, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

static __thread uint64_t count;

uint64_t allocations_of_thread(void) { return count; }

void *malloc(size_t size) {
    count++;
    return __libc_malloc(size);
}

void *calloc(size_t number, size_t size) {
    count++;
    return __libc_calloc(number, size);
}

void *realloc(void *former, size_t size) {
    count++;
    return __libc_realloc(former, size);
}

void *memalign(size_t alignment, size_t size) {
    count++;
    return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }

int posix_memalign(void **result, size_t alignment, size_t size) {
    void *memory = memalign(alignment, size);
    if (memory == NULL) return ENOMEM;
    *result = memory;
    return 0;
}
