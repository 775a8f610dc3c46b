/*
 * The router: a comparison with each row of the table, from the top.
 *
 * A tree of segments would find a row in fewer steps. But the table has about a hundred rows, and most
 * of them differ from a path in its second segment, so a search is cheap beside the queries that a
 * request makes. And a table needs no rule about which of two matches is better: the first one is.
 *
 * The path is split before it is decoded (uri.h), so a segment is compared as a whole and an encoded
 * slash never matches a boundary. Pure functions: any thread.
 */

#include "server/http/router.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include "core/base/compiler.h"

static void add_param(struct route_match *match, const char *name, size_t length,
                      const char *value)
{
    assert(match->param_count < ROUTE_PARAM_LIMIT);
    match->params[match->param_count++] = (struct route_param){name, length, value};
}

/* How many segments of the path the template matches; 0 if it is no beginning of the path. */
static size_t matched(const char *template, struct uri *uri, struct route_match *match)
{
    size_t i = 0;

    match->param_count = 0;
    for (const char *at = template; *at == '/'; i++) {
        const char *part = at + 1;
        size_t length = strcspn(part, "/");

        at = part + length;
        if (i == uri->segment_count)
            return 0;
        if (part[0] != '{') {
            if (strlen(uri->segments[i]) != length ||
                memcmp(uri->segments[i], part, length) != 0)
                return 0;
            continue;
        }
        if (!uri->segments[i][0])
            return 0;
        if (length > 5 && memcmp(part + length - 4, "...}", 4) == 0) {
            add_param(match, part + 1, length - 5, uri_rest(uri, i));
            return uri->segment_count;
        }
        add_param(match, part + 1, length - 2, uri->segments[i]);
    }
    return i;
}

static bool fits(const char *template, struct uri *uri, struct route_match *match)
{
    return matched(template, uri, match) == uri->segment_count;
}

static bool same_method(const char *row, const char *method)
{
    return strcmp(row, method) == 0 || (strcmp(method, "HEAD") == 0 && strcmp(row, "GET") == 0);
}

enum route_outcome router_find(const struct route_table *table, const char *method,
                               struct uri *uri, struct route_match *ret_match)
{
    bool path_found = false;

    for (size_t i = 0; i < table->count; i++) {
        struct route_match match = {.route = &table->rows[i]};

        if (!fits(match.route->path, uri, &match))
            continue;
        path_found = true;
        if (!same_method(match.route->method, method))
            continue;
        *ret_match = match;
        return ROUTE_FOUND;
    }
    return path_found ? ROUTE_NO_METHOD : ROUTE_NO_PATH;
}

void router_allowed(const struct route_table *table, struct uri *uri, struct buf *ret_methods)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct route *row = &table->rows[i];
        struct route_match match;

        if (!fits(row->path, uri, &match) ||
            (ret_methods->data && strstr(ret_methods->data, row->method)))
            continue;
        if (ret_methods->length)
            buf_add_text(ret_methods, ", ");
        buf_add_text(ret_methods, row->method);
        if (strcmp(row->method, "GET") == 0)
            buf_add_text(ret_methods, ", HEAD");
    }
    if (ret_methods->length)
        buf_add_text(ret_methods, ", OPTIONS");
}

bool router_is_absent(const struct absent_route *rows, size_t count, enum route_outcome outcome,
                      const char *method, struct uri *uri)
{
    struct route_match match;

    for (size_t i = 0; i < count; i++) {
        if (rows[i].method
                ? same_method(rows[i].method, method) && fits(rows[i].path, uri, &match)
                : outcome == ROUTE_NO_PATH && matched(rows[i].path, uri, &match))
            return true;
    }
    return false;
}

const char *route_match_param(const struct route_match *match, const char *name)
{
    for (size_t i = 0; i < match->param_count; i++)
        if (match->params[i].name_length == strlen(name) &&
            memcmp(match->params[i].name, name, match->params[i].name_length) == 0)
            return match->params[i].value;
    return "";
}
