#ifndef RUNNEL_CORE_NET_LISTEN_H
#define RUNNEL_CORE_NET_LISTEN_H

#include <stddef.h>

#include "core/base/err.h"

/*
 * listen.h -- the socket that clients connect to: the server's, and the scripted upstream's.
 */

#define LISTEN_URL_SIZE 300

/* Splits "host:port" or "[v6]:port". ERR_INVALID for anything else. */
enum err_code listen_split(const char *listen, char *ret_host, size_t host_size, char *ret_port,
                           size_t port_size, struct err *err) MUST_CHECK;

/* Opens a listening socket, which the caller closes. ERR_INVALID as above, ERR_INTERNAL when that fails.
 * `ret_url` is the API's base, "http://127.0.0.1:8080/v1". It has the chosen port if the setting says 0,
 * and loopback instead of an address that means all. */
enum err_code listen_open(const char *listen, int *ret_fd, char ret_url[LISTEN_URL_SIZE],
                          struct err *err) MUST_CHECK;

#endif
