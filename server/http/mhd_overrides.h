#ifndef RUNNEL_SERVER_HTTP_MHD_OVERRIDES_H
#define RUNNEL_SERVER_HTTP_MHD_OVERRIDES_H

#include <microhttpd.h>

#include "core/base/compiler.h"

struct framing;

/*
 * mhd_overrides.h -- how libmicrohttpd answers a request that it cannot read, and what it
 * reads.
 *
 * The library answers such a request itself, with a page of HTML, and has no option for that:
 * clients of OpenAI's API expect JSON. But it calls its own public functions by name, as every
 * program does, and of two definitions of a name the program's own comes first. So this file
 * defines three of them. They do what the library's functions do, except in these cases:
 *
 *   MHD_queue_response             a response that http.c has not made, on one of its connections, is
 *                                  the page of HTML: the envelope is sent instead
 *   MHD_lookup_connection_value_n  a Content-Length that is not a number, and every Cookie, is missing
 *   MHD_set_connection_value_n     parameters of the query, and cookies, are not kept
 *
 * The last two exist because 0.9.75 forgets that it has answered when a length, a cookie or a
 * query is at fault, and sends a second head behind the first. Heads with such a length reach
 * hygiene.c, which refuses them. Queries are read by uri.c, and cookies by no one.
 *
 * Where the library gives no answer at all, connection.c does.
 *
 * The library understands some bytes of a connection differently from other readers
 * (framing.h), and when it hands a head over, it has overwritten the ends of its lines. So
 * there is a fourth function:
 *
 *   recv                           shows a connection's bytes to framing.c before the library sees them;
 *                                  fails when a request can no longer become whole
 *
 * Every library in the process calls this function, so it ignores everything that is not a
 * connection of http.c. It costs a system call only where a piece ends in the middle of a
 * request. If it were ever not called, framing.c would see no request, and each would be refused.
 *
 * If a library is built so that it does not look up its own names (-Bsymbolic), none of this
 * happens, and its pages are sent as they are: tests/integration/server/test_http_heads.c fails
 * then. A library that is linked statically cannot be overridden this way, and the linker
 * reports it.
 */

/* As MHD_queue_response(), for the answers of this server. */
enum MHD_Result mhd_queue_answer(struct MHD_Connection *connection, unsigned status,
                                 struct MHD_Response *response) MUST_CHECK;

/* From now on `framing` reads what the library reads from the socket, on the same thread; NULL:
 * stops that. Borrowed. Descriptors above a million are not read along. */
void mhd_read_along(int fd, struct framing *framing);

#endif
