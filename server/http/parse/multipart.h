#ifndef RUNNEL_SERVER_HTTP_PARSE_MULTIPART_H
#define RUNNEL_SERVER_HTTP_PARSE_MULTIPART_H

#include <stddef.h>

#include "core/base/err.h"
#include "server/http/parse/part_head.h"

/*
 * multipart.h -- a reader of multipart/form-data (RFC 7578), for bodies of any size.
 *
 * It gets the bytes as they arrive, cut anywhere, and calls its taker: the head of a part, pieces of its
 * data, its end, the next part. The taker decides what is kept and how much of it. The reader itself keeps
 * at most one head, MULTIPART_HEAD_LIMIT bytes. However the bytes are cut, the heads, the data (put
 * together again) and the error are the same.
 *
 *     char *boundary = form_boundary(content_type);          // NULL: no form
 *     struct multipart *reader = multipart_new(boundary, &taker, arg);
 *     while (bytes arrive)
 *         rc = multipart_take(reader, bytes, size, err);     // not again after an error
 *     rc = multipart_end(reader, err);                       // was it whole?
 *     multipart_free(reader);
 *
 * Nothing of a form counts before multipart_end() has returned ERR_OK: a client that breaks off leaves
 * parts that look complete.
 *
 * The body is read strictly. It begins with its boundary and ends with it; lines end in CR LF; behind a
 * boundary, and behind the last one, there is nothing but blanks and line ends. RFC 2046 allows text before
 * and behind the parts, but no client sends it, and readers differ about it. A body that is
 * read here twice, or is passed on to another reader, has the same parts for both.
 *
 * A part with a filename is a file, one without is a field, whatever its Content-Type. The order of the parts
 * says nothing: openai-node sends the file before the fields. Names may come several times, and the taker
 * decides what that means. A filename is data of a stranger: it may have folders, "..", control characters,
 * and any length up to that of the head.
 *
 * One thread at a time; nothing blocks but the taker. No I/O.
 */

#define MULTIPART_HEAD_LIMIT ((size_t)8192) /* bytes of the head of a part */
#define MULTIPART_PART_LIMIT ((size_t)512)  /* parts of a form */

struct multipart;

/* Each function may be NULL. One that fails ends the reading: multipart_take() returns its error. */
struct multipart_taker {
    /* A part begins. The head is borrowed; a function that keeps a text takes its pointer out (TAKE). */
    enum err_code (*begin)(void *arg, struct part_head *head, struct err *err);
    /* A piece of its data, at least one byte; none for an empty part. */
    enum err_code (*data)(void *arg, const char *bytes, size_t size, struct err *err);
    /* The part is complete. */
    enum err_code (*end)(void *arg, struct err *err);
};

/* `boundary` is copied, `taker` and `arg` are borrowed for the reader's life. */
struct multipart *multipart_new(const char *boundary, const struct multipart_taker *taker,
                                void *arg);
void multipart_free(struct multipart *reader); /* NULL is fine */

/* The next bytes. ERR_INVALID: this is no form, with the sentence for the client; or the taker's error. */
enum err_code multipart_take(struct multipart *reader, const char *bytes, size_t size,
                             struct err *err) MUST_CHECK;

/* There are no more. ERR_INVALID: the last boundary has not come. */
enum err_code multipart_end(const struct multipart *reader, struct err *err) MUST_CHECK;

/* "We could not parse the form of your request: ...", for what is wrong with a form. ERR_INVALID. */
enum err_code multipart_refuse(struct err *err, const char *what);
#define MULTIPART_EXPECTED "expected multipart/form-data that ends with its boundary"

#endif
