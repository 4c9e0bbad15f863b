// SPDX-License-Identifier: Apache-2.0
// What a process counts of itself.
#pragma once

#include <stdint.h>

/// Calls of malloc, calloc, realloc and memalign in this thread so far.
uint64_t allocations_of_thread(void);

/// Under valgrind's callgrind (started with --instr-atstart=no), counts instructions between these two, and has what it
/// counted written to a file that bears the name. Otherwise they do nothing.
void instructions_begin(void);
void instructions_end(const char *name);
