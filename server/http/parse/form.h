#ifndef RUNNEL_SERVER_HTTP_PARSE_FORM_H
#define RUNNEL_SERVER_HTTP_PARSE_FORM_H

#include <stddef.h>

#include "core/base/buf.h"
#include "core/base/err.h"

/*
 * form.h -- a body of the type multipart/form-data that is there as a whole, within max_body.
 *
 * The parts are copies. Names and filenames are UTF-8; the data is as it was sent. multipart.h says which forms
 * are refused. A body that is too large for memory is read with multipart.h itself.
 */

struct form_part {
    char *name;
    char *filename; /* NULL: a field and not a file */
    char *type;     /* the content's type as the client gave it; or NULL */
    struct buf data;
};

struct form {
    struct form_part *parts; /* in the order in which they came */
    size_t count;
};
/* NULL is fine. */
void form_free(struct form *form);

/* `type` is the Content-Type, which names the boundary. The caller frees *ret_form.
 * ERR_INVALID: not a form, or too many parts. */
enum err_code form_parse(const char *type, const char *body, size_t length,
                         struct form **ret_form, struct err *err) MUST_CHECK;

#endif
