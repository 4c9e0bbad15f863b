// SPDX-License-Identifier: Apache-2.0
// ICU's C interface, under names of our own. ICU renames its functions by macros (ucol_open becomes ucol_open_72),
// which Swift does not see. ICU's own headers can't be included here either: Foundation brings a copy of ICU with other
// versions of its types, and no Swift file can see both. So the functions that Hornbeam calls are declared by hand,
// after ICU's stable C interface: an enum is an int32_t, a UChar a uint16_t, a UBool an int8_t. A status above zero is
// a failure, zero is success, below zero is a warning. No logic belongs here.
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <unicode/uvernum.h>  // macros only: the version that is in the functions' names

/// A collator (UCollator).
typedef struct hb_icu_collator hb_icu_collator;
/// A set of strings (USet).
typedef struct hb_icu_set hb_icu_set;

#define HB_ICU(name) U_ICU_ENTRY_POINT_RENAME(name)
const char *HB_ICU(u_errorName)(int32_t status);
void HB_ICU(u_getUnicodeVersion)(uint8_t *four);
const char *HB_ICU(uloc_getISO3Language)(const char *locale);
hb_icu_collator *HB_ICU(ucol_open)(const char *locale, int32_t *status);
void HB_ICU(ucol_close)(hb_icu_collator *collator);
void HB_ICU(ucol_setAttribute)(hb_icu_collator *collator, int32_t attribute, int32_t value, int32_t *status);
void HB_ICU(ucol_getVersion)(const hb_icu_collator *collator, uint8_t *four);
int32_t HB_ICU(ucol_getSortKey)(
    const hb_icu_collator *collator, const uint16_t *text, int32_t count, uint8_t *key, int32_t capacity);
void HB_ICU(ucol_getContractionsAndExpansions)(
    const hb_icu_collator *collator, hb_icu_set *contractions, hb_icu_set *expansions, int8_t prefixes,
    int32_t *status);
hb_icu_set *HB_ICU(uset_openEmpty)(void);
void HB_ICU(uset_close)(hb_icu_set *set);
int32_t HB_ICU(uset_getItemCount)(const hb_icu_set *set);
int32_t HB_ICU(uset_getItem)(
    const hb_icu_set *set, int32_t index, int32_t *start, int32_t *end, uint16_t *text, int32_t capacity,
    int32_t *status);
/// A search for the bounds of words (UBreakIterator).
typedef struct hb_icu_breaks hb_icu_breaks;
hb_icu_breaks *HB_ICU(ubrk_open)(
    int32_t type, const char *locale, const uint16_t *text, int32_t count, int32_t *status);
void HB_ICU(ubrk_close)(hb_icu_breaks *breaks);
int32_t HB_ICU(ubrk_next)(hb_icu_breaks *breaks);
int32_t HB_ICU(u_strFoldCase)(
    uint16_t *result, int32_t capacity, const uint16_t *text, int32_t count, uint32_t options, int32_t *status);

// Errors, versions, locales

static inline const char *hb_icu_error_name(int32_t status) { return HB_ICU(u_errorName)(status); }

/// Four numbers: the version of Unicode that ICU's data follows.
static inline void hb_icu_unicode_version(uint8_t *four) { HB_ICU(u_getUnicodeVersion)(four); }

/// Returns the three-letter code of a locale's language, or "" if ICU doesn't know the language.
static inline const char *hb_icu_language_code(const char *locale) { return HB_ICU(uloc_getISO3Language)(locale); }

// Collation

static inline hb_icu_collator *hb_icu_collator_open(const char *locale, int32_t *status) {
    *status = 0;
    return HB_ICU(ucol_open)(locale, status);
}

static inline void hb_icu_collator_close(hb_icu_collator *collator) { HB_ICU(ucol_close)(collator); }

/// Gives punctuation and symbols weights of their own, and makes texts in any normalisation form compare correctly.
static inline void hb_icu_collator_keep_symbols(hb_icu_collator *collator, int32_t *status) {
    *status = 0;
    HB_ICU(ucol_setAttribute)(collator, /* UCOL_ALTERNATE_HANDLING */ 1, /* UCOL_NON_IGNORABLE */ 21, status);
    HB_ICU(ucol_setAttribute)(collator, /* UCOL_NORMALIZATION_MODE */ 4, /* UCOL_ON */ 17, status);
}

/// Makes the collator ignore case if `letter_case` isn't 0, and accents if `accents` isn't 0.
static inline void hb_icu_collator_ignore(
    hb_icu_collator *collator, int32_t letter_case, int32_t accents, int32_t *status) {
    *status = 0;
    HB_ICU(ucol_setAttribute)
    (collator, /* UCOL_STRENGTH */ 5, accents ? /* UCOL_PRIMARY */ 0 : /* UCOL_SECONDARY */ 1, status);
    if (!letter_case) HB_ICU(ucol_setAttribute)(collator, /* UCOL_CASE_LEVEL */ 3, /* UCOL_ON */ 17, status);
}

/// Four numbers that change whenever sort keys may change: the version of ICU's code, its data and the locale's rules.
static inline void hb_icu_collator_version(const hb_icu_collator *collator, uint8_t *four) {
    HB_ICU(ucol_getVersion)(collator, four);
}

/// Returns the size of the sort key with its closing zero byte, also if it is above `capacity`; 0 on failure.
static inline int32_t hb_icu_sort_key(
    const hb_icu_collator *collator, const uint16_t *text, int32_t count, uint8_t *key, int32_t capacity) {
    return HB_ICU(ucol_getSortKey)(collator, text, count, key, capacity);
}

/// Adds to `set` all strings whose weights differ from the weights of their characters one by one.
static inline void hb_icu_collator_contractions(
    const hb_icu_collator *collator, hb_icu_set *set, int32_t *status) {
    *status = 0;
    HB_ICU(ucol_getContractionsAndExpansions)(collator, set, NULL, 0, status);
}

static inline hb_icu_set *hb_icu_set_open(void) { return HB_ICU(uset_openEmpty)(); }

static inline void hb_icu_set_close(hb_icu_set *set) { HB_ICU(uset_close)(set); }

static inline int32_t hb_icu_set_item_count(const hb_icu_set *set) { return HB_ICU(uset_getItemCount)(set); }

/// Returns the length of the item's string in UTF-16 units, also if it is above `capacity`. Below 2, the item is a
/// range of characters.
static inline int32_t hb_icu_set_item(const hb_icu_set *set, int32_t index, uint16_t *text, int32_t capacity) {
    int32_t status = 0, start = 0, end = 0;
    return HB_ICU(uset_getItem)(set, index, &start, &end, text, capacity, &status);
}

// Words (only tests use them, for comparison)

/// `text` must outlive the search.
static inline hb_icu_breaks *hb_icu_words(const uint16_t *text, int32_t count) {
    int32_t status = 0;
    hb_icu_breaks *breaks = HB_ICU(ubrk_open)(/* UBRK_WORD */ 1, "", text, count, &status);
    return status > 0 ? NULL : breaks;
}

/// Returns the next bound after the start of the text, in UTF-16 units, or −1 at the end.
static inline int32_t hb_icu_next_word(hb_icu_breaks *breaks) { return HB_ICU(ubrk_next)(breaks); }

static inline void hb_icu_words_close(hb_icu_breaks *breaks) { HB_ICU(ubrk_close)(breaks); }

// Case

/// Folds case fully, without the Turkic exceptions. Returns the length of the result, also if it is above `capacity`,
/// which is no failure.
static inline int32_t hb_icu_fold_case(
    uint16_t *result, int32_t capacity, const uint16_t *text, int32_t count, int32_t *status) {
    *status = 0;
    int32_t length = HB_ICU(u_strFoldCase)(result, capacity, text, count, /* U_FOLD_CASE_DEFAULT */ 0, status);
    if (*status == /* U_BUFFER_OVERFLOW_ERROR */ 15) *status = 0;
    return length;
}
