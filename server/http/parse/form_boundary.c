/*
 * The boundary of a form, from its Content-Type.
 *
 * The parameters are read leniently where clients are known to differ (header_param.h), and strictly
 * where two readers could find two boundaries: a second `boundary` parameter, or text that is no
 * parameter, refuses the form. A proxy or a scanner in front that used another boundary would see other
 * parts than the server.
 */

#include "server/http/parse/form_boundary.h"

#include <stdbool.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "server/http/parse/header_param.h"

/* RFC 2046, section 5.1.1 */
#define BOUNDARY_CHARACTERS \
    "'()+_,-./:=? abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

/* A backslash within quotes stands for the character behind it. */
static void take_value(const struct header_param *param, struct buf *ret_value)
{
    for (size_t i = 0; i < param->value_length; i++) {
        if (param->quoted && param->value[i] == '\\')
            i++;
        buf_add(ret_value, param->value + i, 1);
    }
}

static bool is_boundary(const struct buf *value)
{
    return value->length && value->length <= FORM_BOUNDARY_LIMIT &&
           strspn(value->data, BOUNDARY_CHARACTERS) == value->length &&
           value->data[value->length - 1] != ' ';
}

char *form_boundary(const char *type)
{
    const char *at = header_params(type);
    AUTO_FREE char *found = NULL;
    struct header_param param;

    while (header_param_next(&at, &param)) {
        AUTO_BUF value = {0};

        if (!header_param_is(&param, "boundary"))
            continue;
        take_value(&param, &value);
        if (found || !is_boundary(&value))
            return NULL;
        found = buf_take(&value);
    }
    return *at ? NULL : TAKE(found);
}
