#include "server/complaint.h"

#include <stdarg.h>
#include <stddef.h>

/*
 * The border between the core's errors and those of OpenAI's API.
 *
 * The core is written once for two APIs. An error of the core is therefore a kind, a reason and a
 * sentence; what the envelope calls that, and its HTTP status, are in the tables below. Code that reads
 * requests is above the border. It knows OpenAI's code for each complaint and sets it directly, which
 * saves an enumerator for each of them (err_invalid()).
 *
 * Both ways meet in struct err: `word` wins over the reason, the place over the table's parameter.
 *
 * Some entries surprise. A conflict is 400 and not 409, as in OpenAI's API; ERR_TAKEN has the 409.
 * All mistakes of a client have one type; only a limit has another. 499 is nginx's status for a client that is gone.
 */

/* clang-format off */
static const struct {
    int http_status;
    const char *type;
} kinds[ERR_CODE_COUNT] = {
    [ERR_OK]           = {200, ""},
    [ERR_INVALID]      = {400, "invalid_request_error"},
    [ERR_UNAUTHORIZED] = {401, "invalid_request_error"},
    [ERR_FORBIDDEN]    = {403, "invalid_request_error"},
    [ERR_NOT_FOUND]    = {404, "invalid_request_error"},
    [ERR_METHOD]       = {405, "invalid_request_error"},
    [ERR_CONFLICT]     = {400, "invalid_request_error"}, /* as OpenAI has it */
    [ERR_TAKEN]        = {409, "invalid_request_error"},
    [ERR_TOO_LARGE]    = {413, "invalid_request_error"},
    [ERR_FULL]         = {507, "server_error"},
    [ERR_LIMIT]        = {429, "requests"},
    [ERR_CANCELLED]    = {499, "invalid_request_error"},
    [ERR_TIMEOUT]      = {504, "server_error"},
    [ERR_UPSTREAM]     = {502, "server_error"},
    [ERR_STORE]        = {503, "server_error"},
    [ERR_INTERNAL]     = {500, "server_error"},
};

/* `param` is used if the error names no place. */
static const struct {
    const char *code;
    const char *param;
} reasons[REASON_COUNT] = {
    [REASON_UNSET]               = {NULL,                          NULL},
    [REASON_BAD_VALUE]           = {"invalid_value",               NULL},
    [REASON_BAD_TYPE]            = {"invalid_type",                NULL},
    [REASON_UNKNOWN_MEMBER]      = {"unknown_parameter",           NULL},
    [REASON_MISSING_MEMBER]      = {"missing_required_parameter",  NULL},
    [REASON_UNSUPPORTED]         = {"unsupported_value",           NULL},
    [REASON_LIST_TOO_LONG]       = {"array_above_max_length",      NULL},
    [REASON_ITEMS_TOO_LARGE]     = {"string_above_max_length",     "input"},
    [REASON_BAD_SEAL]            = {"invalid_encrypted_content",   NULL},
    [REASON_UNKNOWN_KEY]         = {"invalid_api_key",             NULL},
    [REASON_UNKNOWN_PARENT]      = {"previous_response_not_found", "previous_response_id"},
    [REASON_KEY_REUSED]          = {"idempotency_key_reused",      "Idempotency-Key"},
    [REASON_CONVERSATION_LOCKED] = {"conversation_locked",         NULL},
    [REASON_DECIDED]             = {"approval_already_decided",    "approval_request_id"},
    [REASON_USED]                = {"approval_already_used",       "approval_request_id"},
    [REASON_BUSY]                = {"rate_limit_exceeded",         NULL},
    [REASON_NO_MODEL]            = {"model_not_found",             NULL},
    [REASON_STORAGE_FULL]        = {"storage_full",                NULL},
    [REASON_STORAGE_QUOTA]       = {"storage_quota_exceeded",      NULL},
    [REASON_ELSEWHERE]           = {"file_elsewhere",              NULL},
    [REASON_TOO_MANY_FILES]      = {"too_many_files",              NULL},
    [REASON_STORE_EXPIRED]       = {"vector_store_expired",        NULL},
    [REASON_SEARCH_TIMEOUT]      = {"vector_store_timeout",        NULL},
    [REASON_SEARCH_TOO_LARGE]    = {"vector_store_too_large",      NULL},
    [REASON_UPLOAD_ENDED]        = {"upload_not_pending",          NULL},
    [REASON_UPLOAD_TOO_LARGE]    = {"upload_too_large",            "data"},
    [REASON_CONTAINER_ELSEWHERE] = {"container_elsewhere",         NULL},
    [REASON_CONTAINER_FULL]      = {"file_too_large",              "file"},
    [REASON_SCANNED]             = {"invalid_value",               NULL},
    [REASON_SCAN_MODEL]          = {NULL,                          NULL},
    [REASON_ADDRESS]             = {NULL,                          NULL},
};
/* clang-format on */

enum err_code err_invalid(struct err *err, const char *code, const char *param,
                          const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    err_fill(err, ERR_INVALID, REASON_UNSET, param, format, arguments);
    va_end(arguments);
    if (err)
        err->word = code;
    return ERR_INVALID;
}

enum err_code err_set_api(struct err *err, enum err_code kind, const char *code,
                          const char *param, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    err_fill(err, kind, REASON_UNSET, param, format, arguments);
    va_end(arguments);
    if (err)
        err->word = code;
    return kind;
}

const char *complaint_code(const struct err *err)
{
    return err->word ? err->word : reasons[err->reason].code;
}

const char *complaint_param(const struct err *err)
{
    return *err->place ? err->place : reasons[err->reason].param;
}

int err_http_status(enum err_code code)
{
    return kinds[code].http_status;
}

const char *err_api_type(enum err_code code)
{
    return kinds[code].type;
}
