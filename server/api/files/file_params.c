#include "server/api/files/file_params.h"

#include <string.h>

#include "server/params/params.h"

#define LIFE_MIN 3600
#define LIFE_MAX 2592000 /* 30 days; also of a batch's file that names none */

enum err_code file_purpose(const json_t *body, const char **ret_purpose, struct err *err)
{
    static const char *const purposes[] = {"assistants", "batch", "fine-tune", "vision",
                                           "user_data",  "evals", NULL};

    return param_enum(body, "", "purpose", PARAM_REQUIRED, purposes, ret_purpose, err);
}

enum err_code file_life(const json_t *body, const char *purpose, int64_t *ret_seconds,
                        struct err *err)
{
    static const char *const keys[] = {"anchor", "seconds", NULL};
    static const char *const anchors[] = {"created_at", NULL};
    json_t *expiry = NULL;
    const char *anchor;
    json_int_t seconds = 0;
    enum err_code rc = param_object(body, "", "expires_after", PARAM_OPTIONAL, &expiry, err);

    if (rc)
        return rc;
    if (!expiry) {
        *ret_seconds = strcmp(purpose, "batch") == 0 ? LIFE_MAX : 0;
        return ERR_OK;
    }
    rc = param_unknown(expiry, "expires_after", keys, err);
    if (!rc)
        rc = param_enum(expiry, "expires_after", "anchor", PARAM_REQUIRED, anchors, &anchor,
                        err);
    if (!rc)
        rc = param_int(expiry, "expires_after", "seconds", LIFE_MIN, LIFE_MAX, &seconds, err);
    if (!rc && !seconds)
        rc = param_missing(err, "expires_after.seconds");
    if (!rc)
        *ret_seconds = seconds;
    return rc;
}
