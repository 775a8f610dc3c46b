/*
 * cli/import.c -- `runnel import FILE_OR_FOLDER [--project NAME]`: files, vector stores, assistants and threads of
 * OpenAI's API, or of another server that speaks it, into the store.
 *
 *   files ─▶ import_dump: where each object is ─▶ import_read: a row and notes ─▶ store
 *                                      └──────── complaints, notes ──▶ report ◀───┘
 *
 * The unit is what makes sense alone: a file, a vector store, an assistant, or a thread with all of its messages.
 * Each is one transaction. Half a thread could be read, and continued by a run, with a hole in it.
 *
 * Ids are kept, and that makes an import repeatable. What exists already is left alone, never
 * overwritten: it may have been continued here. So an import that was interrupted is run again, and a
 * newer dump over an older one adds only what is new.
 *
 * A dump of years is never perfect. An object that cannot be imported is refused by itself, with file
 * and line, and everything else continues. A detail that cannot be carried over (an unknown field, a
 * file that is elsewhere) is a line of the report. Only an outage of the database ends the command.
 *
 * Messages go to the store in batches, since a thread may be larger than memory should hold. What a
 * thread adds to the report is collected beside it and added after its commit: the report must not
 * count what was rolled back.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/store/tables/keys.h"
#include "core/store/tables/threads/imports.h"
#include "core/store/tables/vector_stores/vector_stores.h"
#include "server/cli/commands.h"
#include "server/cli/import_dump.h"
#include "server/cli/import_files.h"
#include "server/cli/import_read.h"
#include "server/config/config.h"
#include "server/database.h"
#include "server/files/file_places.h"

#define SECTION_LINES 10000 /* lines of one list of the report; further ones are only counted */
#define BATCH_COUNT   ((size_t)500)             /* messages sent to the store at once */
#define BATCH_BYTES   ((size_t)4 * 1024 * 1024) /* or this many bytes of them */

/* ---- The report ---- */

/* One list of the report. */
struct section {
    struct buf text;
    size_t lines;
};

enum { CREATED, THERE, REFUSED, COUNTS };

struct report {
    size_t counts[DUMP_KINDS][COUNTS];
    struct section refused;
    struct section left_out[DUMP_KINDS];
};

static const char *const kind_names[DUMP_KINDS] = {
    "files", "vector stores", "files in them", "assistants", "threads", "messages"};

static void section_add(struct section *section, const char *where, const char *text)
{
    if (section->lines++ < SECTION_LINES)
        buf_addf(&section->text, "  %s: %s\n", where, text);
}

/* Adds each line of the notes, with the id of the object. */
static void section_add_notes(struct section *section, const char *id,
                              const struct import_notes *notes)
{
    const char *text = notes->text.data;
    const char *end;

    for (; text && (end = strchr(text, '\n')); text = end + 1) {
        AUTO_FREE char *line = mem_strndup(text, (size_t)(end - text));

        section_add(section, id, line);
    }
}

/* Appends `from`, which is empty afterwards. */
static void section_move(struct section *to, struct section *from)
{
    if (from->text.data && to->lines < SECTION_LINES)
        buf_add(&to->text, from->text.data, from->text.length);
    to->lines += from->lines;
    buf_clear(&from->text);
    *from = (struct section){0};
}

static void section_print(const struct section *section, const char *title)
{
    if (section->lines == 0)
        return;
    printf("\n%s\n%s", title, section->text.data);
    if (section->lines > SECTION_LINES)
        printf("  and %zu more\n", section->lines - SECTION_LINES);
}

static void add_refused(struct report *report, const char *file, size_t line, const char *text)
{
    AUTO_FREE char *where = line ? mem_printf("%s:%zu", file, line) : mem_printf("%s", file);

    section_add(&report->refused, where, text);
}

static void report_print(const struct report *report)
{
    size_t created = 0;

    printf("%-13s %11s %14s %10s\n", "", "created", "already there", "refused");
    for (int kind = 0; kind < DUMP_KINDS; kind++) {
        const size_t *counts = report->counts[kind];

        printf("%-13s %11zu %14zu %10zu\n", kind_names[kind], counts[CREATED], counts[THERE],
               counts[REFUSED]);
        created += counts[CREATED];
    }
    section_print(&report->refused, "Refused:");
    for (int kind = 0; kind < DUMP_KINDS; kind++) {
        AUTO_FREE char *title = mem_printf("Not carried over of %s:", kind_names[kind]);

        section_print(&report->left_out[kind], title);
    }
    if (created == 0)
        puts("\nNothing was changed.");
}

static void report_clear(struct report *report)
{
    buf_clear(&report->refused.text);
    for (int kind = 0; kind < DUMP_KINDS; kind++)
        buf_clear(&report->left_out[kind].text);
}

/* ---- One import ---- */

struct importing {
    const struct config *config;
    struct store *store;
    struct blobs *blobs; /* NULL until a file needs them */
    struct tenant tenant;
    struct dump *dump;
    struct report report;
    json_t *known; /* {id of a file that is there: true} */
};

/* The store refuses this object. Any other error is an outage, and ends the import. */
static bool is_refusal(enum err_code rc)
{
    return rc == ERR_INVALID || rc == ERR_TOO_LARGE || rc == ERR_NOT_FOUND ||
           rc == ERR_CONFLICT || rc == ERR_FULL;
}

static void refuse(struct importing *importing, const struct dump_entry *entry, size_t count,
                   const char *text)
{
    importing->report.counts[entry->kind][REFUSED] += count;
    add_refused(&importing->report, dump_file_name(importing->dump, entry), entry->line, text);
}

/* "id: place: what is wrong", without what is unknown. The caller frees. */
static char *describe(const json_t *object, const struct err *refusal)
{
    const char *id = json_get_string(object, "id", NULL);
    const char *param = strstr(refusal->text, refusal->place) ? "" : refusal->place;

    return mem_printf("%.64s%s%s%s%s", id ? id : "", id ? ": " : "", param, *param ? ": " : "",
                      refusal->text);
}

static void count_outcome(size_t counts[COUNTS], enum import_outcome outcome)
{
    counts[outcome == IMPORT_CREATED ? CREATED : THERE]++;
}

/* ---- Files ---- */

/* A dump without files needs no place for their bytes. */
static enum err_code want_blobs(struct importing *importing, struct err *err)
{
    return importing->blobs ? ERR_OK
                            : file_places_open(importing->config, FILE_PLACES_OF_NEW,
                                               importing->store, &importing->blobs, err);
}

static enum err_code store_file(struct importing *importing, const struct dump_entry *entry,
                                struct file_row *row, struct import_notes *notes,
                                struct err *err)
{
    const struct import_files files = {
        .store = importing->store, .blobs = importing->blobs, .tenant = importing->tenant};
    enum import_outcome outcome = IMPORT_THERE;
    enum err_code rc = import_file(&files, dump_file_name(importing->dump, entry), row,
                                   &notes->text, &outcome, err);

    if (is_refusal(rc)) {
        AUTO_FREE char *text = mem_printf("%s: %s", row->id, err->text);

        refuse(importing, entry, 1, text);
        return ERR_OK;
    }
    if (rc)
        return rc;
    json_set_bool(importing->known, row->id, true);
    count_outcome(importing->report.counts[DUMP_FILE], outcome);
    if (outcome == IMPORT_CREATED)
        section_add_notes(&importing->report.left_out[DUMP_FILE], row->id, notes);
    return ERR_OK;
}

static enum err_code import_one_file(struct importing *importing,
                                     const struct dump_entry *entry, struct err *err)
{
    struct file_row row = {0};
    struct err refusal = {0};
    json_auto_t *object = NULL;
    struct import_notes notes = {0};
    enum err_code rc = dump_load(importing->dump, entry, &object, &refusal);

    if (!rc)
        rc = import_read_file(object, &row, &notes, &refusal);
    if (rc) {
        AUTO_FREE char *text = describe(object, &refusal);

        refuse(importing, entry, 1, text);
        rc = ERR_OK;
    } else {
        rc = want_blobs(importing, err);
        if (!rc)
            rc = store_file(importing, entry, &row, &notes, err);
    }
    file_row_clear(&row);
    buf_clear(&notes.text);
    return rc;
}

/* Ends the import of one object: what the store refused is reported, and an outage ends everything. */
static enum err_code refuse_or_fail(struct importing *importing, const struct dump_entry *entry,
                                    const json_t *object, enum err_code rc,
                                    const struct err *why, struct err *err)
{
    AUTO_FREE char *text = NULL;

    if (!rc)
        return ERR_OK;
    if (!is_refusal(rc)) {
        *err = *why;
        return rc;
    }
    text = describe(object, why);
    refuse(importing, entry, 1, text);
    return ERR_OK;
}

/* ---- Vector stores ---- */

/* Its days count from now on: by the time of its making it would have expired long ago. */
static enum err_code make_store(struct importing *importing, struct vector_store_row *row,
                                struct err *err)
{
    static const struct idempotency no_key = {.key = ""};
    const struct vector_store_change change = {.expires_days = row->expires_days};
    const char *id = row->id;
    struct vector_store_row made = {0};
    enum err_code rc;

    row->expires_days = 0;
    rc = store_vector_store_create(importing->store, &importing->tenant, &no_key, NULL, 0, row,
                                   err);
    if (!rc)
        rc = store_vector_stores_touch(importing->store, &importing->tenant, &id, 1, err);
    if (!rc && change.expires_days)
        rc = store_vector_store_modify(importing->store, &importing->tenant, id, &change, &made,
                                       err);
    vector_store_row_clear(&made);
    return rc;
}

static enum err_code store_store(struct importing *importing, struct vector_store_row *row,
                                 enum import_outcome *ret_outcome, struct err *err)
{
    struct vector_store_row there = {0};
    enum err_code rc =
        store_vector_store_get(importing->store, &importing->tenant, row->id, &there, err);

    vector_store_row_clear(&there);
    *ret_outcome = rc ? IMPORT_CREATED : IMPORT_THERE;
    return rc == ERR_NOT_FOUND ? make_store(importing, row, err) : rc;
}

static enum err_code import_store(struct importing *importing, const struct dump_entry *entry,
                                  struct err *err)
{
    struct vector_store_row row = {0};
    enum import_outcome outcome = IMPORT_THERE;
    struct err refusal = {0};
    json_auto_t *object = NULL;
    struct import_notes notes = {0};
    enum err_code rc = dump_load(importing->dump, entry, &object, &refusal);

    if (!rc)
        rc = import_read_store(object, &row, &notes, &refusal);
    if (!rc)
        rc = store_store(importing, &row, &outcome, &refusal);
    if (!rc) {
        json_set_bool(importing->known, row.id, true);
        count_outcome(importing->report.counts[DUMP_STORE], outcome);
        if (outcome == IMPORT_CREATED)
            section_add_notes(&importing->report.left_out[DUMP_STORE], row.id, &notes);
    }
    rc = refuse_or_fail(importing, entry, object, rc, &refusal, err);
    vector_store_row_clear(&row);
    buf_clear(&notes.text);
    return rc;
}

static enum err_code attach(struct importing *importing, const char *store_id,
                            const struct file_list *list, enum import_outcome *ret_outcome,
                            struct err *err)
{
    struct store_file_row there = {0};
    enum err_code rc = store_store_file_get(importing->store, &importing->tenant, store_id,
                                            list->files[0].file_id, &there, err);

    store_file_row_clear(&there);
    *ret_outcome = rc ? IMPORT_CREATED : IMPORT_THERE;
    if (rc != ERR_NOT_FOUND)
        return rc;
    return store_files_attach(importing->store, &importing->tenant, store_id, list->files,
                              list->count, err);
}

static enum err_code import_store_file(struct importing *importing,
                                       const struct dump_entry *entry, struct err *err)
{
    char store_id[ID_LIMIT + 1];
    struct file_list list = {0};
    enum import_outcome outcome = IMPORT_THERE;
    struct err refusal = {0};
    json_auto_t *object = NULL;
    json_auto_t *body = NULL;
    struct import_notes notes = {0};
    enum err_code rc = dump_load(importing->dump, entry, &object, &refusal);

    if (!rc)
        rc = import_read_store_file(object, store_id, &body, &list, &notes, &refusal);
    if (!rc)
        rc = attach(importing, store_id, &list, &outcome, &refusal);
    if (!rc)
        count_outcome(importing->report.counts[DUMP_STORE_FILE], outcome);
    rc = refuse_or_fail(importing, entry, object, rc, &refusal, err);
    file_list_clear(&list);
    buf_clear(&notes.text);
    return rc;
}

/* ---- Assistants ---- */

static enum err_code import_assistant(struct importing *importing,
                                      const struct dump_entry *entry, struct err *err)
{
    struct assistant_row row = {0};
    enum import_outcome outcome = IMPORT_THERE;
    struct err refusal = {0};
    json_auto_t *object = NULL;
    struct import_notes notes = {.known = importing->known};
    enum err_code rc = dump_load(importing->dump, entry, &object, &refusal);

    if (!rc)
        rc = import_read_assistant(object, &row, &notes, &refusal);
    if (rc) {
        AUTO_FREE char *text = describe(object, &refusal);

        refuse(importing, entry, 1, text);
        buf_clear(&notes.text);
        return ERR_OK;
    }
    rc = store_import_assistant(importing->store, &importing->tenant, &row, &outcome, err);
    if (!rc) {
        count_outcome(importing->report.counts[DUMP_ASSISTANT], outcome);
        if (outcome == IMPORT_CREATED)
            section_add_notes(&importing->report.left_out[DUMP_ASSISTANT], row.id, &notes);
    }
    assistant_row_clear(&row);
    buf_clear(&notes.text);
    return rc;
}

/* What belongs to no thread, in the order in which one names the other. */
static enum err_code import_alone(struct importing *importing, struct err *err)
{
    static const struct {
        enum dump_kind kind;
        enum err_code (*import)(struct importing *importing, const struct dump_entry *entry,
                                struct err *err);
    } steps[] = {{DUMP_FILE, import_one_file},
                 {DUMP_STORE, import_store},
                 {DUMP_STORE_FILE, import_store_file},
                 {DUMP_ASSISTANT, import_assistant}};
    enum err_code rc = ERR_OK;

    for (size_t step = 0; step < COUNT_OF(steps); step++) {
        size_t count = 0;
        const struct dump_entry *entries =
            dump_alone(importing->dump, steps[step].kind, &count);

        for (size_t i = 0; !rc && i < count; i++)
            rc = steps[step].import(importing, &entries[i], err);
    }
    return rc;
}

/* ---- A thread with its messages ---- */

/* A thread in its transaction: the batch on its way to the store, and what the report gets after the commit. */
struct group {
    struct importing *importing;
    struct thread_import *import;

    struct thread_row row; /* without an id: the thread is not in the dump, or was refused */
    struct import_notes thread_notes;
    enum import_outcome outcome; /* of the thread */
    size_t counts[COUNTS];       /* of its messages */
    struct section refused;
    struct section left_out;

    struct item_row rows[BATCH_COUNT];
    struct import_notes notes[BATCH_COUNT];
    const struct dump_entry *entries[BATCH_COUNT];
    size_t count;
    size_t bytes;
};

static void refuse_message(struct group *group, const struct dump_entry *entry,
                           const char *text)
{
    AUTO_FREE char *where =
        mem_printf("%s:%zu", dump_file_name(group->importing->dump, entry), entry->line);

    group->counts[REFUSED]++;
    section_add(&group->refused, where, text);
}

static void settle_message(struct group *group, size_t i, enum import_outcome outcome)
{
    const char *id = group->rows[i].id;

    if (outcome == IMPORT_ELSEWHERE) {
        AUTO_FREE char *text = mem_printf("%s is there already, in another thread", id);

        refuse_message(group, group->entries[i], text);
    } else {
        count_outcome(group->counts, outcome);
    }
    if (outcome == IMPORT_CREATED)
        section_add_notes(&group->left_out, id, &group->notes[i]);
}

static void forget_messages(struct group *group)
{
    for (size_t i = 0; i < group->count; i++) {
        item_row_clear(&group->rows[i]);
        buf_clear(&group->notes[i].text);
    }
    group->count = 0;
    group->bytes = 0;
}

static enum err_code flush_messages(struct group *group, struct err *err)
{
    enum import_outcome outcomes[BATCH_COUNT];
    enum err_code rc;

    if (group->count == 0)
        return ERR_OK;
    rc = thread_import_messages(group->import, group->rows, group->count, outcomes, err);
    for (size_t i = 0; !rc && i < group->count; i++)
        settle_message(group, i, outcomes[i]);
    forget_messages(group);
    return rc;
}

static enum err_code add_message(struct group *group, const struct dump_entry *entry,
                                 struct err *err)
{
    struct item_row *row = &group->rows[group->count];
    struct import_notes *notes = &group->notes[group->count];
    json_auto_t *object = NULL;
    struct err refusal = {0};
    enum err_code rc = dump_load(group->importing->dump, entry, &object, &refusal);

    notes->known = group->importing->known;
    if (!rc)
        rc = import_read_message(object, row, notes, &refusal);
    if (rc) {
        AUTO_FREE char *text = describe(object, &refusal);

        item_row_clear(row);
        buf_clear(&notes->text);
        refuse_message(group, entry, text);
        return ERR_OK;
    }
    group->entries[group->count++] = entry;
    group->bytes += strlen(row->body);
    if (group->count < BATCH_COUNT && group->bytes < BATCH_BYTES)
        return ERR_OK;
    return flush_messages(group, err);
}

/* Reads the thread itself. A dump may have it more than once; the first counts. */
static void read_thread(struct group *group, const struct dump_entry *entry)
{
    struct importing *importing = group->importing;
    json_auto_t *object = NULL;
    struct err refusal = {0};
    enum err_code rc;

    if (*group->row.id) {
        importing->report.counts[DUMP_THREAD][THERE]++;
        return;
    }
    rc = dump_load(importing->dump, entry, &object, &refusal);
    if (!rc)
        rc = import_read_thread(object, &group->row, &group->thread_notes, &refusal);
    if (rc) {
        AUTO_FREE char *text = describe(object, &refusal);

        thread_row_clear(&group->row);
        buf_reset(&group->thread_notes.text);
        refuse(importing, entry, 1, text);
    }
}

/* A thread that is not in the dump may be in the store: its messages are then added to it. */
static enum err_code fill_group(struct group *group, const struct dump_thread *thread,
                                struct err *err)
{
    const struct thread_row *row = *group->row.id ? &group->row : NULL;
    enum err_code rc =
        thread_import_begin(group->importing->store, &group->importing->tenant, thread->id, row,
                            &group->import, &group->outcome, err);

    for (size_t i = 0; !rc && i < thread->count; i++)
        if (thread->entries[i].kind == DUMP_MESSAGE)
            rc = add_message(group, &thread->entries[i], err);
    if (!rc)
        rc = flush_messages(group, err);
    return rc ? rc : thread_import_commit(group->import, err);
}

/* Adds the group to the report, after its commit. */
static void count_group(struct group *group)
{
    struct report *report = &group->importing->report;

    if (*group->row.id)
        count_outcome(report->counts[DUMP_THREAD], group->outcome);
    if (*group->row.id && group->outcome == IMPORT_CREATED)
        section_add_notes(&report->left_out[DUMP_THREAD], group->row.id, &group->thread_notes);
    for (int i = 0; i < COUNTS; i++)
        report->counts[DUMP_MESSAGE][i] += group->counts[i];
    section_move(&report->left_out[DUMP_MESSAGE], &group->left_out);
    section_move(&report->refused, &group->refused);
}

/* The transaction was rolled back: everything of it is refused, with one line that says why. */
static void refuse_group(struct group *group, const struct dump_thread *thread,
                         const char *reason)
{
    size_t messages = 0;
    AUTO_FREE char *text = NULL;

    for (size_t i = 0; i < thread->count; i++)
        messages += thread->entries[i].kind == DUMP_MESSAGE;
    text = mem_printf("%.64s (messages: %zu): %s", thread->id, messages, reason);
    group->importing->report.counts[DUMP_THREAD][REFUSED] += *group->row.id != '\0';
    refuse(group->importing, &thread->entries[thread->count - 1], 0, text);
    group->importing->report.counts[DUMP_MESSAGE][REFUSED] += messages;
}

static void clear_group(struct group *group)
{
    forget_messages(group);
    thread_import_end(group->import);
    thread_row_clear(&group->row);
    buf_clear(&group->thread_notes.text);
    buf_clear(&group->refused.text);
    buf_clear(&group->left_out.text);
    free(group);
}

static enum err_code import_thread(struct importing *importing,
                                   const struct dump_thread *thread, struct err *err)
{
    struct group *group = mem_new(struct group);
    enum err_code rc;

    group->importing = importing;
    group->thread_notes.known = importing->known;
    for (size_t i = 0; i < thread->count; i++)
        if (thread->entries[i].kind == DUMP_THREAD)
            read_thread(group, &thread->entries[i]);
    rc = fill_group(group, thread, err);
    if (!rc)
        count_group(group);
    else if (is_refusal(rc))
        refuse_group(group, thread, err->text);
    clear_group(group);
    return is_refusal(rc) ? ERR_OK : rc;
}

static enum err_code import_threads(struct importing *importing, struct err *err)
{
    struct dump_thread thread;
    size_t cursor = 0;
    enum err_code rc = ERR_OK;

    while (!rc && dump_next_thread(importing->dump, &cursor, &thread))
        rc = import_thread(importing, &thread, err);
    return rc;
}

/* ---- The command ---- */

static void complain(void *arg, const char *file, size_t line, const char *text)
{
    add_refused(arg, file, line, text);
}

static enum err_code import_into(struct importing *importing, const char *project_name,
                                 struct err *err)
{
    char project[ID_SIZE];
    enum err_code rc = store_project_ensure(importing->store, project_name, project, err);

    if (!rc) {
        importing->tenant = tenant_of_project(project);
        rc = import_alone(importing, err);
    }
    if (!rc)
        rc = import_threads(importing, err);
    report_print(&importing->report);
    return rc;
}

static enum err_code with_store(const struct config *config, struct importing *importing,
                                const char *project_name, struct err *err)
{
    struct database database = {0};
    enum err_code rc = database_start(config, -1, &database, err);

    if (!rc)
        rc = database_open(&database, config, "import", -1, err);
    if (!rc) {
        importing->store = database.store;
        rc = import_into(importing, project_name, err);
        blobs_free(importing->blobs);
        store_thread_end(database.store);
    }
    database_close(&database);
    return rc;
}

static enum err_code import_path(const struct config *config, const char *path,
                                 const char *project_name, struct err *err)
{
    struct importing importing = {.config = config, .known = json_object()};
    enum err_code rc = dump_open(path, complain, &importing.report, &importing.dump, err);

    if (!rc)
        rc = with_store(config, &importing, project_name, err);
    dump_free(importing.dump);
    report_clear(&importing.report);
    json_decref(importing.known);
    return rc;
}

int cmd_import(int argc, char **argv)
{
    struct config *config = NULL;
    const char *project_name;
    struct err err;
    enum err_code rc;

    argc--;
    argv++;
    if (command_take_project(&argc, argv, &project_name, &err) ||
        config_read_some(argc, argv, &argc, &config, &err))
        return command_failed(EXIT_USAGE, &err);
    if (argc != 1) {
        config_free(config);
        (void)err_set(&err, ERR_INVALID, "import FILE_OR_FOLDER [--project NAME]");
        return command_failed(EXIT_USAGE, &err);
    }
    rc = import_path(config, argv[0], project_name, &err);
    config_free(config);
    return rc ? command_failed(EXIT_CANNOT, &err) : EXIT_DONE;
}
