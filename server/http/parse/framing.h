#ifndef RUNNEL_SERVER_HTTP_PARSE_FRAMING_H
#define RUNNEL_SERVER_HTTP_PARSE_FRAMING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * framing.h -- where the requests of a connection begin and end, read from its bytes as they came.
 *
 * libmicrohttpd makes something of nearly every byte: it takes a bare LF for the end of a line and a
 * NUL for the end of a value, and 0.9.75 makes a part of a header's name from a value that goes on
 * in the next line. A proxy in front may read the same bytes otherwise, and take for a body what
 * the library takes for a request. So the bytes are read a second time, by a reader that knows
 * only what all readers read the same way: lines of text that end in CR LF, headers of a name, a
 * colon and a value, a body that ends after so many bytes or with the last of its chunks. All
 * else is a fault, and with a fault the reader stops.
 *
 * A request is believed when both readers have come to its end. It does not matter what the library
 * makes of the bytes behind a fault: the counts below do not rise any more.
 *
 * What the words mean is hygiene.c's: there, too, is refused what leaves the end of a body open
 * here, such as two lengths. Knows neither sockets nor the library.
 */

enum framing_place {
    FRAMING_START,        /* before a request: empty lines may come */
    FRAMING_REQUEST_LINE, /* in it */
    FRAMING_LINE,         /* at the start of a header's line, or of a trailer's */
    FRAMING_NAME,
    FRAMING_VALUE,
    FRAMING_BODY,       /* bytes that are counted: of a body, or of a chunk */
    FRAMING_CHUNK_SIZE, /* in the line before a chunk */
    FRAMING_CHUNK_EXTENSION,
    FRAMING_CHUNK_END, /* between a chunk and the end of its line */
    FRAMING_LOST,      /* behind a fault, or a head that leaves open where its body ends */
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

/* A word that fits is "transfer-encoding"; of longer ones it is enough to know that they do not. */
struct framing_word {
    char text[20];
    unsigned char length;
    bool blank; /* behind what there is of it */
    bool other; /* none of those that are looked for */
};

/* Zero is a connection that has just been opened. */
struct framing {
    uint64_t heads;         /* whole and without a fault */
    uint64_t requests;      /* the same with their bodies */
    const char *fault;      /* one sentence; NULL: none yet */
    bool fault_begins_line; /* the byte that is the fault is the first of a line */

    enum framing_place place;
    bool in_trailers;
    bool after_cr;
    unsigned blanks; /* in the request line */
    struct framing_word name, value;
    enum framing_header header; /* whose value it is */
    enum framing_body body;
    uint64_t left;   /* bytes of the body or chunk */
    unsigned digits; /* of a chunk's size */
};

/* Reads what has come next. Returns the number of bytes in front of the one that is the fault;
 * `count` when no byte is, and when a fault was found before. */
size_t framing_read(struct framing *framing, const char *bytes, size_t count);

#endif
