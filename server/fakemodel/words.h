#ifndef RUNNEL_SERVER_FAKEMODEL_WORDS_H
#define RUNNEL_SERVER_FAKEMODEL_WORDS_H

#include <jansson.h>

#include "core/base/ids.h"
#include "server/fakemodel/prompt.h"
#include "server/fakemodel/script.h"

/*
 * fakemodel/words.h -- what a script says, cut into the pieces in which it is streamed.
 */

/* A list of strings. New reference. */
json_t *words_split(const struct script_pieces *pieces, int split, const struct prompt *prompt);

/* A call of the script with its templates filled in. */
struct words_call {
    char *name;
    char *arguments;
    char *given_id;        /* NULL: the script has none */
    char made_id[ID_SIZE]; /* for that case */
};

void words_call_init(struct words_call *words, const struct script_call *call,
                     const struct prompt *prompt);
void words_call_clear(struct words_call *words);
const char *words_call_id(const struct words_call *words);
/* Its arguments in pieces; one when the script does not want them split. New reference. */
json_t *words_call_split(const struct words_call *words, const struct script_call *call);

/* How many words a text has: what counts as its tokens. */
json_int_t words_count(const char *text);

#endif
