// SPDX-License-Identifier: Apache-2.0
// Xapian for C. No exception leaves this file.

#include <xapian.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "text_xapian.h"

namespace {

thread_local std::string last_error;

template <typename Body> auto guarded(Body body, decltype(body()) failure) -> decltype(body()) {
    try {
        return body();
    } catch (const Xapian::Error &error) {
        last_error = error.get_description();
    } catch (const std::exception &error) {
        last_error = error.what();
    }
    return failure;
}

/// Letters and digits of any script, which all engines take as parts of a word.
bool is_word(unsigned character) {
    switch (Xapian::Unicode::get_category(character)) {
    case Xapian::Unicode::UPPERCASE_LETTER:
    case Xapian::Unicode::LOWERCASE_LETTER:
    case Xapian::Unicode::TITLECASE_LETTER:
    case Xapian::Unicode::MODIFIER_LETTER:
    case Xapian::Unicode::OTHER_LETTER:
    case Xapian::Unicode::DECIMAL_DIGIT_NUMBER:
    case Xapian::Unicode::LETTER_NUMBER:
    case Xapian::Unicode::OTHER_NUMBER:
        return true;
    default:
        return false;
    }
}

/// Xapian's longest term has 245 bytes. Longer words are cut; its own TermGenerator leaves them out.
const size_t longest = 240;

template <typename Body> void each_word(const char *text, size_t size, Body body) {
    std::string word;
    for (Xapian::Utf8Iterator place(text, size), end; place != end; ++place) {
        unsigned character = *place;
        if (is_word(character)) {
            Xapian::Unicode::append_utf8(word, Xapian::Unicode::tolower(character));
        } else if (!word.empty()) {
            word.resize(std::min(word.size(), longest));
            body(word);
            word.clear();
        }
    }
    word.resize(std::min(word.size(), longest));
    if (!word.empty()) body(word);
}

std::string stem(const std::string &word) {
    static thread_local const Xapian::Stem english("english");
    return english(word);
}

std::string group_term(int group) { return "XG" + std::to_string(group); }

} // namespace

struct text_xapian {
    std::unique_ptr<Xapian::WritableDatabase> writable;
    Xapian::Database database;
    int indexes;
};

struct text_xapian_query {
    Xapian::Query query;
};

static int best(
    const text_xapian &database, const Xapian::Query &query, int limit, uint32_t *numbers, double *scores,
    size_t *bytes) {
    Xapian::Enquire enquire(database.database);
    enquire.set_query(query);
    // k1, k2, k3, b and the minimum length, as in the other engines.
    enquire.set_weighting_scheme(Xapian::BM25Weight(1.2, 0, 1, 0.75, 0));
    // Ties are ordered by the smaller number, as in the other engines.
    enquire.set_docid_order(Xapian::Enquire::ASCENDING);
    int count = 0;
    Xapian::MSet found = enquire.get_mset(0, limit);
    for (auto hit = found.begin(); hit != found.end(); ++hit, ++count) {
        numbers[count] = *hit - 1;
        scores[count] = hit.get_weight();
        if (bytes) *bytes += hit.get_document().get_data().size();
    }
    return count;
}

const char *text_xapian_error(void) { return last_error.c_str(); }

text_xapian *text_xapian_open(const char *path, int is_writable, int indexes) {
    return guarded(
        [&]() -> text_xapian * {
            auto opened = std::make_unique<text_xapian>();
            opened->indexes = indexes;
            if (is_writable) {
                opened->writable = std::make_unique<Xapian::WritableDatabase>(path, Xapian::DB_CREATE_OR_OPEN);
                opened->database = *opened->writable;
            } else {
                opened->database = Xapian::Database(path);
            }
            return opened.release();
        },
        nullptr);
}

void text_xapian_close(text_xapian *database) { delete database; }

int text_xapian_put(text_xapian *database, uint32_t number, int group, const char *text, size_t size) {
    return guarded(
        [&] {
            Xapian::Document document;
            document.set_data(std::string(text, size));
            document.add_boolean_term(group_term(group));
            Xapian::termpos position = 0;
            if (database->indexes == TEXT_XAPIAN_POSITIONS)
                each_word(text, size, [&](const std::string &word) { document.add_posting(word, position++); });
            else if (database->indexes == TEXT_XAPIAN_TERMS)
                each_word(text, size, [&](const std::string &word) { document.add_term(word); });
            else if (database->indexes == TEXT_XAPIAN_STEMS)
                each_word(text, size, [&](const std::string &word) { document.add_term(stem(word)); });
            database->writable->replace_document(number + 1, document);
            return 0;
        },
        -1);
}

int text_xapian_remove(text_xapian *database, uint32_t number) {
    return guarded(
        [&] {
            database->writable->delete_document(number + 1);
            return 0;
        },
        -1);
}

int text_xapian_commit(text_xapian *database) {
    return guarded(
        [&] {
            database->writable->commit();
            return 0;
        },
        -1);
}

int text_xapian_reopen(text_xapian *database) {
    return guarded(
        [&] {
            database->database.reopen();
            return 0;
        },
        -1);
}

text_xapian_query *text_xapian_query_make(
    const text_xapian *database, int kind, const char *const *words, int count, int distance, int group) {
    return guarded(
        [&]() -> text_xapian_query * {
            auto made = std::make_unique<text_xapian_query>();
            if (kind == TEXT_XAPIAN_PREFIX) {
                made->query = Xapian::Query(
                    Xapian::Query::OP_WILDCARD, words[0], 0, Xapian::Query::WILDCARD_LIMIT_ERROR,
                    Xapian::Query::OP_SYNONYM);
            } else {
                auto operation = kind == TEXT_XAPIAN_ANY    ? Xapian::Query::OP_OR
                                 : kind == TEXT_XAPIAN_ALL  ? Xapian::Query::OP_AND
                                 : kind == TEXT_XAPIAN_NEAR ? Xapian::Query::OP_NEAR
                                                            : Xapian::Query::OP_PHRASE;
                std::vector<std::string> terms(words, words + count);
                if (database->indexes == TEXT_XAPIAN_STEMS)
                    std::transform(terms.begin(), terms.end(), terms.begin(), stem);
                // The window of a phrase is the number of its words.
                int window = kind == TEXT_XAPIAN_PHRASE ? count : kind == TEXT_XAPIAN_NEAR ? distance + 1 : 0;
                made->query = Xapian::Query(operation, terms.begin(), terms.end(), window);
            }
            if (group >= 0)
                made->query =
                    Xapian::Query(Xapian::Query::OP_FILTER, made->query, Xapian::Query(group_term(group)));
            return made.release();
        },
        nullptr);
}

void text_xapian_query_free(text_xapian_query *query) { delete query; }

int text_xapian_best(
    text_xapian *database, const text_xapian_query *query, int limit, uint32_t *numbers, double *scores,
    size_t *bytes) {
    return guarded(
        [&] {
            for (int tries = 0;; ++tries) {
                try {
                    if (bytes) *bytes = 0;
                    return best(*database, query->query, limit, numbers, scores, bytes);
                } catch (const Xapian::DatabaseModifiedError &) {
                    // A writer has committed twice meanwhile: the read state is gone, and the read is repeated.
                    if (tries == 100) throw;
                    database->database.reopen();
                }
            }
        },
        -1);
}

int64_t text_xapian_count(text_xapian *database, const text_xapian_query *query) {
    return guarded(
        [&]() -> int64_t {
            Xapian::Enquire enquire(database->database);
            enquire.set_query(query->query);
            auto all = database->database.get_doccount();
            try {
                enquire.set_weighting_scheme(Xapian::BoolWeight());
                return enquire.get_mset(0, 0, all).get_matches_estimated();
            } catch (const Xapian::DatabaseCorruptError &) {
                // Xapian 1.4.22 treats a word in all documents as a list without gaps, even after deletions, if
                // nothing has a weight. With weights it reads the list itself.
                enquire.set_weighting_scheme(Xapian::BM25Weight());
                return enquire.get_mset(0, 0, all).get_matches_estimated();
            }
        },
        -1);
}
