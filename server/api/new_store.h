#ifndef RUNNEL_SERVER_API_NEW_STORE_H
#define RUNNEL_SERVER_API_NEW_STORE_H

#include <jansson.h>

#include "core/base/err.h"
#include "core/domain/rows.h"
#include "core/store/tables/vector_stores/vector_stores.h"
#include "server/params/vector_store_params.h"

/*
 * new_store.h -- the vector store that a request makes for its assistant or thread, or puts files into:
 * tool_resources.file_search.vector_stores, at most one, and attachments of messages.
 *
 * Pure: any thread. Where a form was checked before, it is files_view.h that did.
 */

/* Days without use after which the store of a thread expires. That of an assistant stays. */
#define THREAD_STORE_DAYS 7

struct new_store {
    struct vector_store_row row;
    struct file_list files; /* ids are borrowed from the request */
    struct store_filling filling;
    char filled_id[ID_LIMIT + 1]; /* of a run in a thread that is there; else "" */
};
void new_store_clear(struct new_store *store);

/* The helper of object["tool_resources"], whose form was checked. `path` is the object's. Without one *ret_store stays
 * empty. ERR_INVALID for it together with ids, and for what is wrong in it. The caller clears. */
enum err_code new_store_read(const json_t *object, const char *path, int days,
                             struct new_store *ret_store, struct err *err) MUST_CHECK;

/* The same for a new thread, with what its messages attach: its row gets the resources as they are kept. */
enum err_code new_store_of_thread(const json_t *thread, const char *path,
                                  struct thread_row *row, struct new_store *ret_store,
                                  struct err *err) MUST_CHECK;

/* For a thread that is there: what an array of messages attaches, and a store for it if the thread has none. */
void new_store_of_messages(const json_t *messages, struct new_store *ret_store);

/* For requests that take ids only: ERR_INVALID if object["tool_resources"] has the helper. */
enum err_code new_store_refuse(const json_t *object, const char *path,
                               struct err *err) MUST_CHECK;

/* For the store: NULL if nothing is to be made. */
const struct store_filling *new_store_filling(const struct new_store *store);

/* The resources with the id of the store instead of the helper: a copy. `resources` may be NULL. */
json_t *new_store_resources(const struct new_store *store, const json_t *resources);

#endif
