#ifndef RUNNEL_SERVER_FILES_FILE_DESK_H
#define RUNNEL_SERVER_FILES_FILE_DESK_H

#include "core/tool/executor.h"

struct server;

/*
 * file_desk.h -- how a tool looks through the files of its project: their list, and their bytes.
 *
 * What a tool sees is what the API shows to a key of the project: a file of another project does not exist.
 */

/* For the engine's options. The server must have its store and its blobs when the first tool runs. */
struct tool_desk file_desk(struct server *server);

#endif
