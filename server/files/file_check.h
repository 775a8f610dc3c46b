#ifndef RUNNEL_SERVER_FILES_FILE_CHECK_H
#define RUNNEL_SERVER_FILES_FILE_CHECK_H

#include <stdbool.h>

#include "core/base/err.h"
#include "core/domain/tenant.h"

/*
 * file_check.h -- the operator's scanner looks at what clients upload, before any row names it.
 *
 * It is a command of the configuration (files.check_command), which gets the bytes as its standard input. It runs in a
 * box of its own (core/container/boxes.h): no network, no file of the host but the system's and one folder that it may
 * read, limits of time and memory. A hostile file that takes it over has gained nothing.
 *
 *   exit status 0    the file is taken
 *   exit status 1    it is refused
 *   all else         nobody knows: it is not taken either, and the client may try again
 *
 * What the command says is for the log, not for the client.
 */

struct server;

/* Some command is configured. Any thread. */
bool file_check_is_on(const struct server *server);

/* At the start, when there are boxes. ERR_INVALID: this machine cannot run the command, so nothing could be taken. */
enum err_code file_check_open(struct server *server, struct err *err) MUST_CHECK;

/* Ends the checks that are at work, and those that come: their clients may have left. Twice is fine, and without
 * checks. */
void file_checks_cut(const struct server *server);
/* When no check is at work any more. */
void file_checks_close(const struct server *server);

/* Checks a blob that was written, if a command is configured. On a worker that may wait for minutes. ERR_INVALID: the
 * file is refused. ERR_LIMIT: no room for a box. ERR_UPSTREAM: the command has failed. ERR_STORE: the server stops.
 * Errors of blob.h and spool.h. */
enum err_code file_check(const struct server *server, const struct tenant *tenant,
                         const char *blob_id, struct err *err) MUST_CHECK;

#endif
