#ifndef RUNNEL_SERVER_FAKEMODEL_SERVER_H
#define RUNNEL_SERVER_FAKEMODEL_SERVER_H

#include "core/base/err.h"

/*
 * fakemodel/server.h -- a model server that answers from a script.
 *
 * It is the demo model of `./start`, the model of all our tests, and a subcommand of its own for
 * people who test their applications. What it says is decided by fakemodel/script.h and
 * fakemodel/reply.h; this is the HTTP around it: POST
 * /v1/chat/completions, POST /v1/responses and GET /v1/models.
 *
 * A thread for each connection, unlike the rest of the program: a reply is then a loop that
 * waits and writes, and a thousand of them are still cheap. All waiting is for an event: the
 * next piece's time, the client's leaving, the server's end.
 */

struct upstream_server;

/* Starts it. `script` is YAML, NULL the built-in demo; `listen` is "address:port", where port 0
 * takes a free one. ERR_INVALID for a script or an address that makes no sense, ERR_INTERNAL when
 * it cannot listen there. */
enum err_code upstream_server_start(const char *script, const char *listen,
                                    struct upstream_server **ret_server,
                                    struct err *err) MUST_CHECK;

/* As above, and whoever can connect may look at what was received and change the script:
 *   GET    /__requests   the last requests: {"count": all ever, "data": [...]}
 *   DELETE /__requests   forgets them
 *   POST   /__script     the body becomes the script, from the next request on */
enum err_code upstream_server_start_controlled(const char *script, const char *listen,
                                               struct upstream_server **ret_server,
                                               struct err *err) MUST_CHECK;

/* "http://127.0.0.1:9000/v1", borrowed: what `upstream_url` is set to. */
const char *upstream_server_url(const struct upstream_server *server);

/* Cuts what is open, and waits for the last thread to end. NULL is fine. */
void upstream_server_stop(struct upstream_server *server);

/* `runnel upstream [--script FILE] [--listen ADDRESS:PORT]`: until SIGTERM or SIGINT. Prints its
 * URL on stdout when it is ready. argv[0] is "upstream". Returns the exit status. */
int cmd_upstream(int argc, char **argv);

#endif
