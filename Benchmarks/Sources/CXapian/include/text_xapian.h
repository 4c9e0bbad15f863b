// SPDX-License-Identifier: Apache-2.0
// The part of Xapian that the benchmarks of full text need, for C. Texts become terms by the rule that the other
// engines follow: runs of letters and digits, in lower case.
#ifndef TEXT_XAPIAN_H
#define TEXT_XAPIAN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct text_xapian text_xapian;
typedef struct text_xapian_query text_xapian_query;

/// The content of a document's index.
enum { TEXT_XAPIAN_NOTHING, TEXT_XAPIAN_TERMS, TEXT_XAPIAN_POSITIONS, TEXT_XAPIAN_STEMS };

/// Returns NULL on failure; `text_xapian_error` gives the reason, here and below.
text_xapian *text_xapian_open(const char *path, int is_writable, int indexes);
void text_xapian_close(text_xapian *database);
/// The error of the calling thread.
const char *text_xapian_error(void);

/// Replaces the document with this number, if there is one; numbers begin with 0. Returns 0, or -1 on failure.
int text_xapian_put(text_xapian *database, uint32_t number, int group, const char *text, size_t size);
int text_xapian_remove(text_xapian *database, uint32_t number);
/// Makes the changes durable.
int text_xapian_commit(text_xapian *database);
/// Makes the commits of others visible in a database that is open for reading.
int text_xapian_reopen(text_xapian *database);

enum { TEXT_XAPIAN_ANY, TEXT_XAPIAN_ALL, TEXT_XAPIAN_PHRASE, TEXT_XAPIAN_PREFIX, TEXT_XAPIAN_NEAR };

/// `distance`: the greatest distance of words near each other; the distance of adjacent words is 1. `group`: the
/// group of the documents, or -1. The query is freed by `text_xapian_query_free`.
text_xapian_query *text_xapian_query_make(
    const text_xapian *database, int kind, const char *const *words, int count, int distance, int group);
void text_xapian_query_free(text_xapian_query *query);

/// Finds the best documents by BM25, best first. Returns their number, or -1. If `bytes` isn't NULL, the texts are
/// read, and `bytes` gets their total size.
int text_xapian_best(
    text_xapian *database, const text_xapian_query *query, int limit, uint32_t *numbers, double *scores, size_t *bytes);
/// Returns the exact number of matching documents, or -1.
int64_t text_xapian_count(text_xapian *database, const text_xapian_query *query);

#ifdef __cplusplus
}
#endif
#endif
