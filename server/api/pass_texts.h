#ifndef RUNNEL_SERVER_API_PASS_TEXTS_H
#define RUNNEL_SERVER_API_PASS_TEXTS_H

#include <jansson.h>

#include "core/base/err.h"

/*
 * pass_texts.h -- the texts of a request that is passed through, for the hook of before_send.h.
 *
 * A hook gets messages. A chat has them. The texts of embeddings, images and so on become messages of
 * the user, one for each text, and go back to their places afterwards.
 */

/* The texts of a request in *ret_messages, which shares no part with `body`; NULL if it has none. A
 * chat's messages leave the body. ERR_INVALID: it has tokens instead of texts, which no hook can read. */
enum err_code pass_texts_take(json_t *body, json_t **ret_messages, struct err *err) MUST_CHECK;

/* Puts them back. ERR_INTERNAL: the hook has added or removed some. */
enum err_code pass_texts_put(json_t *body, json_t *messages, struct err *err) MUST_CHECK;

#endif
