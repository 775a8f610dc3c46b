#ifndef RUNNEL_SERVER_HTTP_STREAM_SSE_H
#define RUNNEL_SERVER_HTTP_STREAM_SSE_H

#include <stdbool.h>

#include "core/base/err.h"
#include "core/event/sink.h"
#include "core/net/loop.h"

/*
 * sse.h -- an answer that is a stream of events, or of plain bytes, such as sound.
 *
 * libmicrohttpd starts the response (status, headers) and asks for the first piece of its body
 * once they are sent. At that moment the connection is suspended and given to the loop. From
 * then on the loop writes each batch of events as one HTTP chunk with one system call, straight
 * to the socket. What the socket does not take waits in a buffer. When the engine closes the
 * sink and the buffer is empty, the library gets the connection back, writes the last chunk and
 * continues with the next request.
 *
 * The alternative is to wake a worker for each event. It then walks over all its suspended
 * connections, which is twice the price of nginx with few streams and collapses with ten
 * thousand.
 *
 * Where the library may not send chunks (HTTP/1.0), or if the self-test fails, the same events
 * go through its content reader instead, with one resume each. HEAD gets headers only.
 *
 * Silence is filled with comments. They also reveal a client that vanished. A client that reads
 * too slowly is cut off when more than `stream_buffer` bytes wait for it, or nothing was taken
 * for `stream_stall_timeout`, or all such clients together are too much (backlog.h); its run goes
 * on.
 */

struct MHD_Response;
struct request;
struct stream;

/* Makes the stream of a request. */
struct stream *sse_stream_new(struct request *request, struct loop *loop);
struct sink *sse_stream_sink(struct stream *stream);

/* Before the response is made: the stream has plain bytes of this type (copied), and silence is not
 * filled. `limit` bytes may wait for the client. */
void sse_stream_make_plain(struct stream *stream, const char *type, size_t limit);
/* On the loop: cuts the client off. The sink is still to be closed. */
void sse_stream_break(struct sink *sink);

/* The response whose body the stream provides; the caller adds headers and queues it. It holds
 * the stream until it is destroyed. `last`: the connection ends with it, and the header says
 * so. */
struct MHD_Response *sse_stream_response(struct stream *stream, bool last);

/* Whether this libmicrohttpd tolerates writing to a suspended connection: tries it once, on a
 * daemon of its own. ERR_INTERNAL says what was different. */
enum err_code sse_self_test(struct err *err) MUST_CHECK;

#endif
