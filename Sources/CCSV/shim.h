// SPDX-License-Identifier: Apache-2.0
// The system's libcsv, a reader of comma-separated values.
#pragma once
#include <csv.h>
