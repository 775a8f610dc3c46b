#ifndef RUNNEL_TESTS_UNIT_CORE_NET_TINY_SERVER_H
#define RUNNEL_TESTS_UNIT_CORE_NET_TINY_SERVER_H

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>

#include "core/base/buf.h"

/*
 * tiny_server.h -- an HTTP server on loopback that misbehaves as the path says.
 *
 * A thread for each connection; it reads a request, finds the path in the test's table of
 * pages and lets that page write what it likes.
 */

#define TINY_CONNECTION_LIMIT 65536

/* The page that answers a TLS greeting. */
#define TINY_TLS_PATH "/tls"

struct tiny_server;

struct tiny_request {
    struct tiny_server *server;
    int fd;
    struct buf head; /* all of it, with the empty line */
    struct buf body;
};

/* Writes the answer; false closes the connection. */
typedef bool tiny_page_fn(struct tiny_request *request);

struct tiny_page {
    const char *path;
    tiny_page_fn *write;
};

struct tiny_server {
    int fd;
    int port;
    const struct tiny_page *pages; /* ends with a NULL path */
    pthread_t acceptor;
    pthread_t threads[TINY_CONNECTION_LIMIT];
    _Atomic int accepted;

    pthread_mutex_t mutex;
    pthread_cond_t opened;
    int waiting;        /* requests at the gate; guarded by mutex */
    int gate_opens_for; /* how many it waits for; guarded by mutex */
    sem_t peer_left;    /* posted by tiny_wait_for_leave() */
};

struct tiny_server *tiny_server_new(const struct tiny_page *pages);
/* When all clients have closed their connections. */
void tiny_server_free(struct tiny_server *server);

/* A listening socket on a free loopback port that no outgoing connection takes; its port. */
int tiny_listen(int *ret_fd, int backlog);

/* ---- For pages ---- */

void tiny_write(struct tiny_request *request, const char *text);
bool tiny_read_body(struct tiny_request *request);
/* Sends nothing more until the client has closed its end. */
void tiny_wait_for_leave(struct tiny_request *request);
/* Waits until as many requests have come as the test wanted. */
void tiny_wait_at_gate(struct tiny_request *request);

/* ---- For the test itself ---- */

/* The next requests wait at the gate until so many have come. */
void tiny_close_gate(struct tiny_server *server, int opens_for);
/* Waits until all requests have come for which the gate opens. */
void tiny_wait_until_gate_opens(struct tiny_server *server);

#endif
