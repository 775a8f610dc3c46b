#ifndef RUNNEL_CORE_MODEL_TOKENS_TOKENIZER_H
#define RUNNEL_CORE_MODEL_TOKENS_TOKENIZER_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"

/*
 * tokenizer.h -- how many tokens a text has for a model: counted, or estimated.
 *
 * A tokenizer is a rank file and a regular expression that splits text into pieces; each piece is
 * encoded by itself. Where none is configured the tokenizer is NULL, and every count is an
 * estimate: a token for four letters of ASCII, two of another alphabet, one sign of Chinese.
 *
 * It does not change once it is loaded: any thread. Counting costs about a second for 10 MiB.
 */

struct tokenizer;

/* `split` is the name of a well-known expression (r50k, cl100k or o200k), or an expression in PCRE2's
 * dialect. NULL: the name is the beginning of the file's name. ERR_INVALID says what is wrong with
 * which file. */
enum err_code tokenizer_load(const char *path, const char *split,
                             struct tokenizer **ret_tokenizer, struct err *err) MUST_CHECK;
/* The same from memory; `name` is for messages. */
enum err_code tokenizer_parse(const char *name, const char *split, const char *text,
                              size_t length, struct tokenizer **ret_tokenizer,
                              struct err *err) MUST_CHECK;
void tokenizer_free(struct tokenizer *tokenizer);

/* The number of tokens of a text, which is UTF-8. */
int64_t tokenizer_count(const struct tokenizer *tokenizer, const char *text, size_t length);

/* Another number for another file or expression, likely; never 0. */
uint32_t tokenizer_number(const struct tokenizer *tokenizer);

/* Bytes of all texts that were counted since this process began. */
uint64_t tokenizer_bytes(void);

/* ---- Chat Completions ---- */

/* The cost of a message besides its text, and of an answer before its first token. */
#define TOKENS_OF_MESSAGE 4
#define TOKENS_OF_ANSWER  2

/* Pictures and files are always estimated: only the model's maker knows what they cost. */
#define TOKENS_OF_IMAGE     765
#define TOKENS_OF_LOW_IMAGE 85
#define TOKENS_OF_FILE      2000

/* The content of a message: text, parts, or null. */
int64_t tokenizer_count_content(const struct tokenizer *tokenizer, const json_t *content);
/* One element of `messages`, or all of them. */
int64_t tokenizer_count_message(const struct tokenizer *tokenizer, const json_t *message);
int64_t tokenizer_count_messages(const struct tokenizer *tokenizer, const json_t *messages);
/* The cost of a request besides its messages: tools and the schema of its answer. */
int64_t tokenizer_count_frame(const struct tokenizer *tokenizer, const json_t *request);
/* A whole request. */
int64_t tokenizer_count_request(const struct tokenizer *tokenizer, const json_t *request);

#endif
