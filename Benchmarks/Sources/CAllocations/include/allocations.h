// SPDX-License-Identifier: Apache-2.0
// Counts the calling thread's allocations, of this program and of all libraries that it has loaded.
#pragma once
#include <stdint.h>

/// Calls of malloc and its kin by this thread since it began.
uint64_t allocations_of_thread(void);
