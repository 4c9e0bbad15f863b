// SPDX-License-Identifier: Apache-2.0
// XXH3-64 from the system's libxxhash.
#pragma once
#include <xxhash.h>
