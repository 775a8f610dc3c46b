#ifndef RUNNEL_SERVER_FAKEMODEL_SERVER_H
#define RUNNEL_SERVER_FAKEMODEL_SERVER_H

#include "core/base/err.h"

/*
 * fakemodel/server.h -- a model server that answers from a script.
 *
 * It is the demo model of `./start`, the model of this program's tests, and a subcommand for people
 * who test their applications. fakemodel/script.h and fakemodel/reply.h decide what it answers. This
 * is the HTTP around them: POST /v1/chat/completions, POST /v1/responses and GET /v1/models.
 *
 * It has a thread for each connection, unlike the rest of the program: a reply is then a loop that
 * waits and writes, and a thousand of them are still cheap. Every wait ends with an event: the time
 * of the next piece, the client's leaving, or the end of the server.
 */

struct upstream_server;

/* Starts a server. `script` is YAML; NULL is the built-in demo. `listen` is "address:port"; port 0 takes
 * a free one. ERR_INVALID or ERR_TOO_LARGE for a wrong script or address, ERR_INTERNAL if it cannot
 * listen there. The caller stops it. */
enum err_code upstream_server_start(const char *script, const char *listen,
                                    struct upstream_server **ret_server,
                                    struct err *err) MUST_CHECK;

/* The same with control paths, which every client that can connect may use:
 *   GET    /__requests   the last 500 requests: {"count": all since the last DELETE, "data": [...]}
 *   DELETE /__requests   forgets them
 *   POST   /__script     replaces the script, from the next request on */
enum err_code upstream_server_start_controlled(const char *script, const char *listen,
                                               struct upstream_server **ret_server,
                                               struct err *err) MUST_CHECK;

/* "http://127.0.0.1:9000/v1", for the setting upstream_url. Borrowed. */
const char *upstream_server_url(const struct upstream_server *server);

/* Breaks open connections, waits for the last thread to end, and frees the server. NULL is fine. */
void upstream_server_stop(struct upstream_server *server);

/* `runnel upstream [--script FILE] [--listen ADDRESS:PORT]`: until SIGTERM or SIGINT. Prints its
 * URL on stdout when it is ready. argv[0] is "upstream". Returns the exit status. */
int cmd_upstream(int argc, char **argv);

#endif
