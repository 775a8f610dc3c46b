#ifndef RUNNEL_SERVER_FAKEMODEL_UPLOAD_H
#define RUNNEL_SERVER_FAKEMODEL_UPLOAD_H

#include <jansson.h>

#include "core/base/buf.h"

/*
 * fakemodel/upload.h -- a form as the JSON that the rest of the upstream reads.
 *
 * A field is a text, a number or a boolean, as it looks. A file is an object: `filename`, `type`, `bytes`. A name
 * that comes several times, or ends with [], is a list. `sha256` is the digest of the whole body in hexadecimal, so
 * that a test can compare the bytes. A pure function.
 */

/* `type` is the Content-Type. NULL: this is no form. New reference. */
json_t *upload_read(const char *type, const struct buf *body);

#endif
