/*
 * grep -- lines of the container's files that match a regular expression.
 *
 * ripgrep finds them in any order. The newest files come first, so all matches are collected, up to limits, before the
 * first one is shown.
 */

#include <stdlib.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/utf8.h"
#include "handlers/handlers.h"
#include "handlers/support/ripgrep.h"
#include "handlers/support/root_call.h"
#include "handlers/support/search_place.h"
#include "handlers/support/workspace_call.h"

#define SHOWN        ((size_t)100)  /* matches */
#define LINE_LETTERS ((size_t)2000) /* of a line; the rest is cut */

/* What is collected before the newest are chosen. */
#define MATCHES_LIMIT ((size_t)20000)
#define BYTES_LIMIT   ((size_t)16 << 20)

struct line {
    size_t file; /* in `files` */
    unsigned long number;
    bool match; /* or context */
    char *text; /* owned */
};

struct matches {
    const struct search_place *place;
    struct search_file *files;
    size_t file_count;
    struct line *lines;
    size_t line_count, room;
    size_t match_count, bytes;
};

/* Text, or bytes in base64 if they are not UTF-8: such names and lines are left out. */
static const char *text_of(const json_t *data, const char *name)
{
    return json_get_string(json_object_get(data, name), "text", NULL);
}

/* ripgrep searches files side by side, but prints one after the other. */
static void begin_file(struct matches *matches, const json_t *data)
{
    const char *name = text_of(data, "path");
    char *path = search_place_path(matches->place, name ? name : "?");

    matches->files =
        mem_resize(matches->files, matches->file_count + 1, sizeof(*matches->files));
    matches->files[matches->file_count++] =
        (struct search_file){path, search_place_time(matches->place, path)};
}

static void add_line(struct matches *matches, const json_t *data, bool match)
{
    const char *text = text_of(data, "lines");
    const char *end;

    text = text ? text : "(not UTF-8)";
    end = utf8_at(text, LINE_LETTERS);
    if (matches->line_count == matches->room) {
        matches->room = matches->room ? 2 * matches->room : 64;
        matches->lines = mem_resize(matches->lines, matches->room, sizeof(*matches->lines));
    }
    matches->bytes += (size_t)(end - text);
    matches->match_count += match;
    {
        size_t length = (size_t)(end - text);

        while (length && (text[length - 1] == '\n' || text[length - 1] == '\r'))
            length--;
        matches->lines[matches->line_count++] = (struct line){
            .file = matches->file_count - 1,
            .number = (unsigned long)json_get_int(data, "line_number", 0),
            .match = match,
            .text = mem_printf("%.*s%s", (int)length, text, *end && *end != '\n' ? "..." : ""),
        };
    }
}

static bool take(void *argument, const char *record, size_t length)
{
    struct matches *matches = argument;
    json_t *message = NULL;
    const char *type;

    if (json_parse(record, length, &message, NULL) != ERR_OK)
        return true;
    type = json_get_string(message, "type", "");
    if (strcmp(type, "begin") == 0)
        begin_file(matches, json_object_get(message, "data"));
    else if (matches->file_count &&
             (strcmp(type, "match") == 0 || strcmp(type, "context") == 0))
        add_line(matches, json_object_get(message, "data"), *type == 'm');
    json_decref(message);
    return matches->match_count < MATCHES_LIMIT && matches->bytes < BYTES_LIMIT;
}

/* ---- What the model reads ---- */

/* A file with its lines, which are in order. */
struct group {
    struct search_file file;
    size_t first, count;
};

static int by_age(const void *left, const void *right)
{
    const struct group *a = left, *b = right;

    return search_file_order(&a->file, &b->file);
}

static struct group *grouped(const struct matches *matches)
{
    struct group *groups = mem_new_array(struct group, matches->file_count + 1);

    for (size_t i = 0; i < matches->file_count; i++)
        groups[i].file = matches->files[i];
    for (size_t i = 0; i < matches->line_count; i++) {
        struct group *group = &groups[matches->lines[i].file];

        if (!group->count++)
            group->first = i;
    }
    qsort(groups, matches->file_count, sizeof(*groups), by_age);
    return groups;
}

/* Up to the last match that is shown. Returns how many matches that were. */
static size_t add_group(const struct matches *matches, const struct group *group, size_t left,
                        struct buf *text)
{
    size_t count = 0;

    buf_addf(text, "\n%s:\n", group->file.path);
    for (size_t i = 0; i < group->count; i++) {
        const struct line *line = &matches->lines[group->first + i];

        if (line->match && count == left)
            break;
        count += line->match;
        buf_addf(text, "  %lu%c %s\n", line->number, line->match ? ':' : '-', line->text);
    }
    return count;
}

static void report(const struct matches *matches, struct tool_result *ret_result)
{
    AUTO_FREE struct group *groups = grouped(matches);
    AUTO_BUF text = {0}, body = {0};
    size_t shown = 0;

    for (size_t i = 0; i < matches->file_count && shown < SHOWN; i++) {
        if (groups[i].count)
            shown += add_group(matches, &groups[i], SHOWN - shown, &body);
    }
    if (!shown) {
        tool_result_add_text(ret_result, "No matches found");
        return;
    }
    buf_addf(&text, "Found %zu matches\n", shown);
    buf_add(&text, body.data + 1, body.length - 2);
    if (shown < matches->match_count)
        buf_add_text(&text, "\n\n" SEARCH_CUT_NOTE);
    tool_result_add_bytes(ret_result, text.data, text.length);
}

/* ---- The search ---- */

/* clang-format off */
static const struct {
    const char *type, *glob;
} types[] = {
    {"js", "*.{js,mjs,cjs}"}, {"ts", "*.{ts,mts,cts}"}, {"tsx", "*.tsx"}, {"jsx", "*.jsx"},
    {"py", "*.py"}, {"rust", "*.rs"}, {"go", "*.go"}, {"java", "*.java"}, {"c", "*.c"},
    {"cpp", "*.{cpp,cc,cxx,hpp,hh,hxx}"}, {"h", "*.h"}, {"css", "*.css"}, {"html", "*.{html,htm}"},
    {"json", "*.json"}, {"yaml", "*.{yaml,yml}"}, {"md", "*.md"}, {"vue", "*.vue"},
    {"svelte", "*.svelte"},
};
/* clang-format on */

static char *type_option(const char *type)
{
    for (size_t i = 0; i < COUNT_OF(types); i++) {
        if (strcmp(types[i].type, type) == 0)
            return mem_printf("--type-add=wanted:%s", types[i].glob);
    }
    return mem_printf("--type-add=wanted:*.%s", type);
}

static enum err_code search(struct tool_call *call, const struct search_place *place,
                            struct matches *matches, struct err *err)
{
    const json_t *args = tool_call_args(call);
    const char *glob = json_get_string(args, "glob", NULL);
    const char *type = json_get_string(args, "type", NULL);
    AUTO_FREE char *glob_option = glob ? mem_printf("--glob=%s", glob) : NULL;
    AUTO_FREE char *added = type ? type_option(type) : NULL;
    AUTO_FREE char *context =
        mem_printf("--context=%d", (int)json_get_int(args, "context_lines", 0));
    const char *arguments[16] = {"--json", context};
    size_t count = 2;

    if (json_get_bool(args, "case_insensitive", false))
        arguments[count++] = "--ignore-case";
    if (glob_option)
        arguments[count++] = glob_option;
    if (added) {
        arguments[count++] = added;
        arguments[count++] = "--type=wanted";
    }
    arguments[count++] = "-e";
    arguments[count++] = json_get_string(args, "pattern", "");
    arguments[count++] = "--";
    arguments[count++] = place->target;
    return ripgrep_run(call,
                       &(struct ripgrep){.folder = place->folder,
                                         .root = place->root,
                                         .arguments = arguments,
                                         .separator = '\n',
                                         .take = take,
                                         .argument = matches},
                       err);
}

static void matches_clear(struct matches *matches)
{
    for (size_t i = 0; i < matches->file_count; i++)
        free(matches->files[i].path);
    for (size_t i = 0; i < matches->line_count; i++)
        free(matches->lines[i].text);
    free(matches->files);
    free(matches->lines);
}

static enum err_code run(struct tool_call *call, struct tool_result *ret_result,
                         struct err *err)
{
    const char *pattern = json_get_string(tool_call_args(call), "pattern", "");
    CLEANUP(search_place_clear) struct search_place place = {.path = NULL};
    CLEANUP(matches_clear) struct matches matches = {.place = &place};
    AUTO_FREE char *title = NULL;
    enum err_code rc = search_place_open(call, &place, err);

    rc = rc ? rc : search(call, &place, &matches, err);
    if (rc)
        return rc;
    report(&matches, ret_result);
    title = mem_printf("Searched for %s", pattern);
    tool_result_describe(
        ret_result, title,
        call_described(call, json_build("{s:I}", "matches", (json_int_t)matches.match_count)));
    return ERR_OK;
}

static const char parameters[] =
    "{\"type\": \"object\", \"additionalProperties\": false, \"required\": [\"pattern\"],"
    " \"properties\": {"
    "\"pattern\": {\"type\": \"string\", \"minLength\": 1, \"maxLength\": 1000,"
    "  \"description\": \"A regular expression.\"},"
    "\"path\": {\"type\": \"string\", \"minLength\": 1, \"maxLength\": 4095,"
    "  \"description\": \"The folder or the file to search; /mnt/data if it is missing.\"},"
    "\"glob\": {\"type\": \"string\", \"minLength\": 1, \"maxLength\": 1000,"
    "  \"description\": \"Only files with such names, for example *.{ts,tsx}\"},"
    "\"type\": {\"type\": \"string\", \"minLength\": 1, \"maxLength\": 32,"
    "  \"pattern\": \"^[A-Za-z0-9_+-]+$\","
    "  \"description\": \"Only files of a language: js ts tsx jsx py rust go java c cpp h css "
    "html"
    " json yaml md vue svelte, or an extension.\"},"
    "\"case_insensitive\": {\"type\": \"boolean\", \"default\": false,"
    "  \"description\": \"Letters match whatever their case is.\"},"
    "\"context_lines\": {\"type\": \"integer\", \"minimum\": 0, \"maximum\": 20,"
    "  \"default\": 0, \"description\": \"Lines to show around each match.\"}}}";

static const char *const tags[] = {"code", "files", "search", NULL};

const struct tool_handler grep_handler = {
    .name = "grep",
    .group = "code",
    .description = "Finds lines in files of the workspace, /mnt/data; newest files first.",
    .parameters = parameters,
    .flags = TOOL_IDEMPOTENT | TOOL_READ_ONLY | TOOL_IN_ORDER | TOOL_NEEDS_SANDBOX |
             TOOL_NEEDS_RIPGREP | TOOL_TAKES_SEAT,
    .shown_limit = CODE_SHOWN,
    .permission = {EXECUTION_AUTO, RESULT_NEVER},
    .returns = {"string", "files and lines"},
    .tags = tags,
    .init = root_call_note,
    .plan = search_place_plan,
    .run = run,
};
