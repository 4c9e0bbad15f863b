// SPDX-License-Identifier: Apache-2.0
// The stemming algorithms of Snowball from the system's libstemmer.
#pragma once
#include <libstemmer.h>
