#ifndef RUNNEL_CORE_PICTURE_PICTURE_REQUEST_H
#define RUNNEL_CORE_PICTURE_PICTURE_REQUEST_H

#include <stdbool.h>

#include "core/base/buf.h"
#include "core/picture/picture_model.h"

/*
 * picture_request.h -- the body of a request for a picture. Pure functions.
 *
 * A new picture is asked for with JSON, an edit with a form.
 */

/* The members of a request, without pictures. `previews` false: none is asked for. New reference. */
json_t *picture_request_members(const struct picture_order *order, const char *prompt,
                                const char *model, bool legacy, bool previews);

/* The members and the pictures of the order as a form. `boundary` must not be in them. */
void picture_request_form(const json_t *members, const struct picture_order *order,
                          const char *boundary, struct buf *ret_form);

#endif
