#ifndef RUNNEL_SERVER_HTTP_PARSE_HYGIENE_H
#define RUNNEL_SERVER_HTTP_PARSE_HYGIENE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * hygiene.h -- is this head of a request one that everybody reads the same way?
 *
 * A request that a proxy in front and the HTTP library behind it understand differently is how
 * requests are smuggled. libmicrohttpd before 1.0 is lenient (both Content-Length and
 * Transfer-Encoding, the first of two lengths, blanks before a colon ...), so every head is
 * looked at here before anything is done with it. A client that fails is answered and disconnected.
 *
 * Here is looked at what the words of a head mean. The library has taken the head apart before,
 * and what it drops or cuts is not to be seen here any more: headers without a name, what stands
 * behind a NUL, values that go on in the next line, the way in which lines end. That is seen in
 * the bytes as they came, by framing.h, and such a head is refused before it comes here. Heads
 * that the library cannot read do not come here either (mhd_overrides.h).
 */

#define HYGIENE_HEADER_LIMIT 64

struct hygiene_header {
    const char *name;
    size_t name_length;
    const char *value;
    size_t value_length;
};

struct hygiene_head {
    const char *method;
    const char *target;  /* as it stood on the request line */
    const char *version; /* "HTTP/1.1" */
    const struct hygiene_header *headers;
    size_t header_count;
    size_t size_limit; /* of request line and headers together */
};

struct hygiene_report {
    int status;       /* 0: clean */
    const char *text; /* what is wrong, one sentence */
    bool has_body;
    bool chunked;
    bool keep_alive; /* the client wants to go on with the connection: HTTP/1.1 only */
    uint64_t length; /* Content-Length, when it has a body that is not chunked */
};

struct hygiene_report hygiene_check(const struct hygiene_head *head);

/* Whether a name may have it in it. */
bool hygiene_is_token_char(char c);

/* Whether a value of Content-Length is one. */
bool hygiene_is_length(const char *value, size_t length);

#endif
