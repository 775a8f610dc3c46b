#include "server/params/responses/answer_params.h"

#include <stdbool.h>
#include <string.h>

#include "server/params/params.h"
#include "server/params/strict_schema.h"

#define NAME_LIMIT ((size_t)64)

const char *const answer_efforts[] = {"none", "minimal", "low", "medium",
                                      "high", "xhigh",   "max", NULL};

enum err_code answer_format_check(const json_t *format, const char *path, struct err *err)
{
    static const char *const types[] = {"text", "json_object", "json_schema", NULL};
    struct param_path at = param_key(path, "schema");
    json_t *schema = NULL;
    const char *type = NULL, *name = NULL;
    bool strict = false;
    enum err_code rc;

    rc = param_enum(format, path, "type", PARAM_REQUIRED, types, &type, err);
    if (rc || strcmp(type, "json_schema") != 0)
        return rc;
    rc = param_name(format, path, "name", NAME_LIMIT, &name, err);
    if (!rc)
        rc = param_string(format, path, "description", PARAM_OPTIONAL, 0, &type, err);
    if (!rc)
        rc = param_object(format, path, "schema", PARAM_REQUIRED, &schema, err);
    if (!rc)
        rc = param_bool(format, path, "strict", &strict, err);
    if (rc || !strict)
        return rc;
    return strict_schema_check(schema,
                               &(struct schema_subject){.kind = "response_format",
                                                        .name = name,
                                                        .api_code = "invalid_json_schema",
                                                        .param = at.text},
                               err);
}
