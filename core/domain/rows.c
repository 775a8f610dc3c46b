/*
 * rows.c -- names of the values in rows, and functions that copy and release rows.
 *
 * The store reads and writes columns one by one (core/store/tables). Here is only what a row is in memory:
 * a struct that owns its pointers, so that it can be moved by assignment and released by one call.
 *
 * The type of an item is an enum and a name. The name is kept only for types that the table of item_type.h
 * does not have, such as those of a hosted tool. It is needed to write the row back, and to show the item
 * after its tool is gone.
 */

#include "core/domain/rows.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/compiler.h"
#include "core/base/mem.h"

/* clang-format off */

static const char *const item_status_names[] = {
    [ITEM_IN_PROGRESS] = "in_progress",
    [ITEM_COMPLETED]   = "completed",
    [ITEM_INCOMPLETE]  = "incomplete",
    [ITEM_FAILED]      = "failed",
};

static const char *const step_status_names[] = {
    [STEP_IN_PROGRESS] = "in_progress",
    [STEP_COMPLETED]   = "completed",
    [STEP_FAILED]      = "failed",
    [STEP_CANCELLED]   = "cancelled",
    [STEP_EXPIRED]     = "expired",
};

static const char *const step_type_names[] = {
    [STEP_MESSAGE]    = "message_creation",
    [STEP_TOOL_CALLS] = "tool_calls",
};

static const char *const call_state_names[] = {
    [CALL_WAITING]     = "waiting",
    [CALL_RUNNING]     = "running",
    [CALL_DONE]        = "done",
    [CALL_INTERRUPTED] = "interrupted",
};

static const char *const blob_place_names[] = {
    [BLOB_DIR]      = "dir",
    [BLOB_DATABASE] = "database",
    [BLOB_S3]       = "s3",
};

static const char *const container_source_names[] = {
    [CONTAINER_FILE_USER]      = "user",
    [CONTAINER_FILE_ASSISTANT] = "assistant",
};

static const char *const row_face_names[] = {
    [FACE_ASSISTANTS] = "assistants",
    [FACE_RESPONSES]  = "responses",
};

/* clang-format on */

/* Names come from rows, and the columns have a CHECK: an unknown name is a mistake of this server. */
static size_t find_name(const char *const *names, size_t count, const char *name)
{
    size_t i = 0;

    while (i < count && strcmp(names[i], name) != 0)
        i++;
    assert(i < count);
    return i;
}

const char *item_status_name(enum item_status status)
{
    return item_status_names[status];
}

enum item_status item_status_parse(const char *name)
{
    return (enum item_status)find_name(item_status_names, COUNT_OF(item_status_names), name);
}

const char *step_status_name(enum step_status status)
{
    return step_status_names[status];
}

enum step_status step_status_parse(const char *name)
{
    return (enum step_status)find_name(step_status_names, COUNT_OF(step_status_names), name);
}

const char *step_type_name(enum step_type type)
{
    return step_type_names[type];
}

enum step_type step_type_parse(const char *name)
{
    return (enum step_type)find_name(step_type_names, COUNT_OF(step_type_names), name);
}

const char *blob_place_name(enum blob_place place)
{
    return blob_place_names[place];
}

enum blob_place blob_place_parse(const char *name)
{
    return (enum blob_place)find_name(blob_place_names, COUNT_OF(blob_place_names), name);
}

const char *container_source_name(enum container_source source)
{
    return container_source_names[source];
}

enum container_source container_source_parse(const char *name)
{
    return (enum container_source)find_name(container_source_names,
                                            COUNT_OF(container_source_names), name);
}

const char *call_state_name(enum call_state state)
{
    return call_state_names[state];
}

enum call_state call_state_parse(const char *name)
{
    return (enum call_state)find_name(call_state_names, COUNT_OF(call_state_names), name);
}

const char *row_face_name(enum row_face face)
{
    return row_face_names[face];
}

enum row_face row_face_parse(const char *name)
{
    return (enum row_face)find_name(row_face_names, COUNT_OF(row_face_names), name);
}

void run_row_clear(struct run_row *row)
{
    free(row->config);
    free(row->metadata);
    free(row->required_action);
    free(row->usage);
    free(row->error);
    free(row->incomplete);
    *row = (struct run_row){0};
}

void run_row_copy(struct run_row *ret_copy, const struct run_row *row)
{
    *ret_copy = *row;
    ret_copy->config = mem_strdup(row->config);
    ret_copy->metadata = mem_strdup(row->metadata);
    ret_copy->required_action = mem_strdup(row->required_action);
    ret_copy->usage = mem_strdup(row->usage);
    ret_copy->error = mem_strdup(row->error);
    ret_copy->incomplete = mem_strdup(row->incomplete);
}

bool run_row_is_late(const struct run_row *row)
{
    bool is_over = run_status_is_final(row->status) || row->status == RUN_CANCELLING;

    return !is_over && row->expires_at && row->expires_at <= clock_wall_us();
}

void item_row_set_type(struct item_row *row, const char *name)
{
    row->type = item_type_parse(name);
    *row->other_type = '\0';
    if (!*item_type_name(row->type))
        (void)snprintf(row->other_type, sizeof(row->other_type), "%s", name);
}

const char *item_row_type_name(const struct item_row *row)
{
    return *row->other_type ? row->other_type : item_type_name(row->type);
}

bool item_row_is_rule(const struct item_row *row)
{
    return strcmp(row->role, "system") == 0 || strcmp(row->role, "developer") == 0;
}

void item_row_clear(struct item_row *row)
{
    free(row->body);
    free(row->metadata);
    *row = (struct item_row){0};
}

void step_row_clear(struct step_row *row)
{
    free(row->usage);
    free(row->error);
    *row = (struct step_row){0};
}

void call_row_clear(struct call_row *row)
{
    free(row->tool);
    free(row->arguments);
    free(row->resolved);
    free(row->output);
    free(row->extra);
    *row = (struct call_row){0};
}

void approval_row_clear(struct approval_row *row)
{
    free(row->server_label);
    free(row->tool);
    free(row->arguments);
    free(row->policy);
    free(row->details);
    free(row->held);
    free(row->definition);
    free(row->memory);
    free(row->extra);
    free(row->reason);
    *row = (struct approval_row){0};
}

void grant_row_clear(struct grant_row *row)
{
    free(row->scope);
    free(row->scope_id);
    free(row->tool);
    free(row->match);
    free(row->match_key);
    free(row->type);
    free(row->definition);
    free(row->reason);
    *row = (struct grant_row){0};
}

void grant_rows_free(struct grant_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        grant_row_clear(&rows[i]);
    free(rows);
}

void approval_rows_free(struct approval_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        approval_row_clear(&rows[i]);
    free(rows);
}

void thread_row_clear(struct thread_row *row)
{
    free(row->metadata);
    free(row->tool_resources);
    free(row->settings);
    *row = (struct thread_row){0};
}

void assistant_row_clear(struct assistant_row *row)
{
    free(row->body);
    *row = (struct assistant_row){0};
}

void item_rows_free(struct item_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        item_row_clear(&rows[i]);
    free(rows);
}

void step_rows_free(struct step_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        step_row_clear(&rows[i]);
    free(rows);
}

void call_rows_free(struct call_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        call_row_clear(&rows[i]);
    free(rows);
}

void file_row_clear(struct file_row *row)
{
    free(row->filename);
    free(row->purpose);
    *row = (struct file_row){0};
}

void upload_row_clear(struct upload_row *row)
{
    free(row->filename);
    free(row->purpose);
    free(row->mime);
    free(row->part_ids);
    *row = (struct upload_row){0};
}

void file_rows_free(struct file_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        file_row_clear(&rows[i]);
    free(rows);
}

void container_row_clear(struct container_row *row)
{
    free(row->name);
    free(row->node_id);
    free(row->domains);
    free(row->lost);
    *row = (struct container_row){0};
}

void container_file_row_clear(struct container_file_row *row)
{
    free(row->path);
    *row = (struct container_file_row){0};
}

void container_rows_free(struct container_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        container_row_clear(&rows[i]);
    free(rows);
}

void container_file_rows_free(struct container_file_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        container_file_row_clear(&rows[i]);
    free(rows);
}
