#ifndef RUNNEL_CORE_RUN_CITATION_CITATION_H
#define RUNNEL_CORE_RUN_CITATION_CITATION_H

#include <stdbool.h>
#include <stddef.h>

/*
 * citation.h -- finds the marks of citations in a text that comes in pieces.
 *
 * A mark is one of
 *
 *   【2:0】   【2:0†anything of at most 120 bytes】   【2:0,2:3†source】   [2:0†source]
 *
 * The first number of a pair is the search, the second the passage. What the pairs name is the caller's
 * business, and so is what becomes of the mark.
 *
 * Text that cannot be part of a mark is passed on at once and without a copy. From an opening bracket on text
 * is held for as long as it may become a mark. At the first character that does not fit, what was held is text
 * again. So no piece that is passed on ends within a mark. The marks, and the text around them, are the same
 * however the text was cut.
 *
 * The parser owns no memory: a zeroed struct is ready, and needs no release. One thread at a time.
 */

#define CITATION_HELD_LIMIT ((size_t)160) /* bytes of a mark, and of text that is held */
#define CITATION_REST_LIMIT ((size_t)120) /* bytes behind the dagger */
#define CITATION_PAIR_LIMIT 38            /* that fit into a mark */

struct citation_pair {
    unsigned search;
    unsigned passage;
};

struct citation_mark {
    const char *text; /* as it was written; not NUL-terminated, and valid during the call */
    size_t length;
    const struct citation_pair *pairs; /* at least one, in the order of the mark */
    unsigned count;
};

/* What the parser finds, in order. Neither pointer is NULL. Text is never empty, not NUL-terminated, and valid
 * during the call. */
struct citation_events {
    void (*text)(void *arg, const char *text, size_t length);
    void (*mark)(void *arg, const struct citation_mark *mark);
};

struct citation_parser {
    unsigned char state; /* citation.c has the states */
    bool wide;           /* the mark began with 【 */
    unsigned digits;     /* of the number that is being read */
    size_t size;         /* bytes of the mark so far */
    size_t rest;         /* of these, behind the dagger */
    struct citation_pair pairs[CITATION_PAIR_LIMIT];
    unsigned count;
    char held[CITATION_HELD_LIMIT]; /* of earlier pieces */
    size_t held_length;
};

/* The next piece: whole characters of UTF-8. Bytes that are not UTF-8 are text. */
void citation_feed(struct citation_parser *parser, const char *text, size_t length,
                   const struct citation_events *events, void *arg);

/* No more text follows: what is held is text. The parser is as new. */
void citation_end(struct citation_parser *parser, const struct citation_events *events,
                  void *arg);

#endif
