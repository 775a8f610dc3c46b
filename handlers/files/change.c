/*
 * fs-SearchReplace and fs-WriteFile -- the text of a file of the container becomes another one.
 */

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/edit/edit.h"
#include "core/edit/search_replace.h"
#include "core/edit/text_file.h"
#include "handlers/handlers.h"
#include "handlers/support/changes.h"
#include "handlers/support/document_change.h"
#include "handlers/support/file_change.h"

/* ---- fs-SearchReplace ---- */

static void add_stats(struct buf *note, const struct search_blocks *blocks)
{
    for (size_t i = 0; i < blocks->count; i++) {
        const struct search_block *block = &blocks->list[i];

        buf_addf(note, "\nBlock #%zu: line %zu, -%zu +%zu (%s)", i + 1, block->first + 1,
                 block->lines, block->added, block->exact ? "exact" : "normalized");
    }
}

static enum err_code replace(struct search_blocks *blocks, const json_t *args,
                             struct edit_span bytes, struct text_change *ret_change,
                             struct err *err)
{
    const json_t *range = json_object_get(args, "withinRange");
    struct edit_span text = edit_without_mark(bytes);
    size_t mark = bytes.length - text.length, length = 0;
    struct search_failure failure = {.block = 0};
    AUTO_FREE char *made = NULL;
    AUTO_BUF all = {0};

    if (!search_blocks_apply(blocks, text, (size_t)json_get_int(range, "startLine", 0),
                             (size_t)json_get_int(range, "endLine", 0), &made, &length,
                             &failure)) {
        AUTO_FREE char *why = search_failure_text(&failure);

        return err_set(err, failure.kind == SEARCH_NO_PLACE ? ERR_NOT_FOUND : ERR_CONFLICT,
                       "%s", why);
    }
    if (mark + length > EDIT_FILE_LIMIT)
        return err_set(err, ERR_TOO_LARGE, "The file would have more than %zu MiB.",
                       EDIT_FILE_LIMIT >> 20);
    buf_reserve(&all, mark + length + 1);
    buf_add(&all, bytes.at, mark);
    buf_add(&all, made, length);
    *ret_change = (struct text_change){.length = all.length, .replacements = blocks->count};
    ret_change->bytes = buf_take(&all);
    return ERR_OK;
}

static enum err_code make_blocks(const json_t *args, struct edit_span bytes,
                                 struct text_change *ret_change, struct buf *note,
                                 struct err *err)
{
    CLEANUP(search_blocks_clear) struct search_blocks blocks = {.count = 0};
    enum err_code rc;

    if (!bytes.at)
        return err_set(err, ERR_NOT_FOUND, "The file does not exist. Use fs-WriteFile.");
    rc = text_file_check(bytes, err);
    rc = rc ? rc : search_blocks_parse(document_text_arg(args, "blocks"), &blocks, err);
    if (!rc && !blocks.count)
        rc =
            err_set(err, ERR_INVALID,
                    "There is no block. A block is <<<<<<< SEARCH, the old lines, =======, the "
                    "new lines, >>>>>>> REPLACE, each on lines of its own.");
    rc = rc ? rc : replace(&blocks, args, bytes, ret_change, err);
    if (!rc)
        add_stats(note, &blocks);
    return rc;
}

static void report_blocks(const json_t *args, const char *path, bool created,
                          const struct text_change *change, const struct buf *note,
                          struct buf *out)
{
    (void)args;
    (void)created;
    buf_addf(out, "Replaced %zu block%s in %s", change->replacements,
             change->replacements == 1 ? "" : "s", path);
    buf_add(out, note->data, note->length);
}

static const struct file_change blocks_kind = {.verb = "change",
                                               .title = "Changed",
                                               .argument = "path",
                                               .make = make_blocks,
                                               .report = report_blocks};

static enum err_code plan_blocks(struct tool_call *call, struct err *err)
{
    return file_change_plan(call, &blocks_kind, err);
}

static enum err_code run_blocks(struct tool_call *call, struct tool_result *ret_result,
                                struct err *err)
{
    return file_change_run(call, &blocks_kind, ret_result, err);
}

/* ---- fs-WriteFile ---- */

static enum err_code make_longer(const json_t *args, struct edit_span bytes,
                                 struct text_change *ret_change, struct buf *note,
                                 struct err *err)
{
    if (!bytes.at)
        return file_change_whole(args, bytes, ret_change, note, err);
    return text_file_append(bytes, document_text_arg(args, "content"), ret_change, err);
}

static void report_written(const json_t *args, const char *path, bool created,
                           const struct text_change *change, const struct buf *note,
                           struct buf *out)
{
    const char *mode = json_get_string(args, "mode", "create");

    (void)note;
    buf_addf(out, "%s %s (mode: %s)\n", created ? "Created" : "Wrote", path, mode);
    changes_add_size(out, (struct edit_span){change->bytes, change->length});
}

static const struct file_change create_kind = {.verb = "write",
                                               .title = "Wrote",
                                               .argument = "path",
                                               .whole = true,
                                               .only_new = true,
                                               .make = file_change_whole,
                                               .report = report_written};
static const struct file_change overwrite_kind = {.verb = "write",
                                                  .title = "Wrote",
                                                  .argument = "path",
                                                  .whole = true,
                                                  .make = file_change_whole,
                                                  .report = report_written};
static const struct file_change append_kind = {.verb = "write",
                                               .title = "Wrote",
                                               .argument = "path",
                                               .make = make_longer,
                                               .report = report_written};

static const struct file_change *kind_of(const struct tool_call *call)
{
    const char *mode = json_get_string(tool_call_args(call), "mode", "create");

    if (strcmp(mode, "append") == 0)
        return &append_kind;
    return strcmp(mode, "overwrite") == 0 ? &overwrite_kind : &create_kind;
}

static enum err_code plan_write(struct tool_call *call, struct err *err)
{
    return file_change_plan(call, kind_of(call), err);
}

static enum err_code run_write(struct tool_call *call, struct tool_result *ret_result,
                               struct err *err)
{
    return file_change_run(call, kind_of(call), ret_result, err);
}

/* ---- The words for the model ---- */

static const char *const tags[] = {"files", "write", NULL};

static const char blocks_parameters[] =
    "{\"type\": \"object\", \"additionalProperties\": false, \"required\": [\"path\", "
    "\"blocks\"],"
    " \"properties\": {"
    "\"path\": {\"type\": \"string\", \"minLength\": 1, \"maxLength\": 4095,"
    "  \"description\": \"The file, from /mnt/data on.\"},"
    "\"blocks\": {\"type\": \"string\", \"minLength\": 1, \"maxLength\": 1048576,"
    "  \"description\": \"Blocks of whole lines: <<<<<<< SEARCH, old lines, =======, new lines,"
    " >>>>>>> REPLACE. Without new lines the old ones are deleted.\"},"
    "\"withinRange\": {\"type\": \"object\", \"additionalProperties\": false, \"properties\": {"
    "  \"startLine\": {\"type\": \"integer\", \"minimum\": 1, \"maximum\": 1000000000, "
    "\"description\": \"The first line, from 1.\"},"
    "  \"endLine\": {\"type\": \"integer\", \"minimum\": 1, \"maximum\": 1000000000, "
    "\"description\": \"The last line.\"}},"
    "  \"description\": \"Only there the old lines are looked for.\"}}}";

const struct tool_handler fs_search_replace_handler = {
    .name = "fs-SearchReplace",
    .group = "files",
    .description =
        "Replaces lines in a file of the workspace, /mnt/data, by blocks: all of them or "
        "none.",
    .parameters = blocks_parameters,
    .flags = TOOL_NEEDS_SANDBOX | TOOL_IN_ORDER | TOOL_ACTS,
    .permission = {EXECUTION_ASK_ALWAYS, RESULT_ALWAYS},
    .returns = {"string", "what each block has changed"},
    .tags = tags,
    .plan = plan_blocks,
    .run = run_blocks,
};

static const char write_parameters[] =
    "{\"type\": \"object\", \"additionalProperties\": false,"
    " \"required\": [\"path\", \"content\"], \"properties\": {"
    "\"path\": {\"type\": \"string\", \"minLength\": 1, \"maxLength\": 4095,"
    "  \"description\": \"The file, from /mnt/data on. Missing folders are made.\"},"
    "\"content\": {\"type\": \"string\", \"maxLength\": 10485760, \"description\": \"The text "
    "that is written.\"},"
    "\"mode\": {\"type\": \"string\", \"enum\": [\"create\", \"overwrite\", \"append\"], "
    "\"default\": \"create\","
    "  \"description\": \"create: the file must not exist. append: the content begins on a "
    "line of"
    " its own.\"}}}";

const struct tool_handler fs_write_file_handler = {
    .name = "fs-WriteFile",
    .group = "files",
    .description = "Writes a file in the workspace, /mnt/data.",
    .parameters = write_parameters,
    .flags = TOOL_NEEDS_SANDBOX | TOOL_IN_ORDER | TOOL_ACTS,
    .permission = {EXECUTION_ASK_ALWAYS, RESULT_ALWAYS},
    .returns = {"string", "that it was written"},
    .tags = tags,
    .plan = plan_write,
    .run = run_write,
};
