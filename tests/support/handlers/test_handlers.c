/*
 * test -- tools that behave, or misbehave, as a test wants. Never part of a release.
 *
 * Their arguments say what they do, so a script of the model can drive every path of the engine:
 * slow and streaming tools, final and hidden ones, every kind of hosted item, and one that ignores
 * cancelling.
 */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/tool/rules.h"
#include "core/tool/source.h"
#include "handlers/handlers.h"

/* One transparent pixel. */
#define PIXEL                                                                              \
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJ" \
    "RU5ErkJggg=="

/* Any arguments are accepted: only scripts of tests call these tools. */
#define ANY "{\"type\": \"object\", \"additionalProperties\": true}"

static uint64_t pause_ns(const struct tool_call *call)
{
    json_int_t ms = json_get_int(tool_call_args(call), "ms", 0);

    return ms > 0 ? (uint64_t)ms * NS_PER_MS : 0;
}

static const char *text_of(const struct tool_call *call, const char *fallback)
{
    return json_get_string(tool_call_args(call), "text", fallback);
}

static void add_pixel(struct tool_result *result)
{
    tool_result_add_part(result, (struct tool_part){.kind = TOOL_PART_IMAGE,
                                                    .mime_type = mem_strdup("image/png"),
                                                    .data = mem_strdup(PIXEL),
                                                    .length = strlen(PIXEL)});
}

/* Emits args.pieces, waiting args.ms between them. *whole gets all of them together. */
static enum err_code emit_pieces(struct tool_call *call, struct buf *whole)
{
    const json_t *piece;
    size_t i;

    json_array_foreach (json_object_get(tool_call_args(call), "pieces"), i, piece) {
        const char *text = json_is_string(piece) ? json_string_value(piece) : "";
        enum err_code rc = i ? tool_call_wait(call, pause_ns(call)) : ERR_OK;

        if (!rc)
            rc = tool_call_emit_text(call, text, strlen(text));
        if (rc)
            return rc;
        buf_add_text(whole, text);
    }
    return ERR_OK;
}

static enum err_code run_slow(struct tool_call *call, struct tool_result *ret_result,
                              struct err *err)
{
    enum err_code rc = tool_call_wait(call, pause_ns(call));

    (void)err;
    if (rc)
        return rc;
    tool_result_add_text(ret_result, text_of(call, "done"));
    return ERR_OK;
}

/* The result has no text in common with the arguments. */
static enum err_code run_backwards(struct tool_call *call, struct tool_result *ret_result,
                                   struct err *err)
{
    const char *text = text_of(call, "");
    size_t length = strlen(text);
    AUTO_BUF reversed = {0};

    while (length--)
        buf_add_char(&reversed, text[length]);
    if (json_get_bool(tool_call_args(call), "fail", false))
        return err_set(err, ERR_INVALID, "%s", reversed.data ? reversed.data : "");
    tool_result_add_text(ret_result, reversed.data ? reversed.data : "");
    return ERR_OK;
}

static enum err_code run_stream(struct tool_call *call, struct tool_result *ret_result,
                                struct err *err)
{
    AUTO_BUF whole = {0};
    enum err_code rc = emit_pieces(call, &whole);

    (void)err;
    if (rc)
        return rc;
    tool_result_add_text(ret_result, text_of(call, "done"));
    return ERR_OK;
}

static enum err_code run_fail(struct tool_call *call, struct tool_result *ret_result,
                              struct err *err)
{
    enum err_code rc = tool_call_wait(call, pause_ns(call));

    (void)ret_result;
    if (rc)
        return rc;
    return err_set(err, ERR_INVALID, "%s",
                   json_get_string(tool_call_args(call), "message", "this tool always fails"));
}

static enum err_code run_final(struct tool_call *call, struct tool_result *ret_result,
                               struct err *err)
{
    AUTO_BUF whole = {0};
    enum err_code rc = emit_pieces(call, &whole);

    (void)err;
    if (rc)
        return rc;
    tool_result_add_bytes(ret_result, whole.data ? whole.data : "", whole.length);
    return ERR_OK;
}

static enum err_code run_final_image(struct tool_call *call, struct tool_result *ret_result,
                                     struct err *err)
{
    (void)call;
    (void)err;
    add_pixel(ret_result);
    return ERR_OK;
}

/* Ends with args.status and the reason args.why, after args.pieces. args.text is the result even then. */
static enum err_code run_ends(struct tool_call *call, struct tool_result *ret_result,
                              struct err *err)
{
    const char *word = json_get_string(tool_call_args(call), "status", "success");
    const char *text = text_of(call, NULL);
    enum tool_status status = TOOL_SUCCESS;
    AUTO_BUF said = {0};
    enum err_code rc = emit_pieces(call, &said);

    (void)err;
    if (rc)
        return rc;
    while (status < TOOL_NOT_FOUND && strcmp(word, tool_status_name(status)) != 0)
        status++;
    tool_result_end(ret_result, status, json_get_string(tool_call_args(call), "why", NULL));
    if (text)
        tool_result_add_text(ret_result, text);
    tool_result_describe(ret_result, "Ended", NULL);
    return ERR_OK;
}

/* Ignores tool_call_cancelled() for args.ms. */
static enum err_code run_stubborn(struct tool_call *call, struct tool_result *ret_result,
                                  struct err *err)
{
    uint64_t until = clock_mono_ns() + pause_ns(call);
    uint64_t now;

    (void)err;
    while ((now = clock_mono_ns()) < until)
        (void)poll(NULL, 0, (int)((until - now) / NS_PER_MS) + 1);
    tool_result_add_text(ret_result, text_of(call, "done"));
    return tool_call_emit_text(call, "too late?", strlen("too late?"));
}

static enum err_code emit_partial_image(struct tool_call *call, json_int_t index)
{
    return tool_call_emit_stage(
        call, "partial_image",
        json_build("{s:s, s:I}", "partial_image_b64", PIXEL, "partial_image_index", index));
}

static enum err_code run_image(struct tool_call *call, struct tool_result *ret_result,
                               struct err *err)
{
    json_int_t count = json_get_int(tool_call_args(call), "partial_images", 1);
    enum err_code rc = tool_call_emit_stage(call, "generating", NULL);

    (void)err;
    for (json_int_t i = 0; !rc && i < count; i++) {
        rc = tool_call_wait(call, pause_ns(call));
        if (!rc)
            rc = emit_partial_image(call, i);
    }
    if (rc)
        return rc;
    add_pixel(ret_result);
    return ERR_OK;
}

/* Shared by searches of files and of the web. */
static enum err_code run_search(struct tool_call *call, struct tool_result *ret_result,
                                struct err *err)
{
    enum err_code rc = tool_call_emit_stage(call, "searching", NULL);

    if (rc)
        return rc;
    return run_slow(call, ret_result, err);
}

/* The item has args.results, pages that may be cited by links. */
static enum err_code run_web(struct tool_call *call, struct tool_result *ret_result,
                             struct err *err)
{
    json_t *results = json_object_get(tool_call_args(call), "results");

    if (results)
        tool_result_set_data(ret_result, json_build("{s:O}", "results", results));
    return run_search(call, ret_result, err);
}

/* A search whose results may be cited: args.passages, each with file_id, filename and text. */
static enum err_code run_cite(struct tool_call *call, struct tool_result *ret_result,
                              struct err *err)
{
    const json_t *passages = json_object_get(tool_call_args(call), "passages");
    enum err_code rc = tool_call_emit_stage(call, "searching", NULL);
    json_t *sources;
    AUTO_BUF text = {0};
    size_t i;
    json_t *passage;

    (void)err;
    if (rc)
        return rc;
    sources = json_array();
    buf_addf(&text, "%zu passages found.\n", json_array_size(passages));
    json_array_foreach (passages, i, passage) {
        const char *filename = json_get_string(passage, "filename", "");

        source_add_mark(&text, tool_call_search(call), (unsigned)i);
        buf_addf(&text, " %s\n", filename);
        source_add_quoted(&text, json_get_string(passage, "text", ""));
        buf_add_char(&text, '\n');
        json_array_append_new(
            sources, json_build("{s:s, s:s, s:s}", "type", "file_citation", "file_id",
                                json_get_string(passage, "file_id", ""), "filename", filename));
    }
    tool_result_add_text(ret_result, text.data);
    tool_result_set_sources(ret_result, sources);
    return ERR_OK;
}

/* args.pieces are the code. */
static enum err_code run_code(struct tool_call *call, struct tool_result *ret_result,
                              struct err *err)
{
    enum err_code rc = ERR_OK;
    const json_t *piece;
    size_t i;

    json_array_foreach (json_object_get(tool_call_args(call), "pieces"), i, piece) {
        const char *text = json_is_string(piece) ? json_string_value(piece) : "";

        rc = tool_call_emit_delta(call, "code", text, strlen(text));
        if (rc)
            return rc;
    }
    rc = tool_call_emit_stage(call, "interpreting", NULL);
    if (rc)
        return rc;
    return run_slow(call, ret_result, err);
}

static enum err_code run_echo_context(struct tool_call *call, struct tool_result *ret_result,
                                      struct err *err)
{
    json_auto_t *all = json_build(
        "{s:s, s:s, s:s, s:s, s:s, s:O, s:O, s:O, s:O}", "call_id", tool_call_id(call),
        "project", tool_call_tenant(call)->project, "run", tool_call_run(call), "thread",
        tool_call_thread(call), "user", tool_call_tenant(call)->user, "args",
        tool_call_args(call), "config", tool_call_config(call), "files", tool_call_files(call),
        "context", tool_call_context(call));
    AUTO_FREE char *text = json_text(all);

    (void)err;
    tool_result_add_text(ret_result, text);
    return ERR_OK;
}

/* A definition that depends on the run: it greets in the language of the run. */
static json_t *init_greet(const struct tool_context *context)
{
    bool chinese = context->settings->language == LANGUAGE_CHINESE;
    const char *word = chinese ? "你好" : "hello";

    return json_build("{s:s, s:{s:s, s:{s:{s:s, s:s, s:[s]}}, s:[s]}}", "description",
                      chinese ? "Greets in Chinese." : "Greets in English.", "parameters",
                      "type", "object", "properties", "word", "type", "string", "description",
                      "What to say.", "enum", word, "required", "word");
}

static enum err_code run_greet(struct tool_call *call, struct tool_result *ret_result,
                               struct err *err)
{
    (void)err;
    tool_result_add_text(ret_result, json_get_string(tool_call_args(call), "word", ""));
    return ERR_OK;
}

/* Adds a line to a file, so that a test can count how often it ran. With args.once only the first call
 * takes its time: a test may wait during that one, and a repeated call ends at once. */
static enum err_code run_count(struct tool_call *call, struct tool_result *ret_result,
                               struct err *err)
{
    const char *path = json_get_string(tool_call_args(call), "path", "");
    AUTO_FREE char *line = mem_printf("%s\n", tool_call_id(call));
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    ssize_t written;
    bool first;

    if (fd < 0)
        return err_set(err, ERR_INVALID, "cannot open %s: %s", path, strerror(errno));
    first = lseek(fd, 0, SEEK_END) == 0;
    written = write(fd, line, strlen(line));
    close(fd);
    if (written != (ssize_t)strlen(line))
        return err_set(err, ERR_INTERNAL, "cannot write to %s", path);
    if (first || !json_get_bool(tool_call_args(call), "once", false))
        return run_slow(call, ret_result, err);
    tool_result_add_text(ret_result, text_of(call, "done"));
    return ERR_OK;
}

/* args.paths that begin with "shared:" lie outside: their directories need a permission. */
static enum err_code plan_outside(struct tool_call *call, struct err *err)
{
    json_t *paths = json_object_get(tool_call_args(call), "paths");
    char *patterns[TOOL_PATTERNS_LIMIT + 2] = {NULL};
    const char *borrowed[TOOL_PATTERNS_LIMIT + 2] = {NULL};
    size_t count = 0, i;
    enum err_code rc = ERR_OK;
    json_t *path;

    json_array_foreach (paths, i, path) {
        const char *text = json_is_string(path) ? json_string_value(path) : "";
        const char *slash = strrchr(text, '/');

        if (!*text)
            rc = err_set(err, ERR_INVALID, "A path is empty.");
        if (strncmp(text, "shared:", 7) == 0 && slash && count <= TOOL_PATTERNS_LIMIT)
            patterns[count++] = mem_printf("%.*s/*", (int)(slash - text), text);
    }
    memcpy(borrowed, patterns, sizeof(patterns));
    if (!rc && count)
        rc = tool_call_ask(
            call,
            &(struct tool_permission){.type = "external_directory",
                                      .patterns = borrowed,
                                      .title = "Read outside",
                                      .metadata = json_build("{s:O}", "paths", paths)},
            err);
    while (count)
        free(patterns[--count]);
    return rc;
}

static enum err_code run_data(struct tool_call *call, struct tool_result *ret_result,
                              struct err *err)
{
    (void)err;
    tool_result_set_data(ret_result,
                         json_deep_copy(json_object_get(tool_call_args(call), "data")));
    if (json_object_get(tool_call_args(call), "text"))
        tool_result_add_text(ret_result, text_of(call, ""));
    return ERR_OK;
}

/* Formats a list as lines, and fails for anything else. */
static char *format_lines(const json_t *data, const json_t *args, struct err *err)
{
    AUTO_BUF text = {0};
    size_t i;
    json_t *line;

    if (!json_is_array(data)) {
        (void)err_set(err, ERR_INVALID, "no list");
        return NULL;
    }
    json_array_foreach (data, i, line)
        buf_addf(&text, "%s%s\n", json_get_string(args, "before", ""), json_string_value(line));
    return buf_take(&text);
}

/* How many pieces the arguments have; NULL without pieces. */
static char *compress_pieces(const json_t *args)
{
    const json_t *pieces = json_object_get(args, "pieces");

    return json_is_array(pieces) ? mem_printf("%zu\npieces", json_array_size(pieces)) : NULL;
}

static char *compress_text(const char *text)
{
    return *text ? mem_printf("%zu bytes", strlen(text)) : NULL;
}

/* Emits args.notes, args.ms apart, then a title, the number of notes, and a picture. */
static enum err_code run_notes(struct tool_call *call, struct tool_result *ret_result,
                               struct err *err)
{
    const json_t *notes = json_object_get(tool_call_args(call), "notes");
    const json_t *note;
    size_t i;

    (void)err;
    json_array_foreach (notes, i, note) {
        enum err_code rc = i ? tool_call_wait(call, pause_ns(call)) : ERR_OK;

        if (rc)
            return rc;
        tool_call_metadata(call, json_get_string(note, "title", NULL), json_deep_copy(note));
    }
    tool_result_add_text(ret_result, text_of(call, "done"));
    add_pixel(ret_result);
    tool_result_describe(ret_result, "Took notes",
                         json_build("{s:I}", "count", (json_int_t)json_array_size(notes)));
    return ERR_OK;
}

static void explain_number(struct err *err)
{
    (void)err_set(err, ERR_INVALID, "Think of a number: `n`, from 1 to 10.");
}

#define NUMBER                                                                       \
    "{\"type\": \"object\", \"additionalProperties\": false, \"required\": [\"n\"]," \
    " \"properties\": {\"n\": {\"type\": \"integer\", \"minimum\": 1,"               \
    "  \"maximum\": 10, \"description\": \"A number.\"}}}"

/* Its own cutter: `limit` characters from `begin`, ASCII. */
static char *cut_page(const char *text, const struct cut_rule *rule,
                      struct cut_shown *ret_shown)
{
    size_t length = strlen(text);
    size_t begin = rule->begin < length ? rule->begin : length;
    size_t size = length - begin < rule->limit ? length - begin : rule->limit;

    *ret_shown =
        (struct cut_shown){.truncated = size < length, .count = size, .next = begin + size};
    return mem_printf("page: %.*s", (int)size, text + begin);
}

#define TEST_HANDLER(word, about, more, runner)                               \
    const struct tool_handler test_##word##_handler = {.name = "test_" #word, \
                                                       .group = "test",       \
                                                       .description = about,  \
                                                       .parameters = ANY,     \
                                                       .run = runner,         \
                                                       more}

#define PLAIN .flags = 0

/* clang-format off */
TEST_HANDLER(slow, "Waits args.ms, returns args.text.", PLAIN, run_slow);
TEST_HANDLER(backwards, "Gives args.text backwards.", PLAIN, run_backwards);
TEST_HANDLER(stream, "Says args.pieces, args.ms apart.", PLAIN, run_stream);
TEST_HANDLER(pages, "As test_slow, its text in pages.", .cut = cut_page, run_slow);
TEST_HANDLER(short, "As test_slow, ten characters of it.", .shown_limit = 10, run_slow);
TEST_HANDLER(whole, "As test_slow, all of it.", .shown_limit = CUT_NO_LIMIT, run_slow);
TEST_HANDLER(unkept, "As test_slow, kept in no variable.", .flags = TOOL_NOT_KEPT, run_slow);
TEST_HANDLER(fail, "Fails with args.message.", PLAIN, run_fail);
TEST_HANDLER(final, "Answers with args.pieces.", .flags = TOOL_FINAL, run_final);
TEST_HANDLER(final_image, "Answers with an image.", .flags = TOOL_FINAL, run_final_image);
TEST_HANDLER(hidden, "As test_stream, unseen.", .flags = TOOL_HIDDEN, run_stream);
TEST_HANDLER(stubborn, "Blocks for args.ms whatever happens.", PLAIN, run_stubborn);
TEST_HANDLER(image, "Makes a picture.", .item = &image_generation_item, run_image);
TEST_HANDLER(search, "Searches files.", .item = &file_search_item, run_search);
const struct tool_handler test_cite_handler = {.name = "test_cite",
                                               .group = "test",
                                               .description = "Finds args.passages, which may be cited.",
                                               .parameters = ANY,
                                               .flags = TOOL_CITED,
                                               .item = &file_search_item,
                                               .run = run_cite};
TEST_HANDLER(web, "Searches the web.", .item = &web_search_item, run_web);
TEST_HANDLER(code, "Runs code.", .item = &code_interpreter_item, run_code);
TEST_HANDLER(echo_context, "Returns what it was given.", PLAIN, run_echo_context);
const struct tool_handler test_greet_handler = {.name = "test_greet",
                                                .group = "test",
                                                .description = "Greets.",
                                                .parameters = ANY,
                                                .run = run_greet,
                                                .init = init_greet};
const struct tool_handler test_careful_handler = {.name = "test_careful",
                                                  .group = "careful",
                                                  .description = "As test_slow, in a group that asks.",
                                                  .parameters = ANY,
                                                  .run = run_slow};
TEST_HANDLER(data, "Gives args.data.", PLAIN, run_data);
TEST_HANDLER(lines, "Gives args.data, as lines.", .format = format_lines, run_data);
const struct tool_handler test_brief_handler = {.name = "test_brief",
                                                .group = "test",
                                                .description = "As test_slow, in few words where it is logged.",
                                                .parameters = ANY,
                                                .run = run_slow,
                                                .compress_args = compress_pieces,
                                                .compress_result = compress_text};
TEST_HANDLER(ends, "Says args.pieces, ends as args.status says.", PLAIN, run_ends);
TEST_HANDLER(ends_final, "As test_ends, and is the answer.", .flags = TOOL_FINAL, run_ends);
TEST_HANDLER(ends_hidden, "As test_ends, and is not shown.", .flags = TOOL_HIDDEN, run_ends);
TEST_HANDLER(notes, "Shows args.notes, args.ms apart.", PLAIN, run_notes);
const struct tool_handler test_number_handler = {.name = "test_number",
                                                 .group = "test",
                                                 .description = "Wants a number.",
                                                 .parameters = NUMBER,
                                                 .run = run_slow,
                                                 .explain = explain_number};
TEST_HANDLER(outside, "As test_count, and asks for args.paths.", .plan = plan_outside, run_count);
TEST_HANDLER(count, "Appends a line to args.path.", PLAIN, run_count);
TEST_HANDLER(count_idempotent, "As test_count, and may run again.", .flags = TOOL_IDEMPOTENT,
             run_count);
/* clang-format on */

static const struct skill_rule test_rules[] = {
    {.name = "always",
     .description = {"How tests are made", "测试的写法"},
     .prompt = {"A test can fail.", "测试必须能够失败。"},
     .pinned = true},
    {.name = "slow-tools",
     .description = {"Tools that take long", "耗时的工具"},
     .when = {"Before calling test_slow", "调用 test_slow 之前"},
     .prompt = {"Be patient with test_slow.", "请耐心等待 test_slow。"}},
    {.name = "images",
     .description = {"Tools that draw", NULL},
     .prompt = {"One pixel is a picture.", NULL}},
    {0},
};

const struct tool_group test_group = {
    .name = "test",
    .auto_execute = true,
    .prompt = {"\nThese tools do what a test tells them.\n", "这些工具按测试的要求行事。"},
    .rules = test_rules};
