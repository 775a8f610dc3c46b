#ifndef RUNNEL_CORE_NET_PROXY_NAMES_H
#define RUNNEL_CORE_NET_PROXY_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#include "core/base/err.h"
#include "core/net/loop.h"
#include "core/net/proxy/domain.h"

/*
 * names.h -- the addresses of host names, for a loop.
 *
 * The C library's resolver blocks, and has the system's configuration. So it is called on a few threads, which take
 * names from a queue; the answer is posted to the loop. A caller limits how many names it waits for.
 */

#define NAMES_THREADS 4
#define NAMES_RESULTS ((size_t)8) /* addresses of a name; more are left out */

struct names;

struct name_address {
    struct sockaddr_storage address;
    socklen_t size;
};

/* A question. Zero it, and fill in the first four. It is the names' from names_ask() until `done` runs. */
struct name_question {
    char host[DOMAIN_LIMIT + 1];
    unsigned port;
    struct loop *loop;
    void (*done)(struct name_question *question); /* on the loop */

    struct name_address found[NAMES_RESULTS];
    size_t count; /* 0: the name has no address, or the name is unknown */

    struct name_question *next;
    struct loop_task task;
};

/* Fills in `found` and `count`. getaddrinfo(), or a test's. */
typedef void names_look_up(struct name_question *question);

/* `look_up` NULL: getaddrinfo(). ERR_INTERNAL: no thread. */
enum err_code names_new(names_look_up *look_up, struct names **ret_names,
                        struct err *err) MUST_CHECK;

/* Any thread. */
void names_ask(struct names *names, struct name_question *question);

/* Waits for the look-ups that are under way, and posts all other questions without an answer. The loops still run.
 * NULL is fine. */
void names_free(struct names *names);

#endif
