/*
 * Errors as clients see them: OpenAI's envelope.
 *
 * It is the one place where an error of the core leaves the server, so it also decides what a client
 * may learn. A refusal is the client's business, and its text goes out as it is. The text of a
 * failure inside may hold an SQL statement, a path or an address: it goes to the log, under the
 * request's id, and the client gets that id and a general sentence.
 */

#include "server/http/envelope.h"

#include "core/base/json.h"
#include "core/base/log.h"
#include "server/complaint.h"

/* An internal failure is for the log. The client only learns that it is not at fault. */
static const char *public_text(const char *request_id, const struct err *err)
{
    switch (err->code) {
    case ERR_STORE:
        if (err->reason == REASON_ELSEWHERE || err->reason == REASON_CONTAINER_ELSEWHERE)
            return err->text;
        log_warn("%s: %s", request_id, err->text);
        return "The server cannot reach its database right now. Please retry your request.";
    case ERR_INTERNAL:
        log_error("%s: %s", request_id, err->text);
        return "The server had an error while processing your request.";
    default: return err->text;
    }
}

json_t *envelope_error(const char *request_id, const struct err *err)
{
    json_t *error = json_object();

    json_set_string(error, "message", public_text(request_id, err));
    json_set_string(error, "type", err_api_type(err->code));
    json_set_string(error, "param", complaint_param(err));
    json_set_string(error, "code", complaint_code(err));
    return error;
}
