/*
 * text -- counts, finds and replaces in text, which models often get wrong.
 *
 * Positions and lengths are Unicode characters (code points). A search is plain text, or
 * a regular expression between slashes with JavaScript's flags. The flag `g` has no effect: the
 * operation decides between the first match and all of them.
 *
 * An operation is a row of a table with a function. find() hides which kind of search it is, so each
 * operation is written once. Bytes are counted inside and characters outside: run_find() counts on from
 * the last match instead of from the beginning, which would be quadratic for findAll.
 *
 * Input, output, and the work of a pattern are limited (core/base/regex.h), because a model can write a
 * pattern that never ends, and "$`" doubles a text with each match.
 */

#include <string.h>

#include "core/base/buf.h"
#include "core/base/json.h"
#include "core/base/regex.h"
#include "core/base/utf8.h"
#include "handlers/handlers.h"

#define INPUT_LIMIT  ((size_t)1 << 20)
#define OUTPUT_LIMIT ((size_t)1 << 20)

static const char parameters[] =
    "{\"type\": \"object\", \"additionalProperties\": false,"
    " \"required\": [\"input\", \"operation\"],"
    " \"properties\": {"
    "  \"input\": {\"type\": \"string\", \"description\": \"The text to work on.\"},"
    "  \"operation\": {\"type\": \"string\","
    "   \"enum\": [\"length\", \"find\", \"findAll\", \"replace\", \"replaceAll\"],"
    "   \"description\": \"length counts characters; find gives the first position (from 0) or"
    " -1; findAll all positions; replace changes the first place, replaceAll all.\"},"
    "  \"search\": {\"type\": \"string\", \"description\": \"What to find: plain text, or"
    " /regular expression/flags.\"},"
    "  \"replacement\": {\"type\": \"string\", \"description\": \"What to put in its place. $&"
    " is what was found, $1 the first group, $$ a dollar sign.\"}}}";

/* ---- what to search for ---- */

struct text {
    const char *at;
    size_t length;
};

/* What is searched for: an expression, or plain text. */
struct needle {
    struct regex *regex;
    struct regex_scan *scan;
    struct text plain;
    size_t plain_from;
    size_t plain_match[2];
};

static void needle_clear(struct needle *needle)
{
    regex_scan_free(needle->scan);
    regex_free(needle->regex);
}

/* The flags after the last slash; `g` changes nothing. */
static bool read_flags(const char *text, unsigned *ret_flags)
{
    unsigned flags = 0;

    for (; *text; text++) {
        switch (*text) {
        case 'i': flags |= REGEX_IGNORE_CASE; break;
        case 'm': flags |= REGEX_MULTILINE; break;
        case 's': flags |= REGEX_DOT_ALL; break;
        case 'g':
        case 'u': break;
        default: return false;
        }
    }
    *ret_flags = flags;
    return true;
}

/* "/a/i" is an expression; "/usr/bin" is not, for "bin" are no flags. */
static enum err_code read_needle(const struct tool_call *call, const char *search,
                                 const struct text *text, struct needle *ret_needle,
                                 struct err *err)
{
    const char *last = strrchr(search, '/');
    enum err_code rc;
    unsigned flags;

    if (search[0] != '/' || last < search + 2 || !read_flags(last + 1, &flags)) {
        ret_needle->plain = (struct text){search, strlen(search)};
        return ERR_OK;
    }
    rc = regex_compile(search + 1, (size_t)(last - search) - 1, flags, &ret_needle->regex, err);
    if (rc)
        return rc;
    ret_needle->scan =
        regex_scan_new(ret_needle->regex, text->at, text->length, REGEX_STEP_LIMIT);
    regex_scan_share(ret_needle->scan, tool_call_searches(call));
    return ERR_OK;
}

static enum err_code next_plain(struct needle *needle, const struct text *text,
                                struct regex_match *ret_match)
{
    size_t from = needle->plain_from;
    const char *found =
        memmem(text->at + from, text->length - from, needle->plain.at, needle->plain.length);

    if (!found)
        return ERR_NOT_FOUND;
    needle->plain_match[0] = (size_t)(found - text->at);
    needle->plain_match[1] = needle->plain_match[0] + needle->plain.length;
    needle->plain_from = needle->plain_match[1];
    ret_match->at = needle->plain_match;
    return ERR_OK;
}

/* The next match. ERR_NOT_FOUND is no failure and has no text. */
static enum err_code find(struct needle *needle, const struct text *text,
                          struct regex_match *ret_match, struct err *err)
{
    return needle->regex ? regex_scan_next(needle->scan, ret_match, err)
                         : next_plain(needle, text, ret_match);
}

/* ---- replacing ---- */

struct replacing {
    const struct needle *needle;
    const struct text *text;
    const struct regex_match *match;
    struct text by;
};

static void add_group(struct buf *buf, const struct replacing *job, unsigned group)
{
    const size_t *at = &job->match->at[(size_t)group * 2];

    if (at[0] != REGEX_NOWHERE)
        buf_add(buf, job->text->at + at[0], at[1] - at[0]);
}

/* The number in $1 or $12, and its length; 0 when no such group exists. As in JavaScript, $12 is group 1
 * and a "2" when there are fewer than twelve groups. */
static unsigned read_group(const struct replacing *job, size_t at, size_t *ret_length)
{
    unsigned groups = job->needle->regex ? regex_group_count(job->needle->regex) : 1;
    unsigned number = 0, best = 0;

    for (size_t i = 0; i < 2 && at + i < job->by.length; i++) {
        char c = job->by.at[at + i];

        if (c < '0' || c > '9')
            break;
        number = number * 10 + (unsigned)(c - '0');
        if (number && number < groups) {
            best = number;
            *ret_length = i + 1;
        }
    }
    return best;
}

/* $<name>: its length without the dollar sign, or 0. */
static size_t add_named(struct buf *buf, const struct replacing *job, size_t at)
{
    const char *name = job->by.at + at + 1, *end;
    unsigned group;

    if (!job->needle->regex || at == job->by.length || job->by.at[at] != '<')
        return 0;
    end = strchr(name, '>');
    if (!end)
        return 0;
    group = regex_group_named(job->needle->regex, name, (size_t)(end - name));
    if (group)
        add_group(buf, job, group);
    return group ? (size_t)(end - name) + 2 : 0;
}

/* Adds the meaning of the text after a dollar sign; returns the length of that text, 0 without a
 * meaning. */
static size_t add_dollar(struct buf *buf, const struct replacing *job, size_t at)
{
    const struct text *text = job->text;
    size_t start = job->match->at[0], end = job->match->at[1];
    size_t length = 0;
    unsigned group;

    switch (at < job->by.length ? job->by.at[at] : '\0') {
    case '$': buf_add_char(buf, '$'); return 1;
    case '&': add_group(buf, job, 0); return 1;
    case '`': buf_add(buf, text->at, start); return 1;
    case '\'': buf_add(buf, text->at + end, text->length - end); return 1;
    default: break;
    }
    group = read_group(job, at, &length);
    if (group)
        add_group(buf, job, group);
    return group ? length : add_named(buf, job, at);
}

/* Stops early when the text has become too long; the caller reports it. */
static void add_replacement(struct buf *buf, const struct replacing *job)
{
    for (size_t i = 0; i < job->by.length && buf->length <= OUTPUT_LIMIT; i++) {
        size_t length = job->by.at[i] == '$' ? add_dollar(buf, job, i + 1) : 0;

        if (!length)
            buf_add_char(buf, job->by.at[i]);
        i += length;
    }
}

/* ---- the operations ---- */

struct operation {
    const char *name;
    bool all;
    enum err_code (*run)(const struct operation *operation, struct needle *needle,
                         const struct text *text, const json_t *args, struct buf *out,
                         struct err *err);
};

static enum err_code run_find(const struct operation *operation, struct needle *needle,
                              const struct text *text, const json_t *args, struct buf *out,
                              struct err *err)
{
    const char *separator = "";
    struct regex_match match;
    size_t counted = 0, position = 0;
    enum err_code rc;

    (void)args;
    if (operation->all)
        buf_add_char(out, '[');
    while (!(rc = find(needle, text, &match, err))) {
        position += utf8_count(text->at + counted, match.at[0] - counted);
        counted = match.at[0];
        buf_addf(out, "%s%zu", separator, position);
        separator = ",";
        if (!operation->all)
            return ERR_OK;
    }
    buf_add_text(out, operation->all ? "]" : "-1");
    return rc == ERR_NOT_FOUND ? ERR_OK : rc;
}

static enum err_code run_replace(const struct operation *operation, struct needle *needle,
                                 const struct text *text, const json_t *args, struct buf *out,
                                 struct err *err)
{
    const char *by = json_get_string(args, "replacement", NULL);
    struct regex_match match;
    struct replacing job = {.needle = needle, .text = text, .match = &match};
    size_t copied = 0;
    enum err_code rc;

    if (!by)
        return err_set(err, ERR_INVALID, "'%s' needs a replacement (it may be empty)",
                       operation->name);
    job.by = (struct text){by, strlen(by)};
    while (!(rc = find(needle, text, &match, err))) {
        buf_add(out, text->at + copied, match.at[0] - copied);
        add_replacement(out, &job);
        copied = match.at[1];
        if (out->length > OUTPUT_LIMIT)
            return err_set(err, ERR_TOO_LARGE, "the text would become longer than %zu bytes",
                           OUTPUT_LIMIT);
        if (!operation->all)
            break;
    }
    buf_add(out, text->at + copied, text->length - copied);
    return rc == ERR_NOT_FOUND ? ERR_OK : rc;
}

static enum err_code run_length(const struct operation *operation, struct needle *needle,
                                const struct text *text, const json_t *args, struct buf *out,
                                struct err *err)
{
    (void)operation;
    (void)needle;
    (void)args;
    (void)err;
    buf_addf(out, "%zu", utf8_count(text->at, text->length));
    return ERR_OK;
}

static const struct operation operations[] = {
    {"length", false, run_length},     {"find", false, run_find},
    {"findAll", true, run_find},       {"replace", false, run_replace},
    {"replaceAll", true, run_replace},
};

static const struct operation *find_operation(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(operations); i++)
        if (strcmp(operations[i].name, name) == 0)
            return &operations[i];
    return NULL;
}

static enum err_code text(struct tool_call *call, struct tool_result *ret_result,
                          struct err *err)
{
    const json_t *args = tool_call_args(call);
    const char *input = json_get_string(args, "input", NULL);
    const char *search = json_get_string(args, "search", "");
    const char *name = json_get_string(args, "operation", "");
    const struct operation *operation = find_operation(name);
    CLEANUP(needle_clear) struct needle needle = {0};
    struct text haystack;
    AUTO_BUF out = {0};
    enum err_code rc = ERR_OK;

    if (!operation)
        return err_set(err, ERR_INVALID,
                       "no such operation: %s (there are length, find, findAll, replace and "
                       "replaceAll)",
                       name);
    if (!input)
        return err_set(err, ERR_INVALID, "'%s' needs an input", name);
    if (strlen(input) > INPUT_LIMIT)
        return err_set(err, ERR_TOO_LARGE, "the input is longer than %zu bytes", INPUT_LIMIT);
    if (operation->run != run_length && !*search)
        return err_set(err, ERR_INVALID, "'%s' needs a search", name);

    haystack = (struct text){input, strlen(input)};
    rc = read_needle(call, search, &haystack, &needle, err);
    if (rc)
        return rc;
    rc = operation->run(operation, &needle, &haystack, args, &out, err);
    if (rc)
        return rc;
    tool_result_add_bytes(ret_result, out.data ? out.data : "", out.length);
    return ERR_OK;
}

const struct tool_handler text_handler = {
    .name = "text",
    .group = "basic",
    .description =
        "Counts the characters of a text, finds positions in it, or replaces parts of "
        "it.",
    .parameters = parameters,
    .flags = TOOL_IDEMPOTENT | TOOL_READ_ONLY,
    .run = text,
    .returns = {"string", "a number, a list of numbers, or the text"},
    .tags = (const char *const[]){"text", NULL},
};
