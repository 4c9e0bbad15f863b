// SPDX-License-Identifier: Apache-2.0
// The counters of a process.
#pragma once

#include <stdint.h>

/// Number of calls of malloc, calloc, realloc and memalign in this thread so far.
uint64_t allocations_of_thread(void);

/// Under valgrind's callgrind (started with --instr-atstart=no), instructions are counted between these two calls and
/// written to a file with the given name. Otherwise they do nothing.
void instructions_begin(void);
void instructions_end(const char *name);
