#ifndef RUNNEL_TESTS_INTEGRATION_SERVER_SOCKET_CLIENT_H
#define RUNNEL_TESTS_INTEGRATION_SERVER_SOCKET_CLIENT_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buf.h"
#include "tests/integration/server/served_http.h"

/*
 * socket_client.h -- a client of served_http.h that is a plain socket, for what no library would
 * send: it writes bytes, and reads as much as the test wants.
 */

#define OPEN_REQUEST "GET /open HTTP/1.1\r\n" HOST "\r\n"
#define CHUNKED      "POST /echo HTTP/1.1\r\n" HOST KEY "Transfer-Encoding: chunked\r\n\r\n"

struct client {
    int fd;
    struct buf in; /* received, and not taken yet */
};

struct client dial(void);
void hang_up(struct client *client);

/* Ends quietly if the server has closed the connection. */
void put(struct client *client, const char *text);
void put_bytes(struct client *client, const char *bytes, size_t length);

/* Asks for a stream, and waits until it is handed over. */
void open_stream(struct client *client, const char *more_headers);

/* Waits for bytes. False at the end of the connection. */
bool more(struct client *client);

/* Reads until `text` has come; what comes before and the text itself are taken and returned,
 * borrowed until the next call. */
const char *get_until(struct client *client, const char *text);

/* An answer with a Content-Length, whole. Borrowed until the next call. */
const char *get_answer(struct client *client);

/* Upper and lower case are the same. */
void expect_part(const char *text, const char *part);
void expect_no_part(const char *text, const char *part);

/* The next answer has both in it. */
void expect_answer(struct client *client, const char *status, const char *part);
void expect_end(struct client *client);

/* One request on a connection of its own, and its answer. */
void ask(const char *request, const char *status, const char *part);

/* {"x":"aaa..."} of exactly `length` bytes. The caller frees it. */
char *json_of(size_t length);

#endif
