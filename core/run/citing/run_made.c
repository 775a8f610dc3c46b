/*
 * run_made.c -- from "sandbox:/mnt/data/..." to annotations.
 *
 * All that is needed is in the notes of the calls: paths, and the ids by which clients ask for the files. So nothing is
 * looked up, and the loop does not wait. A file that was made later under the same path replaces the earlier one.
 *
 * The text of a link is what a browser would ask for: "%20" is a space. It is decoded once.
 */

#include "core/run/turn/run_made.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/ids.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/utf8.h"
#include "core/domain/notes.h"
#include "core/domain/withheld.h"
#include "core/run/turn/run.h"

#define SCHEME "sandbox:"
#define FOLDER "/mnt/data/"

/* Annotations of one part that name files, and links that are looked at for them. */
#define CITED_LIMIT 1000

/* Files of one call, and of all calls, that can be cited. Each is searched by its path, on a loop, and a client's
 * history may name any number. */
#define CALL_LIMIT 150
#define MADE_LIMIT ((size_t)2000)

struct made_file {
    char *path; /* "/mnt/data/plot.csv" */
    char id[ID_SIZE];
    char container_id[ID_SIZE];
    bool figure; /* a picture that no message has shown yet */
};

struct run_made {
    struct made_file *files;
    size_t count;
    size_t next;      /* which one gives way, if there are too many */
    bool has_history; /* the history was read, too */
};

void run_made_free(struct run_made *made)
{
    if (!made)
        return;
    for (size_t i = 0; i < made->count; i++)
        free(made->files[i].path);
    free(made->files);
    free(made);
}

/* ---- Which files there are ---- */

static struct made_file *find_file(const struct run_made *made, const char *path)
{
    for (size_t i = made->count; i-- > 0;) {
        if (strcmp(made->files[i].path, path) == 0)
            return &made->files[i];
    }
    return NULL;
}

static void forget(struct run_made *made, struct made_file *file)
{
    free(file->path);
    *file = made->files[--made->count];
}

static struct made_file *add_file(struct run_made *made, const char *path)
{
    struct made_file *file;

    if (made->count < MADE_LIMIT) {
        made->files = mem_resize(made->files, made->count + 1, sizeof(*made->files));
        file = &made->files[made->count++];
    } else {
        file = &made->files[made->next++ % made->count];
        free(file->path);
    }
    *file = (struct made_file){.path = mem_strdup(path)};
    return file;
}

/* Whether a message still has to show its pictures. */
enum drawn { DRAWN_BEFORE, DRAWN_NOW };

static void put_file(struct run_made *made, const char *container_id, const json_t *entry,
                     enum drawn drawn)
{
    const char *path = json_get_string(entry, "path", "");
    const char *id = json_get_string(entry, "file_id", "");
    struct made_file *file = find_file(made, path);

    if (file && strcmp(json_get_string(entry, "change", ""), "deleted") == 0) {
        forget(made, file);
        return;
    }
    if (!*id || !*path)
        return;
    if (!file)
        file = add_file(made, path);
    (void)snprintf(file->id, sizeof(file->id), "%s", id);
    (void)snprintf(file->container_id, sizeof(file->container_id), "%s", container_id);
    file->figure = drawn == DRAWN_NOW && json_get_bool(entry, "figure", false);
}

static void put_files(struct run_made *made, const char *container_id, const json_t *files,
                      enum drawn drawn)
{
    size_t i;
    json_t *entry;

    json_array_foreach (files, i, entry) {
        if (i == CALL_LIMIT)
            return;
        put_file(made, container_id, entry, drawn);
    }
}

void run_made_add(struct run *run, const char *container_id, const json_t *files)
{
    if (!json_array_size(files))
        return;
    if (!run->made)
        run->made = mem_new(struct run_made);
    put_files(run->made, container_id, files, DRAWN_NOW);
}

/* ---- Those of the history ---- */

/* Cheap for all other items: most are messages. */
static bool has_files(const struct item_row *row)
{
    bool hosted = item_type_kind(row->type) == ITEM_KIND_HOSTED_CALL ||
                  (item_type_is_output(row->type) && !row->input);

    return hosted && row->body && strstr(row->body, "\"" NOTE_FILES "\"");
}

/* A message of this run, made by an earlier residency, shows the picture. */
static bool was_shown(const struct run *run, const char *id)
{
    for (size_t i = 0; i < run->history_count; i++) {
        const struct item_row *row = &run->history[i];

        if (row->type == ITEM_MESSAGE && run_has_made(run, row) && !row->hidden && row->body &&
            strstr(row->body, id))
            return true;
    }
    return false;
}

/* What earlier runs have drawn was shown by them. */
static void add_past(const struct run *run, struct run_made *made, const struct item_row *row)
{
    json_auto_t *body = json_parse_own(row->body);

    if (withheld_is(body))
        return;
    put_files(made, item_container(body), json_object_get(notes_of(body), NOTE_FILES),
              run_has_made(run, row) ? DRAWN_NOW : DRAWN_BEFORE);
}

/* What this residency has made is newer than all of the history. Takes its files. */
static void add_present(struct run_made *made, struct run_made *present)
{
    for (size_t i = 0; i < present->count; i++) {
        struct made_file *newer = &present->files[i];
        struct made_file *older = find_file(made, newer->path);

        if (older)
            forget(made, older);
        made->files = mem_resize(made->files, made->count + 1, sizeof(*made->files));
        made->files[made->count++] = *newer;
    }
    free(present->files);
    free(present);
}

static void read_history(struct run *run)
{
    struct run_made *made = mem_new(struct run_made);

    for (size_t i = 0; i < run->history_count; i++) {
        if (has_files(&run->history[i]))
            add_past(run, made, &run->history[i]);
    }
    for (size_t i = 0; i < made->count; i++) {
        struct made_file *file = &made->files[i];

        file->figure = file->figure && !was_shown(run, file->id);
    }
    if (run->made)
        add_present(made, run->made);
    run->made = made;
    made->has_history = true;
}

void run_open_made(struct run *run)
{
    if (run->made)
        return;
    for (size_t i = 0; i < run->history_count; i++) {
        if (run_has_made(run, &run->history[i]) && has_files(&run->history[i])) {
            read_history(run);
            return;
        }
    }
}

/* The file that a text names; NULL: no call has made it. */
static struct made_file *find_named(struct run *run, const char *path)
{
    struct made_file *file = run->made ? find_file(run->made, path) : NULL;

    if (!file && !(run->made && run->made->has_history)) {
        read_history(run);
        file = find_file(run->made, path);
    }
    return file;
}

/* ---- Links ---- */

/* What cannot be part of a link in Markdown. */
static size_t link_length(const char *text)
{
    return strcspn(text, " \t\r\n)]\"'`<>");
}

static int hex_of(char digit)
{
    static const char digits[] = "0123456789abcdef0123456789ABCDEF";
    const char *at = digit ? strchr(digits, digit) : NULL;

    return at ? (int)((at - digits) % 16) : -1;
}

/* The path of a link, with "%20" as a space. The caller frees. */
static char *decode(const char *text, size_t length)
{
    AUTO_BUF path = {0};

    for (size_t i = 0; i < length; i++) {
        int high = text[i] == '%' && i + 2 < length ? hex_of(text[i + 1]) : -1;
        int low = high >= 0 ? hex_of(text[i + 2]) : -1;

        if (low >= 0 && high * 16 + low > 0) {
            buf_add_char(&path, (char)(high * 16 + low));
            i += 2;
        } else {
            buf_add_char(&path, text[i]);
        }
    }
    return buf_take(&path);
}

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* In a thread the ids are those of files of the project, in a response those of files of the container. An item of the
 * other API in a shared history has ids that its client could not use. */
static bool is_of_face(const struct run *run, const struct made_file *file)
{
    return id_has_prefix(file->id, run_is_assistants(run) ? "file-" : "cfile_");
}

static json_t *citation(const struct made_file *file, const char *name, json_int_t from,
                        json_int_t to)
{
    return json_build("{s:s, s:s, s:s, s:s, s:I, s:I}", "type", "container_file_citation",
                      "container_id", file->container_id, "file_id", file->id, "filename", name,
                      "start_index", from, "end_index", to);
}

static json_t *file_path(const struct made_file *file, const char *text, size_t length,
                         json_int_t from, json_int_t to)
{
    return json_build("{s:s, s:s, s:s%, s:I, s:I, s:I}", "type", "file_path", "file_id",
                      file->id, "text", text, length, "index", from, "start_index", from,
                      "end_index", to);
}

/* What is not stored leaves no copies behind. */
static void note_citation(const struct run *run, const struct made_file *file)
{
    struct run_cited *cited = engine_options(run->engine)->cited;

    if (cited && (run->row.flags & RUN_STORED) && !run_is_assistants(run))
        cited->cite(cited, &run->tenant, file->container_id, file->id);
}

static void cite(struct run *run, struct made_file *file, const char *text, size_t length,
                 json_int_t from)
{
    json_int_t to = from + (json_int_t)utf8_count(text, length);

    file->figure = false;
    note_citation(run, file);
    run_annotate(run, run_is_assistants(run) ? file_path(file, text, length, from, to)
                                             : citation(file, name_of(file->path), from, to));
}

/* Characters are counted from the last place on, so the text is counted once. */
static void cite_links(struct run *run, const char *text)
{
    const char *counted = text;
    json_int_t place = 0;
    unsigned links = 0;

    for (const char *at = strstr(text, SCHEME FOLDER); at && links < CITED_LIMIT; links++) {
        size_t length = link_length(at);
        AUTO_FREE char *path = decode(at + strlen(SCHEME), length - strlen(SCHEME));
        struct made_file *file = find_named(run, path);

        if (file && is_of_face(run, file)) {
            place += (json_int_t)utf8_count(counted, (size_t)(at - counted));
            counted = at;
            cite(run, file, at, length, place);
        }
        at = strstr(at + length, SCHEME FOLDER);
    }
}

/* Pictures have no name of their own that a person should see: it is their id. */
static void cite_figures(struct run *run)
{
    for (size_t i = 0; run->made && i < run->made->count; i++) {
        struct made_file *file = &run->made->files[i];
        AUTO_FREE char *name = mem_printf("%s.png", file->id);

        if (!file->figure || !is_of_face(run, file))
            continue;
        file->figure = false;
        run_annotate(run, citation(file, name, 0, 0));
    }
}

void run_cite_made(struct run *run)
{
    const struct item *item = run->items.open;
    const struct part *part = &item->parts[item->part_count - 1];

    if (part->kind != PART_TEXT)
        return;
    if (part->text.length)
        cite_links(run, part->text.data);
    if (!run_is_assistants(run))
        cite_figures(run);
}

void run_show_made(struct run *run)
{
    if (!run_is_assistants(run))
        return;
    for (size_t i = 0; run->made && i < run->made->count; i++) {
        struct made_file *file = &run->made->files[i];

        if (!file->figure || !is_of_face(run, file))
            continue;
        file->figure = false;
        run_add_picture(run, file->id);
    }
}
