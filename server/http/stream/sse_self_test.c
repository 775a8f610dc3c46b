/*
 * sse_self_test.c -- does this libmicrohttpd leave a suspended connection alone?
 *
 * Writing to the socket of a suspended connection is not documented, so it is tried before it
 * is relied on: a daemon with one worker, one client, one chunk written past the library, and a
 * second request on the same connection to see that nothing was left over. It takes a few
 * milliseconds.
 */

#include <microhttpd.h>
#include <netinet/in.h>
#include <poll.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/compiler.h"
#include "server/http/stream/sse.h"

#define PATIENCE_MS 2000
#define REQUEST     "GET / HTTP/1.1\r\nHost: self\r\n\r\n"
#define CHUNK       "c\r\ndata: self\n\n\r\n"

struct trial {
    struct MHD_Daemon *daemon;
    sem_t suspended;
    struct MHD_Connection *connection;
    int server_fd; /* of the connection, on the library's side */
    bool on_loan;  /* suspended, and not resumed yet */
    atomic_bool over;
    int client;
    struct buf seen;
};

static ssize_t trial_read(void *arg, uint64_t position, char *to, size_t room)
{
    struct trial *trial = arg;

    (void)position;
    (void)to;
    (void)room;
    if (atomic_load(&trial->over))
        return MHD_CONTENT_READER_END_OF_STREAM;
    MHD_suspend_connection(trial->connection);
    sem_post(&trial->suspended);
    return 0;
}

static enum MHD_Result trial_answer(void *arg, struct MHD_Connection *connection,
                                    const char *url, const char *method, const char *version,
                                    const char *data, size_t *size, void **state)
{
    struct trial *trial = arg;
    struct MHD_Response *response;
    enum MHD_Result rc;

    (void)url;
    (void)method;
    (void)version;
    (void)data;
    (void)size;
    if (!*state) {
        *state = trial;
        return MHD_YES;
    }
    trial->connection = connection;
    trial->server_fd =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
    response =
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 512, trial_read, trial, NULL);
    (void)MHD_add_response_header(response, "Transfer-Encoding", "chunked");
    rc = MHD_queue_response(connection, MHD_HTTP_OK, response);
    MHD_destroy_response(response);
    return rc;
}

static bool connect_client(struct trial *trial)
{
    const union MHD_DaemonInfo *info =
        MHD_get_daemon_info(trial->daemon, MHD_DAEMON_INFO_BIND_PORT);
    struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_port = htons(info->port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };

    trial->client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return trial->client >= 0 &&
           connect(trial->client, (struct sockaddr *)&address, sizeof(address)) == 0;
}

static bool send_request(struct trial *trial)
{
    return send(trial->client, REQUEST, strlen(REQUEST), MSG_NOSIGNAL) ==
           (ssize_t)strlen(REQUEST);
}

static bool wait_suspended(struct trial *trial)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_MS / 1000;
    return sem_timedwait(&trial->suspended, &until) == 0;
}

/* Reads until `text` was seen, and discards everything up to its end. */
static bool expect_text(struct trial *trial, const char *text)
{
    for (;;) {
        struct pollfd ready = {.fd = trial->client, .events = POLLIN};
        char *found = trial->seen.data ? strstr(trial->seen.data, text) : NULL;
        ssize_t got;

        if (found) {
            buf_consume(&trial->seen, (size_t)(found - trial->seen.data) + strlen(text));
            return true;
        }
        if (poll(&ready, 1, PATIENCE_MS) != 1)
            return false;
        got = recv(trial->client, buf_reserve(&trial->seen, 1024), 1024, 0);
        if (got <= 0)
            return false;
        buf_added(&trial->seen, (size_t)got);
    }
}

static void give_back(struct trial *trial)
{
    atomic_store(&trial->over, true);
    if (trial->on_loan)
        MHD_resume_connection(trial->connection);
    trial->on_loan = false;
}

static const char *attempt(struct trial *trial)
{
    if (!connect_client(trial) || !send_request(trial) || !wait_suspended(trial))
        return "no connection of its own";
    trial->on_loan = true;
    if (send(trial->server_fd, CHUNK, strlen(CHUNK), MSG_NOSIGNAL) != (ssize_t)strlen(CHUNK))
        return "a suspended connection cannot be written to";
    if (!expect_text(trial, "\r\n\r\n" CHUNK))
        return "the chunk did not follow the headers";
    give_back(trial);
    if (!expect_text(trial, "0\r\n\r\n") || trial->seen.length)
        return "the last chunk did not follow";
    if (!send_request(trial) || !expect_text(trial, "\r\n\r\n0\r\n\r\n"))
        return "the connection was not kept alive";
    return NULL;
}

/* A connection must not be suspended when its daemon ends. */
static void end_trial(struct trial *trial)
{
    give_back(trial);
    MHD_stop_daemon(trial->daemon);
    if (trial->client >= 0)
        close(trial->client);
    buf_clear(&trial->seen);
    sem_destroy(&trial->suspended);
}

enum err_code sse_self_test(struct err *err)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    struct trial trial = {.client = -1};
    const char *why;

    trial.daemon = MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_TURBO | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL,
        trial_answer, &trial, MHD_OPTION_SOCK_ADDR, &address, MHD_OPTION_END);
    if (!trial.daemon)
        return err_set(err, ERR_INTERNAL, "no daemon for it");
    sem_init(&trial.suspended, 0, 0);
    why = attempt(&trial);
    end_trial(&trial);
    if (why)
        return err_set(err, ERR_INTERNAL, "%s", why);
    return ERR_OK;
}
