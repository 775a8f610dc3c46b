#ifndef RUNNEL_SERVER_FAKEMODEL_WORDS_H
#define RUNNEL_SERVER_FAKEMODEL_WORDS_H

#include <jansson.h>

#include "core/base/ids.h"
#include "server/fakemodel/prompt.h"
#include "server/fakemodel/script.h"

/*
 * fakemodel/words.h -- the texts of a script, cut into the pieces in which they are streamed.
 *
 * Pure functions, except that a call without an id gets a random one.
 */

/* The pieces, with templates filled in, as an array of strings: those of the script if it lists them,
 * otherwise its text cut by `split` (enum script_split, or a number of characters). New reference. */
json_t *words_split(const struct script_pieces *pieces, int split, const struct prompt *prompt);

/* A call of the script with its templates filled in. */
struct words_call {
    char *name;
    char *arguments;
    char *given_id;        /* of the script; or NULL */
    char made_id[ID_SIZE]; /* used without it */
};

void words_call_init(struct words_call *words, const struct script_call *call,
                     const struct prompt *prompt);
void words_call_clear(struct words_call *words);
const char *words_call_id(const struct words_call *words);
/* Its arguments in pieces, by the call's `split`. New reference. */
json_t *words_call_split(const struct words_call *words, const struct script_call *call);

/* The number of words in a text. The usage of a reply counts them as tokens. */
json_int_t words_count(const char *text);

#endif
