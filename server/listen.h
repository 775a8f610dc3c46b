#ifndef RUNNEL_SERVER_LISTEN_H
#define RUNNEL_SERVER_LISTEN_H

#include "core/base/err.h"

/*
 * listen.h -- the socket that clients connect to.
 */

#define LISTEN_URL_SIZE 300

/* Opens it. `ret_url` is the API's base, "http://127.0.0.1:8080/v1", with the port that was taken
 * when the setting says 0, and loopback in place of an address that means all. */
enum err_code listen_open(const char *listen, int *ret_fd, char ret_url[LISTEN_URL_SIZE],
                          struct err *err) MUST_CHECK;

#endif
