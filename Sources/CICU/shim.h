// SPDX-License-Identifier: Apache-2.0
// ICU's C interface. ICU renames its functions by macros (ucol_open becomes ucol_open_72), which Swift does not see:
// what Hornbeam calls is wrapped here under names of its own.
#pragma once
#include <unicode/ucol.h>
#include <unicode/unorm2.h>
