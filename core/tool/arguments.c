/*
 * arguments.c -- from what a model wrote to what a handler may read, in four steps.
 *
 *   parse      the text must be a JSON object
 *   reserve    `limit` and `begin` leave: they are for cut.h, unless the tool declares them
 *   complete   defaults come in, unknown properties go
 *   check      the rest must fit the schema
 *
 * Completing comes before checking, so a required property that has a default is never missing, and a
 * property that the model invented does not cost a turn. Refusing invented properties was the other way.
 * Models add some to most schemas, and all that they would learn from the error is to leave them out.
 *
 * Arguments with references come in at the second step. Their text was parsed to resolve the references,
 * and what a reference stands for is checked like all other arguments.
 */

#include "core/tool/arguments.h"

#include <string.h>

#include "core/base/json.h"
#include "core/tool/schema.h"

/* Bytes of a reason in an error: struct err has room for 1024, and the reason has a heading. */
#define WHY_LIMIT 700

static enum err_code parse(const char *text, json_t **ret_args, struct err *err)
{
    struct err why;

    if (json_parse_exact(text, strlen(text), ret_args, &why))
        return err_set(err, ERR_INVALID, "The arguments are not valid JSON: %.*s", WHY_LIMIT,
                       why.text);
    if (!json_is_object(*ret_args))
        return err_set(err, ERR_INVALID, "The arguments must be a JSON object.");
    return ERR_OK;
}

/* A property that the tool declares itself keeps its meaning. */
static void take_reserved(const json_t *parameters, json_t *args)
{
    static const char *const reserved[] = {"limit", "begin"};
    const json_t *declared = json_object_get(parameters, "properties");

    for (size_t i = 0; i < COUNT_OF(reserved); i++) {
        if (!json_object_get(declared, reserved[i]))
            json_object_del(args, reserved[i]);
    }
}

enum err_code tool_arguments_complete(const char *tool, const json_t *parameters, json_t *args,
                                      struct schema_budget *budget, struct err *err)
{
    AUTO_BUF issues = {0};

    if (!parameters)
        return ERR_OK;
    take_reserved(parameters, args);
    /* A budget that is used up is an issue like any other: the model may send less. */
    if (!schema_complete(parameters, args, budget))
        buf_add_text(&issues, "- is too much to check");
    else if (schema_fits(parameters, args, budget, &issues))
        return ERR_OK;
    return err_set(err, ERR_INVALID, "Invalid %.64s parameters:\n%.*s", tool, WHY_LIMIT,
                   issues.data);
}

enum err_code tool_arguments_read(const char *tool, const json_t *parameters, const char *text,
                                  struct schema_budget *budget, json_t **ret_args,
                                  struct err *err)
{
    json_auto_t *args = NULL;
    enum err_code rc = parse(text, &args, err);

    if (!rc)
        rc = tool_arguments_complete(tool, parameters, args, budget, err);
    if (!rc)
        *ret_args = json_incref(args);
    return rc;
}
