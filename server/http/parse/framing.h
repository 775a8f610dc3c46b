#ifndef RUNNEL_SERVER_HTTP_PARSE_FRAMING_H
#define RUNNEL_SERVER_HTTP_PARSE_FRAMING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * framing.h -- where the requests of a connection begin and end, read from its bytes as they
 * came.
 *
 * libmicrohttpd accepts nearly every byte. It takes a bare LF for the end of a line and a NUL
 * for the end of a value. 0.9.75 takes a value that continues on the next line for a part of a
 * header's name. A proxy in front may read the same bytes otherwise, and take for a body what
 * the library takes for a request. So the bytes are read a second time, by a reader that knows
 * only what all readers read the same way: lines of text that end in CR LF, headers with a
 * name, a colon and a value, a body that ends after so many bytes or with the last of its
 * chunks. Everything else is a fault, and with a fault this reader stops.
 *
 * A request is believed when both readers have come to its end. What the library makes of the
 * bytes behind a fault does not matter: the counts below stop rising.
 *
 * The meaning of the words is for hygiene.c. It also refuses what leaves the end of a body open
 * here, such as two lengths. This file knows neither sockets nor the library.
 */

enum framing_place {
    FRAMING_START,        /* before a request, where empty lines may come */
    FRAMING_REQUEST_LINE, /* in the request line */
    FRAMING_LINE,         /* at the start of a header's line, or of a trailer's */
    FRAMING_NAME,
    FRAMING_VALUE,
    FRAMING_BODY,       /* bytes that are only counted: of a body, or of a chunk */
    FRAMING_CHUNK_SIZE, /* in the line before a chunk */
    FRAMING_CHUNK_EXTENSION,
    FRAMING_CHUNK_END, /* between a chunk and the end of its line */
    FRAMING_LOST, /* behind a fault, or behind a head that leaves the end of its body open */
};

enum framing_body {
    FRAMING_NO_BODY,
    FRAMING_LENGTH,
    FRAMING_CHUNKS,
    FRAMING_UNKNOWN,
};

enum framing_header {
    FRAMING_OTHER,
    FRAMING_CONTENT_LENGTH,
    FRAMING_TRANSFER_ENCODING,
};

/* The longest name that matters is "transfer-encoding". Of longer ones it is enough that they
 * do not match. */
struct framing_word {
    char text[20];
    unsigned char length;
    bool blank; /* the end of the text */
    bool other; /* no header that matters here */
};

/* A zeroed struct is a connection that was just opened. */
struct framing {
    uint64_t heads;         /* heads that were complete and without a fault */
    uint64_t requests;      /* requests that were complete, bodies included */
    const char *fault;      /* one sentence; NULL: no fault so far */
    bool fault_begins_line; /* the faulty byte is the first of its line */

    enum framing_place place;
    bool in_trailers;
    bool after_cr;
    unsigned blanks; /* in the request line */
    struct framing_word name, value;
    enum framing_header header; /* the header whose value this is */
    enum framing_body body;
    uint64_t left;   /* bytes left of the body or chunk */
    unsigned digits; /* digits of a chunk's size */
};

/* Reads the next bytes. Returns the number of bytes before the faulty one; `count` if none is,
 * or if a fault was found before. */
size_t framing_read(struct framing *framing, const char *bytes, size_t count);

#endif
