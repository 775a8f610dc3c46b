#include "handlers/support/web_results.h"

#include <string.h>

#include "core/base/buf.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/utf8.h"

/* ---- Results ---- */

/* The beginning of a text. The caller frees. */
static char *beginning(const char *text, size_t limit)
{
    const char *end = utf8_at(text, limit);

    return *end ? mem_printf("%.*s…", (int)(end - text), text) : mem_strdup(text);
}

static json_t *result_of(const json_t *found, size_t snippet)
{
    AUTO_FREE char *title = beginning(json_get_string(found, "title", ""), WEB_TITLE_LIMIT);
    AUTO_FREE char *text = beginning(json_get_string(found, "text", ""), snippet);
    const char *date = json_get_string(found, "date", NULL);
    json_t *result = json_build("{s:s, s:s, s:s}", "url", json_get_string(found, "url", ""),
                                "title", title, "snippet", text);

    if (date)
        json_set_string(result, "date", date);
    return result;
}

static size_t size_of(const json_t *result)
{
    return strlen(json_get_string(result, "url", "")) +
           strlen(json_get_string(result, "title", "")) +
           strlen(json_get_string(result, "snippet", ""));
}

json_t *web_results(const json_t *found, size_t snippet)
{
    json_t *results = json_array();
    size_t size = 0;
    size_t i;
    json_t *one;

    json_array_foreach (found, i, one) {
        json_t *result = result_of(one, snippet);

        size += size_of(result);
        if (size > WEB_TEXT_LIMIT) {
            json_decref(result);
            break;
        }
        json_array_append_new(results, result);
    }
    return results;
}

