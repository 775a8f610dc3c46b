/*
 * cut.c -- a long result becomes two pieces and a note of what is missing between them.
 *
 * The limit comes from the narrowest place that has one: the `limit` argument of the call, then the
 * tool's own limit, then `runnel.truncation` of the request, then CUT_DEFAULT_LIMIT. A tool with its own
 * limit knows the size of its results, so the request does not override it.
 *
 * The middle is left out by default. The beginning of an output says what it is, and its end often has
 * the error or the total. A request may ask for the beginning only. The text itself is not lost: it is
 * kept in a variable, and a hint behind the cut says where to read on (core/domain/variable.h). That is
 * why the caller needs `next`, the first missing character.
 *
 * Characters are counted, not bytes, because models and clients state limits in characters. Tokens would
 * be exact for one upstream only.
 */

#include "core/tool/cut.h"

#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/utf8.h"

/* Zero, a negative number and a very large one all mean "everything". */
static size_t limit_of(const struct run_settings *settings, const json_t *args, size_t fallback)
{
    const json_t *wanted = json_object_get(args, "limit");

    if (json_is_number(wanted))
        return json_number_value(wanted) >= 1 &&
                       json_number_value(wanted) < (double)CUT_NO_LIMIT
                   ? (size_t)json_number_value(wanted)
                   : CUT_NO_LIMIT;
    return settings->result_limit && fallback == CUT_DEFAULT_LIMIT ? settings->result_limit
                                                                   : fallback;
}

/* A double, as with `limit`: some models write 3.0. */
static size_t begin_of(const json_t *args)
{
    double begin = json_number_value(json_object_get(args, "begin"));

    if (!(begin >= 1))
        return 0;
    return begin < (double)CUT_NO_LIMIT ? (size_t)begin : CUT_NO_LIMIT;
}

struct cut_rule cut_rule(const struct run_settings *settings, const json_t *args,
                         size_t fallback)
{
    return (struct cut_rule){
        .limit = limit_of(settings, args, fallback),
        .begin = begin_of(args),
        .head_only = settings->result_head_only,
        .language = settings->language,
    };
}

struct note {
    const char *before, *after; /* the number of characters that are missing */
};

static const struct note notes[LANGUAGE_COUNT][2] = {
    /* [language][head only] */
    {{"... too long, characters left out here: ", " ..."},
     {"... too long, characters left out at the end: ", " ..."}},
    {{"...输出过长，省略中间 ", " 个字符..."}, {"...输出过长，省略后 ", " 个字符..."}},
};

char *cut_text(const char *text, const struct cut_rule *rule, struct cut_shown *ret_shown)
{
    size_t count = utf8_count(text, strlen(text));
    size_t head = rule->head_only ? rule->limit : rule->limit / 2;
    const struct note *note = &notes[rule->language][rule->head_only];
    struct buf buf = {0};

    if (count <= rule->limit) {
        *ret_shown = (struct cut_shown){.count = count, .next = count};
        return mem_strdup(text);
    }
    *ret_shown = (struct cut_shown){.truncated = true, .count = rule->limit, .next = head};
    buf_add(&buf, text, (size_t)(utf8_at(text, head) - text));
    buf_addf(&buf, "\n\n%s%zu%s", note->before, count - rule->limit, note->after);
    if (!rule->head_only) {
        buf_add_text(&buf, "\n\n");
        buf_add_text(&buf, utf8_at(text, head + count - rule->limit));
    }
    return buf_take(&buf);
}
