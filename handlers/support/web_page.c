#include "handlers/support/web_page.h"

#include <string.h>

#include "core/base/buf.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/utf8.h"

enum err_code web_page(struct tool_call *call, json_t *query, json_t **ret_page,
                       struct tool_result *ret_result, struct err *err)
{
    json_auto_t *asked = query;
    const char *url = json_get_string(tool_call_args(call), "url", "");
    struct err why = {0};
    enum err_code rc;

    json_set(asked, "url", json_string(url));
    rc = tool_call_page(call, asked, ret_page, &why);
    if (rc && (rc == ERR_CANCELLED || !why.word)) {
        if (err)
            *err = why;
        return rc;
    }
    if (rc) {
        json_auto_t *problem =
            json_build("{s:s, s:s, s:s}", "code", why.word, "message", why.text, "url", url);
        AUTO_FREE char *text = json_dumps(problem, JSON_INDENT(2));

        tool_result_add_text(ret_result, text);
        tool_result_end(ret_result, TOOL_ERROR, why.text);
    }
    return ERR_OK;
}

void web_page_result(struct tool_result *result, const char *title, const char *url,
                     const char *text)
{
    tool_result_add_text(result, text);
    tool_result_describe(result, title, json_build("{s:s}", "url", url));
}

char *web_page_cut(const char *text, const struct cut_rule *rule, struct cut_shown *ret_shown)
{
    const char *body = strstr(text, "\n\n");
    struct buf out = {0};
    size_t count, begin, rest;

    body = body ? body + 2 : text;
    count = utf8_count(body, strlen(body));
    begin = rule->begin < count ? rule->begin : count;
    rest = count - begin < rule->limit ? count - begin : rule->limit;
    if (rest == count) {
        *ret_shown = (struct cut_shown){.count = utf8_count(text, strlen(text))};
        ret_shown->next = ret_shown->count;
        return mem_strdup(text);
    }
    buf_add(&out, text, (size_t)(body - text));
    body = utf8_at(body, begin);
    buf_add(&out, body, (size_t)(utf8_at(body, rest) - body));
    buf_addf(&out, "\n\n[Characters %zu to %zu of %zu.", begin, begin + rest, count);
    if (begin + rest < count)
        buf_addf(&out, " Read on with begin=%zu.", begin + rest);
    buf_add_char(&out, ']');
    *ret_shown = (struct cut_shown){.truncated = true, .count = rest, .next = begin + rest};
    return buf_take(&out);
}
