#ifndef RUNNEL_TESTS_UNIT_CORE_NET_HTTP_ENDINGS_H
#define RUNNEL_TESTS_UNIT_CORE_NET_HTTP_ENDINGS_H

#include <stddef.h>

#include "tests/unit/core/net/http_exchange.h"

/*
 * http_endings.h -- every way in which a call may end early, and calls of every kind that must go
 * well afterwards, on the same loop.
 *
 * libcurl's easy handles and connections are used again. The next transfer begins with what the
 * last one has left in them, so each pair of the two tables is a case of its own.
 */

extern const size_t http_ending_count;
extern const size_t http_follower_count;

const char *http_ending_name(size_t ending);

/* Two listening sockets that answer nothing: one whose queue is full, one with room. For
 * http_endings_end(). */
void http_endings_begin(void);
void http_endings_end(void);

/* Makes a call that ends in that way, and waits for its end. */
void http_end_a_call(const struct fixture *fixture, size_t ending);
/* Makes a call of that kind; its answer must come whole. */
void http_follow_with(const struct fixture *fixture, size_t follower);

#endif
