#ifndef RUNNEL_TESTS_UNIT_CORE_MODEL_SCRIPTED_SERVER_H
#define RUNNEL_TESTS_UNIT_CORE_MODEL_SCRIPTED_SERVER_H

#include <stddef.h>

/*
 * scripted_server.h -- a server on the loopback address that answers requests with given
 * bytes, one after another, and remembers the requests.
 *
 * One thread, one connection at a time. The bytes are the whole answer, head included.
 */

#define SERVER_ANSWER_LIMIT 8

enum server_after { /* what it does with the connection after the bytes */
                    SERVER_CLOSES = 0,
                    SERVER_RESETS,
                    SERVER_HOLDS, /* sends nothing more, until the server is freed */
};

struct server_answer {
    const char *bytes;
    enum server_after after;
};

struct scripted_server;

/* `answers` ends with bytes == NULL; the last one is given to all that follow. */
struct scripted_server *scripted_server_new(const struct server_answer *answers);
void scripted_server_free(struct scripted_server *server);

/* "http://127.0.0.1:port/v1". */
const char *scripted_server_url(const struct scripted_server *server);

/* How many requests came, and the text of one, head included. */
unsigned scripted_server_count(struct scripted_server *server);
const char *scripted_server_request(struct scripted_server *server, unsigned number);

#endif
