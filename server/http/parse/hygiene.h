#ifndef RUNNEL_SERVER_HTTP_PARSE_HYGIENE_H
#define RUNNEL_SERVER_HTTP_PARSE_HYGIENE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * hygiene.h -- is this head of a request one that every reader understands the same way?
 *
 * Requests are smuggled where a proxy in front and the HTTP library behind it understand the
 * same request differently. libmicrohttpd before 1.0 is lenient (both Content-Length and
 * Transfer-Encoding, the first of two lengths, blanks before a colon ...). So every head is
 * checked here before anything is done with it. A client whose head fails is answered and
 * disconnected.
 *
 * The check is about the meaning of the words. The library has taken the head apart before, and
 * what it drops or cuts cannot be seen here any more: headers without a name, text behind a
 * NUL, values that continue on the next line, the way in which lines end. framing.h sees that
 * in the bytes as they came, and refuses such a head before it comes here. Heads that the
 * library cannot read do not come here either (mhd_overrides.h).
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
    const char *target;  /* as it was on the request line */
    const char *version; /* "HTTP/1.1" */
    const struct hygiene_header *headers;
    size_t header_count;
    size_t size_limit; /* of request line and headers together */
};

struct hygiene_report {
    int status;       /* 0: clean */
    const char *text; /* what is wrong, in one sentence */
    bool has_body;
    bool chunked;
    bool keep_alive; /* the client wants to keep the connection: HTTP/1.1 only */
    uint64_t length; /* Content-Length, if there is a body without chunks */
};

struct hygiene_report hygiene_check(const struct hygiene_head *head);

/* Whether a header's name may contain the character. */
bool hygiene_is_token_char(char c);

/* Whether a value is a valid Content-Length. */
bool hygiene_is_length(const char *value, size_t length);

#endif
