#ifndef RUNNEL_CORE_RUN_TURN_NAMED_FILES_H
#define RUNNEL_CORE_RUN_TURN_NAMED_FILES_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/model/model.h"

/*
 * named_files.h -- messages that name files of the server instead of having their bytes.
 *
 * Items keep a picture or a file as the client sent it: by its id. So a history with large files is small, in the
 * store as in memory, and the messages that context.c makes of it have the same ids:
 *
 *   {"type": "image_url", "image_url": {"file_id": "file-...", "detail": "auto"}}
 *   {"type": "file", "file": {"file_id": "file-..."}}
 *
 * The pages of a PDF are named likewise. They become as many pictures; `file_data` may stand there instead of an id:
 *
 *   {"type": "image_url", "image_url": {"file_id": "file-...", "pages": 3, "detail": "high"}}
 *
 * The bytes are put in for each request, by a hook (struct before_send), on a thread that may block.
 */

/* Whether the messages, in the form of Chat Completions, have parts that the upstream must not get as they are: a file
 * by its id, or a picture for models that read text only. A pure function. */
bool messages_name_files(const json_t *messages, const struct model_upstream *upstream);

/* The object in a part that may have a `file_id`, and then *ret_picture; NULL for other parts. Borrowed. */
json_t *named_file_of(const json_t *part, bool *ret_picture);

/* How many pages of a PDF such an object stands for; 0: it is a picture or a file. */
size_t named_pages(const json_t *named);

#endif
