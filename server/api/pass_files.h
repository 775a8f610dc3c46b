#ifndef RUNNEL_SERVER_API_PASS_FILES_H
#define RUNNEL_SERVER_API_PASS_FILES_H

#include <stdbool.h>

#include "server/http/request.h"

/*
 * pass_files.h -- files that a chat which is passed through names by their ids.
 *
 * An upstream does not know the ids of this server. So {"type": "file", "file": {"file_id": ...}} in a message becomes
 * a file with `filename` and `file_data`, and all other bytes of the request stay as they came. An id of another form,
 * or one that is unknown here and cannot have been made here, is left to the upstream: it may know it.
 */

struct model_upstream;

/* Bytes of all files of one chat. Those of all chats share the room of the setting `loaded_files` with the files of
 * runs (server/files/file_loading.h). */
#define PASS_FILES_LIMIT ((size_t)50 << 20)

/* Names the request files? Then true: it is suspended until they are loaded, and then passed on as pass_bytes() does,
 * or it fails. The endpoint returns ERR_OK at once. */
bool pass_files_wait(struct request *request, const struct model_upstream *upstream);

#endif
