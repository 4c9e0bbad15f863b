// SPDX-License-Identifier: Apache-2.0
// LZ4 blocks from the system's liblz4.
#pragma once
#include <lz4.h>
