// SPDX-License-Identifier: Apache-2.0
// The reader of comma-separated values of the system's libcsv.
#pragma once
#include <csv.h>
