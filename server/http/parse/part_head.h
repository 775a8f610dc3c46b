#ifndef RUNNEL_SERVER_HTTP_PARSE_PART_HEAD_H
#define RUNNEL_SERVER_HTTP_PARSE_PART_HEAD_H

#include <stddef.h>

#include "core/base/err.h"

/*
 * part_head.h -- the head of a part of a form: which field it is, and which file.
 *
 * What it means is decided in one way only. A head with two names, two filenames, two headers of a kind,
 * a folded line or a control character is refused, because two readers could read it in two ways.
 * A pure function.
 */

struct part_head {
    char *name; /* UTF-8; never NULL, may be "" */
    char *
        filename; /* UTF-8, as the client gave it, with its folders; NULL: a field and not a file */
    char *type; /* the Content-Type as it came; NULL: none */
};
void part_head_clear(struct part_head *head); /* zeroed is empty */

/*
 * `text` is the head without the empty line behind it; its lines end in CR LF.
 *
 * In a quoted name or filename, \" and \\ lose their backslash, which is what curl sends, and %22, %0D and
 * %0A become a quote, CR and LF, which is what browsers and SDKs send (HTML Living Standard, "Multipart
 * form data"). Any other backslash and percent sign stands for itself. `filename*` (RFC 8187) wins over
 * `filename`. What is not UTF-8 becomes U+FFFD, and so does U+0000 in a `filename*`.
 *
 * ERR_INVALID: the text says what is wrong, without a full sentence around it: "a part has no name".
 */
enum err_code part_head_parse(const char *text, size_t length, struct part_head *ret_head,
                              struct err *err) MUST_CHECK;

#endif
