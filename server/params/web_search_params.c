#include "server/params/web_search_params.h"

#include <string.h>

#include "core/base/json.h"
#include "server/complaint.h"
#include "server/params/params.h"

static const char *const place_keys[] = {"city", "country", "region", "timezone"};

/* ---- Checking ---- */

static enum err_code check_domain(const json_t *domain, const char *path, struct err *err)
{
    enum err_code rc;

    if (!json_is_string(domain))
        return param_wrong_type(err, path, "a string", domain);
    rc = param_length(json_string_value(domain), path, WEB_DOMAIN_LIMIT, err);
    if (rc || (*json_string_value(domain) && !strpbrk(json_string_value(domain), "/: \t\r\n")))
        return rc;
    return err_invalid(err, "invalid_value", path,
                       "Invalid '%s': expected a domain such as 'example.com', without a "
                       "scheme, a port or a path.",
                       path);
}

static enum err_code check_filters(const json_t *tool, const char *path, struct err *err)
{
    struct param_path inner = param_key(path, "filters");
    struct param_path at = param_key(inner.text, "allowed_domains");
    json_t *filters = NULL, *domains = NULL;
    size_t i;
    json_t *domain;
    enum err_code rc = param_object(tool, path, "filters", PARAM_OPTIONAL, &filters, err);

    if (rc || !filters)
        return rc;
    rc = param_array(filters, inner.text, "allowed_domains", PARAM_OPTIONAL, WEB_DOMAINS_LIMIT,
                     &domains, err);
    if (rc)
        return rc;
    json_array_foreach (domains, i, domain) {
        rc = check_domain(domain, param_index(at.text, i).text, err);
        if (rc)
            return rc;
    }
    return ERR_OK;
}

static enum err_code check_country(const char *country, const char *path, struct err *err)
{
    if (!country || strlen(country) == 2)
        return ERR_OK;
    return err_invalid(err, "invalid_value", path,
                       "Invalid '%s': expected a country as two letters, such as 'US'.", path);
}

static enum err_code check_location(const json_t *tool, const char *path, struct err *err)
{
    static const char *const types[] = {"approximate", NULL};
    struct param_path inner = param_key(path, "user_location");
    json_t *location = NULL;
    const char *type = NULL;
    enum err_code rc =
        param_object(tool, path, "user_location", PARAM_OPTIONAL, &location, err);

    if (rc || !location)
        return rc;
    rc = param_enum(location, inner.text, "type", PARAM_OPTIONAL, types, &type, err);
    for (size_t i = 0; !rc && i < COUNT_OF(place_keys); i++) {
        const char *text = NULL;

        rc = param_string(location, inner.text, place_keys[i], PARAM_OPTIONAL, WEB_PLACE_LIMIT,
                          &text, err);
        if (!rc && strcmp(place_keys[i], "country") == 0)
            rc = check_country(text, param_key(inner.text, place_keys[i]).text, err);
    }
    return rc;
}

enum err_code web_search_tool_check(const json_t *tool, const char *path, struct err *err)
{
    static const char *const sizes[] = {"low", "medium", "high", NULL};
    const char *size = NULL;
    bool external = true;
    enum err_code rc =
        param_enum(tool, path, "search_context_size", PARAM_OPTIONAL, sizes, &size, err);

    if (!rc)
        rc = param_bool(tool, path, "external_web_access", &external, err);
    if (!rc)
        rc = check_filters(tool, path, err);
    return rc ? rc : check_location(tool, path, err);
}

/* ---- Completing ---- */

/* Nothing is known of a user who is not described. */
static json_t *complete_location(const json_t *given)
{
    json_t *location = json_build("{s:s}", "type", "approximate");

    for (size_t i = 0; i < COUNT_OF(place_keys); i++) {
        json_t *value = json_object_get(given, place_keys[i]);

        json_set(location, place_keys[i], value ? json_incref(value) : json_null());
    }
    return location;
}

json_t *web_search_tool_complete(const json_t *tool)
{
    json_t *full = json_copy((json_t *)(uintptr_t)tool);

    if (json_absent(json_object_get(full, "search_context_size")))
        json_set_string(full, "search_context_size", "medium");
    json_set(full, "user_location", complete_location(json_object_get(tool, "user_location")));
    if (!json_object_get(full, "filters"))
        json_set(full, "filters", json_null());
    return full;
}
