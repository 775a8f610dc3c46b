#ifndef RUNNEL_SERVER_HTTP_MHD_OVERRIDES_H
#define RUNNEL_SERVER_HTTP_MHD_OVERRIDES_H

#include <microhttpd.h>

#include "core/base/compiler.h"

struct framing;

/*
 * mhd_overrides.h -- what libmicrohttpd says to a request that it cannot read, and what it reads.
 *
 * It answers such a request by itself, with a page of HTML, and has no option that changes it:
 * OpenAI's clients expect JSON. But it calls its own public functions by name, as everybody
 * does, and of two definitions of a name the program's own comes first. So this file defines
 * three of them, which do what the library's do but for these cases:
 *
 *   MHD_queue_response             from whom else than us, on a connection of http.c, is the page of
 *                                  HTML: our envelope goes out in its place
 *   MHD_lookup_connection_value_n  there is no Content-Length that is no number, and no Cookie; and a
 *                                  Content-Type of ours may stand in the place of the one that came
 *   MHD_set_connection_value_n     the parameters of the query are not kept, nor cookies
 *
 * The last two are there because 0.9.75 forgets that it has answered when a length, a cookie or
 * a query is at fault, and sends a second head behind the first. The heads with such a length
 * come to hygiene.c, which refuses them; queries are uri.c's, and nobody reads cookies.
 *
 * Where it says nothing at all, connection.c does.
 *
 * What it makes of a connection's bytes is not what every other reader makes of them (framing.h),
 * and when it hands a head over it has overwritten the ends of its lines. So there is a fourth:
 *
 *   recv                           shows a connection's bytes to framing.c before the library sees them
 *
 * Every library in the process calls this one, so it lets pass whatever is not a connection of
 * http.c. It costs no call of the kernel. Were it ever not called, the reader would see no request,
 * and each would be refused.
 *
 * Where a library is built so that it does not look up its own names (-Bsymbolic), nothing of
 * this happens, and its pages go out as they are: tests/integration/server/test_http_heads.c says so.
 * A library that is linked statically cannot be overridden this way, and the linker says so.
 */

/* As MHD_queue_response(), for the answers that we make. */
enum MHD_Result mhd_queue_answer(struct MHD_Connection *connection, unsigned status,
                                 struct MHD_Response *response) MUST_CHECK;

/* From now on `framing` reads what the library reads from the socket, on the same thread; NULL:
 * no more. Borrowed. Of a descriptor above a million it reads nothing. */
void mhd_read_along(int fd, struct framing *framing);

/* What is read as the Content-Type of the request from now on; NULL: what came. Borrowed. */
void mhd_say_content_type(struct MHD_Connection *connection, const char *type);

#endif
