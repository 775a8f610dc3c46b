#ifndef RUNNEL_SERVER_SANDBOX_CONTAINER_DESK_H
#define RUNNEL_SERVER_SANDBOX_CONTAINER_DESK_H

#include <jansson.h>

#include "core/base/err.h"
#include "core/domain/tenant.h"
#include "core/tool/executor.h"

struct server;

/*
 * container_desk.h -- how a tool runs code: its container, the files of the request in it, and its Python.
 *
 * What the code makes is found when it has ended. In a response the files are those of the container. In a thread's run
 * they become files of the project with the purpose assistants_output, because that API has no others: pictures, and up
 * to DESK_FILES_LIMIT more files of a call.
 */

/* Of one call that become files of the project, pictures not counted; and bytes of one. */
#define DESK_FILES_LIMIT      ((size_t)20)
#define DESK_FILE_BYTES_LIMIT ((uint64_t)32 << 20)

/* Entries of a call's list of files. */
#define DESK_LIST_LIMIT ((size_t)100)

/* For the engine's options. The server must have its containers and its boxes when the first tool runs; without them
 * every call fails. */
struct tool_containers container_desk(struct server *server);

#endif
