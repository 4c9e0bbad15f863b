// SPDX-License-Identifier: Apache-2.0
// Controls callgrind's counting. The header belongs to valgrind's package; without it these functions do nothing.
#include "counts.h"

#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>

void instructions_begin(void) { CALLGRIND_START_INSTRUMENTATION; }

void instructions_end(const char *name) {
    CALLGRIND_DUMP_STATS_AT(name);
    CALLGRIND_STOP_INSTRUMENTATION;
}
#else
void instructions_begin(void) {}
void instructions_end(const char *name) { (void)name; }
#endif
