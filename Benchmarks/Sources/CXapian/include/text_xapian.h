// SPDX-License-Identifier: Apache-2.0
// Xapian for C: what the benchmarks of full text need of it. Texts become terms by the rule that the other engines
// follow: runs of letters and digits, in lower case.
#ifndef TEXT_XAPIAN_H
#define TEXT_XAPIAN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct text_xapian text_xapian;
typedef struct text_xapian_query text_xapian_query;

/// What a document is indexed with.
enum { TEXT_XAPIAN_NOTHING, TEXT_XAPIAN_TERMS, TEXT_XAPIAN_POSITIONS, TEXT_XAPIAN_STEMS };

/// NULL on failure; `text_xapian_error` tells why, here and below.
text_xapian *text_xapian_open(const char *path, int is_writable, int indexes);
void text_xapian_close(text_xapian *database);
/// Of the calling thread.
const char *text_xapian_error(void);

/// 0, or -1 on failure. Replaces the document of this number if there is one; numbers begin with 0.
int text_xapian_put(text_xapian *database, uint32_t number, int group, const char *text, size_t size);
int text_xapian_remove(text_xapian *database, uint32_t number);
/// Makes the changes durable.
int text_xapian_commit(text_xapian *database);
/// Shows a database that is open for reading what others have committed.
int text_xapian_reopen(text_xapian *database);

enum { TEXT_XAPIAN_ANY, TEXT_XAPIAN_ALL, TEXT_XAPIAN_PHRASE, TEXT_XAPIAN_PREFIX, TEXT_XAPIAN_NEAR };

/// `distance`: how far words that are near each other may be apart, 1 is next to each other. `group`: of which the
/// documents must be, or -1. Freed by `text_xapian_query_free`.
text_xapian_query *text_xapian_query_make(
    const text_xapian *database, int kind, const char *const *words, int count, int distance, int group);
void text_xapian_query_free(text_xapian_query *query);

/// The best documents by BM25, best first; how many, or -1. `bytes`, if not NULL: the texts are read, and their sizes
/// summed up there.
int text_xapian_best(
    text_xapian *database, const text_xapian_query *query, int limit, uint32_t *numbers, double *scores, size_t *bytes);
/// How many documents match, exactly, or -1.
int64_t text_xapian_count(text_xapian *database, const text_xapian_query *query);

#ifdef __cplusplus
}
#endif
#endif
