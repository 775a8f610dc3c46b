#ifndef RUNNEL_SERVER_FILES_FILE_LOADING_H
#define RUNNEL_SERVER_FILES_FILE_LOADING_H

#include "core/run/turn/before_send.h"

/*
 * file_loading.h -- puts the bytes of files into requests to models, as the hook of before_send.h for messages that
 * name files (named_files.h). It has threads of its own: a loop must not block, and uploads must not delay models.
 *
 * A picture becomes a data URL. Another file becomes `file_data` for an upstream whose `inputs` have `file`, and text
 * for the others. A file that has gone since its item was stored becomes the text "[file file-... is gone]", and a
 * picture for models that read text only a text that says so. So a history stays useful without its files. Pages of a
 * PDF become as many pictures.
 *
 * The bytes are in memory while a request is made and sent, and never between requests. All requests together have the
 * room of the setting `loaded_files`, and wait for it in turn (file_room.h). The room counts the bytes as they are
 * sent, in base64, until the answer begins: until then the request may have to be sent again.
 */

struct file_loading;
struct file_room;
struct server;

/* Bytes of all files of one request. The newest files come first; the others are left out, which the model is sent
 * instead. */
#define FILE_LOADING_LIMIT ((size_t)50 << 20)

/* The room, for others that load files into requests to models. */
struct file_room *file_loading_room(struct file_loading *loading);

/* Borrows the server until file_loading_stop(). */
struct file_loading *file_loading_start(struct server *server);
/* For a server that stops, before the threads of those others end: what waits for room gets it, and nothing more is
 * loaded for runs. NULL is fine. */
void file_loading_hurry(struct file_loading *loading);
/* Ends the threads after all queued requests. Only when no loop runs any more. NULL is fine. */
void file_loading_stop(struct file_loading *loading);

/* Bytes that requests hold at the moment, and bytes that requests wait for. */
void file_loading_stats(struct file_loading *loading, size_t *ret_held, size_t *ret_waiting);

struct before_send *file_loading_hook(struct file_loading *loading);

#endif
