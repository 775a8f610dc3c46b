/*
 * Parameters in the query.
 *
 * The HTTP layer has split and decoded the query already (server/http/parse/uri.h). What is left is
 * to give words a meaning, in the way in which params.c does it for a body: the same checks, codes
 * and texts. So a client sees one kind of error message, wherever its parameter was.
 *
 * Lists follow the convention of OpenAI's SDKs: include[]=a&include[]=b. A repeated name without
 * brackets means the same, because other clients write it that way.
 */

#include "server/api/query_params.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "server/complaint.h"
#include "server/params/assistants/step_include.h"
#include "server/params/params.h"
#include "server/params/responses/response_params.h"

enum err_code param_query_unknown(const struct request *request, const char *const *known,
                                  struct err *err)
{
    const char *name;
    enum err_code rc = ERR_OK;

    for (size_t n = 0; !rc && (name = request_query_name(request, n)); n++)
        rc = param_unknown_name(name, known, err);
    return rc;
}

enum err_code param_page(const struct request *request, struct page *ret_page, struct err *err)
{
    return param_page_parse(request_query(request, "limit"), request_query(request, "order"),
                            request_query(request, "after"), request_query(request, "before"),
                            ret_page, err);
}

enum err_code param_page_of(const struct request *request, int most, struct page *ret_page,
                            struct err *err)
{
    return param_page_parse_of(request_query(request, "limit"), request_query(request, "order"),
                               request_query(request, "after"),
                               request_query(request, "before"), most, ret_page, err);
}

enum err_code param_starting_after(const struct request *request, int64_t *ret_first,
                                   struct err *err)
{
    const char *text = request_query(request, "starting_after");
    char *end;
    long long number;

    /* -1 is valid: it is the number before the first event. */
    if (!text)
        text = request_header(request, "Last-Event-ID");
    if (!text || !*text)
        return ERR_OK;
    errno = 0;
    number = strtoll(text, &end, 10);
    if (errno || *end || number < -1 || number >= INT64_MAX)
        return err_invalid(err, "invalid_type", "starting_after",
                           "Invalid type for 'starting_after': expected an integer, but got a "
                           "string instead.");
    *ret_first = number + 1;
    return ERR_OK;
}

enum err_code param_query_bool(const struct request *request, const char *name, bool *ret_value,
                               struct err *err)
{
    const char *text = request_query(request, name);
    bool yes = text && strcmp(text, "true") == 0;

    if (!text || !*text)
        return ERR_OK;
    if (!yes && strcmp(text, "false") != 0)
        return err_invalid(err, "invalid_type", name,
                           "Invalid type for '%s': expected a boolean, but got a string "
                           "instead.",
                           name);
    *ret_value = yes;
    return ERR_OK;
}

enum err_code param_step_include(const struct request *request, unsigned *ret_include,
                                 struct err *err)
{
    unsigned include = 0;
    const char *value;
    size_t at = 0;

    for (size_t i = 0; (value = request_query_next(request, "include", &at)); i++) {
        unsigned flag = step_include_flag(value);

        if (!flag)
            return param_wrong_word(err, param_index("include", i).text, value,
                                    step_include_values);
        include |= flag;
    }
    *ret_include = include;
    return ERR_OK;
}

enum err_code param_item_include(const struct request *request, unsigned *ret_include,
                                 struct err *err)
{
    json_auto_t *include = json_array();
    const char *value;
    size_t at = 0;
    unsigned flags = 0;
    enum err_code rc;

    while ((value = request_query_next(request, "include", &at))) {
        json_array_append_new(include, json_string_nocheck(value));
        flags |= run_include_parse(value);
    }
    rc = response_include_check(include, err);
    if (!rc)
        *ret_include = flags;
    return rc;
}
