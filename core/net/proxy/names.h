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
