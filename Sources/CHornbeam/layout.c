// SPDX-License-Identifier: Apache-2.0
// Checks that the header has the layout that programs were compiled with: a field may be added to hb_options at its
// end, but nothing else may ever move. Must never contain code.

#include "hornbeam.h"

_Static_assert(sizeof(void *) == 8, "handles and sizes have 64 bits");
_Static_assert(sizeof(hb_slice) == 16 && offsetof(hb_slice, size) == 8, "hb_slice");
_Static_assert(offsetof(hb_options, durability) == 8, "hb_options.durability");
_Static_assert(offsetof(hb_options, page_size) == 12, "hb_options.page_size");
_Static_assert(offsetof(hb_options, cache_bytes) == 16, "hb_options.cache_bytes");
_Static_assert(offsetof(hb_options, checkpoint_bytes) == 24, "hb_options.checkpoint_bytes");
_Static_assert(offsetof(hb_options, read_only) == 32, "hb_options.read_only");
_Static_assert(offsetof(hb_options, in_memory) == 36, "hb_options.in_memory");
_Static_assert(offsetof(hb_options, lock_wait_ms) == 40, "hb_options.lock_wait_ms");
_Static_assert(sizeof(hb_options) == 48, "hb_options");
