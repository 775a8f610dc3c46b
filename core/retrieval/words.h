#ifndef RUNNEL_CORE_RETRIEVAL_WORDS_H
#define RUNNEL_CORE_RETRIEVAL_WORDS_H

#include <stddef.h>
#include <stdint.h>

/*
 * retrieval/words.h -- the words of a text, as they are indexed and searched. Pure: any thread.
 *
 * A word is a number, the hash of its folded letters. Two texts share a word when they share its number. The rules
 * are the same for documents and queries, and for every language:
 *
 *   letters      lower case; accents are dropped ("Café" is "cafe"); ligatures and full-width forms are their
 *                letters; half-width kana are kana. This is what NFKC does to letters of Latin, Greek and Cyrillic,
 *                and to kana. Other compatibility forms stay as they are.
 *   words        runs of letters and digits, with the marks that belong to them. All else separates.
 *   identifiers  "max_file_size" and "maxFileSize" are themselves, and their parts.
 *   English      a plural is its singular: "batteries" is "battery". The rule looks at the end of the word only.
 *   no blanks    Chinese, kana, Hangul, Thai, Lao, Khmer and Burmese are written in runs: each two signs in a row
 *                are a word, and a lone sign is one. So are emoji, each by itself.
 *
 * Text that is not UTF-8 has words, too: bytes that are no character separate.
 */

/* Gets the words one by one, in the order of the text. */
typedef void words_take(void *arg, uint32_t word);

void words_read(const char *text, size_t length, words_take *take, void *arg);

/* ---- How long a text is for a model ---- */

/* Counts the tokens of a text, for callers that have a tokenizer. */
struct token_counter {
    size_t (*count)(const void *arg, const char *text, size_t length);
    const void *arg;
};

/* Tokens of a text. `counter` may be NULL: then a token is four letters of ASCII, two of another alphabet, or one
 * sign of a script that is written in runs. */
size_t words_tokens(const struct token_counter *counter, const char *text, size_t length);

/* The same estimate in quarters of a token, which can be added up. */
size_t words_quarters(const char *text, size_t length);

#endif
