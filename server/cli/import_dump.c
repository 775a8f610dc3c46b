#include "server/cli/import_dump.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "server/cli/import_files.h"

#define FOLDER_DEPTH 16 /* folders in folders */
#define LOOK_AHEAD   3  /* lines that are read to recognise NDJSON */

/*
 * A dump may be larger than memory, and its objects come in any order: messages before their thread,
 * a thread in many files. So there are two passes over the bytes.
 *
 * The first pass maps one file after another, parses each value once, and keeps an entry of fixed size
 * for each object: what it is, its thread, its time, and where it is. The entries are then sorted,
 * files and assistants first, then thread by thread. The second pass is the caller's: dump_load() parses an
 * object again when its turn has come. Parsing twice costs time, which an import has. Sorting the
 * objects themselves would cost disk or memory.
 *
 * A value is an object or a list of objects. A list is parsed as a whole, and then most of it is asked
 * for in order, so the last parsed value is kept. Without that a list of n objects would be parsed n
 * times.
 *
 * Two things that files do not say are guessed. Whether a file is NDJSON follows from its name, or
 * from a complete object near its beginning. Which way the messages of one second run follows from the
 * rest of their thread: OpenAI's API lists the newest first, and exports follow it or turn it round.
 *
 * Nothing in a file is trusted. Its values pass the same json_parse() as requests, with the same limits
 * of depth and size; only the list around the objects may be longer.
 */

/* The file that is mapped; one at a time. */
struct mapping {
    unsigned file;
    char *bytes; /* NULL: none */
    size_t size;
};

/* The list that was parsed last. */
struct parsed {
    unsigned file;
    size_t offset;
    json_t *value; /* NULL: none */
};

struct dump {
    dump_complain_fn *complain;
    void *complain_arg;
    char **files;
    size_t file_count;
    struct dump_entry *entries; /* files, assistants, then threads with their messages */
    size_t entry_count, entry_room;
    size_t alone_count; /* those of no thread */
    struct mapping mapping;
    struct parsed parsed;
};

/* ---- Files ---- */

static void add_file(struct dump *dump, const char *path)
{
    dump->files = mem_resize(dump->files, dump->file_count + 1, sizeof(*dump->files));
    dump->files[dump->file_count++] = mem_strdup(path);
}

static bool ends_in(const char *name, const char *const *ends)
{
    size_t length = strlen(name);

    for (size_t i = 0; ends[i]; i++) {
        size_t tail = strlen(ends[i]);

        if (length > tail && strcmp(name + length - tail, ends[i]) == 0)
            return true;
    }
    return false;
}

static bool is_json_name(const char *name)
{
    static const char *const ends[] = {".json", ".ndjson", ".jsonl", NULL};

    return ends_in(name, ends);
}

static bool is_ndjson_name(const char *name)
{
    static const char *const ends[] = {".ndjson", ".jsonl", NULL};

    return ends_in(name, ends);
}

static void add_folder(struct dump *dump, const char *path, int depth);

/* A member that is not read is reported: the operator may have expected it in the import. */
static void add_member(struct dump *dump, const char *path, const char *name, int depth)
{
    AUTO_FREE char *member = mem_printf("%s/%s", path, name);
    struct stat status;

    if (stat(member, &status))
        dump->complain(dump->complain_arg, member, 0, strerror(errno));
    else if (S_ISDIR(status.st_mode) && strcmp(name, IMPORT_CONTENTS) == 0)
        return; /* bytes of files, even if they look like JSON */
    else if (S_ISDIR(status.st_mode) && depth < FOLDER_DEPTH)
        add_folder(dump, member, depth + 1);
    else if (S_ISREG(status.st_mode) && is_json_name(name))
        add_file(dump, member);
    else
        dump->complain(dump->complain_arg, member, 0,
                       "not read: it is no file that ends in .json, .ndjson or .jsonl");
}

static int is_visible(const struct dirent *member)
{
    return member->d_name[0] != '.';
}

static void add_folder(struct dump *dump, const char *path, int depth)
{
    struct dirent **members = NULL;
    int count = scandir(path, &members, is_visible, alphasort);

    if (count < 0)
        dump->complain(dump->complain_arg, path, 0, strerror(errno));
    for (int i = 0; i < count; i++) {
        add_member(dump, path, members[i]->d_name, depth);
        free(members[i]);
    }
    free(members);
}

static enum err_code find_files(struct dump *dump, const char *path, struct err *err)
{
    struct stat status;

    if (stat(path, &status))
        return err_set(err, ERR_NOT_FOUND, "%.400s: %s", path, strerror(errno));
    if (S_ISDIR(status.st_mode))
        add_folder(dump, path, 0);
    else
        add_file(dump, path);
    if (dump->file_count == 0)
        return err_set(err, ERR_NOT_FOUND,
                       "%.400s: no file in it ends in .json, .ndjson or .jsonl", path);
    return ERR_OK;
}

static void unmap(struct mapping *mapping)
{
    if (mapping->bytes)
        munmap(mapping->bytes, mapping->size);
    *mapping = (struct mapping){0};
}

/* An empty file maps to nothing, which is no error. */
static enum err_code map_file(const char *path, struct mapping *mapping, struct err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat status = {0};
    void *bytes = MAP_FAILED;

    if (fd >= 0 && !fstat(fd, &status) && !S_ISREG(status.st_mode))
        errno = EINVAL;
    else if (fd >= 0 && status.st_size > 0)
        bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (fd >= 0)
        close(fd);
    if (bytes == MAP_FAILED && (fd < 0 || status.st_size > 0))
        return err_set(err, ERR_INVALID, "cannot be read: %s", strerror(errno));
    mapping->bytes = bytes == MAP_FAILED ? NULL : bytes;
    mapping->size = (size_t)status.st_size;
    return ERR_OK;
}

static enum err_code use_file(struct dump *dump, unsigned file, struct err *err)
{
    enum err_code rc;

    if (dump->mapping.bytes && dump->mapping.file == file)
        return ERR_OK;
    unmap(&dump->mapping);
    rc = map_file(dump->files[file], &dump->mapping, err);
    dump->mapping.file = file;
    return rc;
}

/* ---- Values ---- */

/* A list may have more values than json_parse() allows for a request. It is then parsed without that limit;
 * take_element() applies the limit to each object. */
static enum err_code parse(const char *text, size_t length, json_t **ret_value, struct err *err)
{
    enum err_code rc =
        length > DUMP_VALUE_LIMIT
            ? err_set(err, ERR_INVALID, "longer than %zu bytes", DUMP_VALUE_LIMIT)
            : json_parse(text, length, ret_value, err);

    if (rc != ERR_TOO_LARGE)
        return rc;
    return json_parse_huge(text, length, ret_value, NULL) ? rc : ERR_OK;
}

/* Writing an element and parsing it again is the simplest way to check it like a request. */
static enum err_code take_element(const json_t *value, size_t element, json_t **ret_object,
                                  struct err *err)
{
    const json_t *list = json_is_array(value) ? value : json_object_get(value, "data");
    AUTO_FREE char *text =
        json_text(element == DUMP_ALONE ? value : json_array_get(list, element));

    return json_parse(text, strlen(text), ret_object, err);
}

enum err_code dump_load(struct dump *dump, const struct dump_entry *entry, json_t **ret_object,
                        struct err *err)
{
    struct parsed *parsed = &dump->parsed;
    enum err_code rc = use_file(dump, entry->file, err);

    if (rc)
        return rc;
    if (entry->element == DUMP_ALONE)
        return json_parse(dump->mapping.bytes + entry->offset, entry->length, ret_object, err);
    if (!parsed->value || parsed->file != entry->file || parsed->offset != entry->offset) {
        json_decref(parsed->value);
        *parsed = (struct parsed){.file = entry->file, .offset = entry->offset};
        rc = parse(dump->mapping.bytes + entry->offset, entry->length, &parsed->value, err);
        if (rc)
            return rc;
    }
    return take_element(parsed->value, entry->element, ret_object, err);
}

/* ---- The index ---- */

static void complain(const struct dump *dump, const struct dump_entry *where, const char *text)
{
    dump->complain(dump->complain_arg, dump->files[where->file], where->line, text);
}

/* clang-format off */
static const struct {
    const char *object;
    const char *thread_key; /* the member with the id of its thread */
} kinds[DUMP_KINDS] = {
    [DUMP_FILE]      = {"file",           NULL},
    [DUMP_STORE]     = {"vector_store",   NULL},
    [DUMP_STORE_FILE] = {"vector_store.file", NULL},
    [DUMP_ASSISTANT] = {"assistant",      NULL},
    [DUMP_THREAD]    = {"thread",         "id"},
    [DUMP_MESSAGE]   = {"thread.message", "thread_id"},
};
/* clang-format on */

static bool find_kind(const json_t *object, enum dump_kind *ret_kind)
{
    const char *name = json_get_string(object, "object", "");

    for (int i = 0; i < DUMP_KINDS; i++)
        if (strcmp(kinds[i].object, name) == 0) {
            *ret_kind = (enum dump_kind)i;
            return true;
        }
    return false;
}

static void add_entry(struct dump *dump, const struct dump_entry *entry)
{
    if (dump->entry_count == dump->entry_room) {
        dump->entry_room = dump->entry_room ? dump->entry_room * 2 : 64;
        dump->entries = mem_resize(dump->entries, dump->entry_room, sizeof(*dump->entries));
    }
    dump->entries[dump->entry_count++] = *entry;
}

static void complain_of_kind(const struct dump *dump, const struct dump_entry *where,
                             const json_t *object)
{
    AUTO_FREE char *text =
        mem_printf("not imported: %.64s %.64s", json_get_string(object, "object", "a value"),
                   json_get_string(object, "id", "that is none of what is imported"));

    complain(dump, where, text);
}

static void index_object(struct dump *dump, const struct dump_entry *where,
                         const json_t *object)
{
    struct dump_entry entry = *where;
    const char *thread = "";

    if (!find_kind(object, &entry.kind)) {
        complain_of_kind(dump, where, object);
        return;
    }
    if (kinds[entry.kind].thread_key)
        thread = json_get_string(object, kinds[entry.kind].thread_key, "");
    entry.thread_id = mem_strdup(thread);
    entry.created_at = json_get_int(object, "created_at", 0);
    add_entry(dump, &entry);
}

static void index_value(struct dump *dump, const struct dump_entry *where, const json_t *value)
{
    const json_t *list = json_is_array(value) ? value : json_object_get(value, "data");
    struct dump_entry entry = *where;

    if (!json_is_array(list)) {
        index_object(dump, where, value);
        return;
    }
    for (size_t i = 0; i < json_array_size(list); i++) {
        entry.element = i;
        index_object(dump, &entry, json_array_get(list, i));
    }
}

/* json_parse() says "Invalid JSON at line 3, column 5: what", with the line within the value. The complaint
 * names the line of the file. */
static void complain_of_value(const struct dump *dump, const struct dump_entry *where,
                              const struct err *err)
{
    static const char head[] = "Invalid JSON at line ";
    const char *what = strstr(err->text, ": ");
    struct dump_entry place = *where;

    if (strncmp(err->text, head, sizeof(head) - 1) != 0 || !what) {
        complain(dump, where, err->text);
        return;
    }
    place.line += strtoul(err->text + sizeof(head) - 1, NULL, 10) - 1;
    complain(dump, &place, what + 2);
}

static void index_text(struct dump *dump, struct dump_entry *where)
{
    json_auto_t *value = NULL;
    struct err err;

    if (parse(dump->mapping.bytes + where->offset, where->length, &value, &err))
        complain_of_value(dump, where, &err);
    else
        index_value(dump, where, value);
}

static bool is_blank(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (!strchr(" \t\r\n", text[i]) || !text[i])
            return false;
    return true;
}

/* The length of the line at `offset`, without its line feed. */
static size_t line_length(const struct mapping *mapping, size_t offset)
{
    const char *start = mapping->bytes + offset;
    const char *end = memchr(start, '\n', mapping->size - offset);

    return end ? (size_t)(end - start) : mapping->size - offset;
}

static bool is_object_line(const char *text, size_t length)
{
    json_auto_t *value = NULL;

    return length <= DUMP_VALUE_LIMIT && !parse(text, length, &value, NULL) &&
           json_object_get(value, "object");
}

/* One value on each line, and not one value on many lines: by the name of the file, or because a line near
 * the beginning is a complete object with its type. */
static bool is_ndjson(const struct dump *dump, unsigned file, size_t offset)
{
    const struct mapping *mapping = &dump->mapping;
    int lines = 0;

    if (is_ndjson_name(dump->files[file]))
        return true;
    while (offset < mapping->size && lines < LOOK_AHEAD) {
        size_t length = line_length(mapping, offset);

        if (is_object_line(mapping->bytes + offset, length))
            return true;
        lines += !is_blank(mapping->bytes + offset, length);
        offset += length + 1;
    }
    return false;
}

static void index_lines(struct dump *dump, struct dump_entry *where)
{
    const struct mapping *mapping = &dump->mapping;

    for (; where->offset < mapping->size; where->offset += where->length + 1) {
        where->length = line_length(mapping, where->offset);
        where->line++;
        if (!is_blank(mapping->bytes + where->offset, where->length))
            index_text(dump, where);
    }
}

static void index_file(struct dump *dump, unsigned file)
{
    static const char mark[] = "\xEF\xBB\xBF"; /* the byte order mark that some editors write */
    const struct mapping *mapping = &dump->mapping;
    struct dump_entry where = {.file = file, .element = DUMP_ALONE};
    struct err err;

    if (use_file(dump, file, &err)) {
        complain(dump, &where, err.text);
        return;
    }
    if (mapping->size >= 3 && memcmp(mapping->bytes, mark, 3) == 0)
        where.offset = 3;
    if (mapping->size == 0 || is_ndjson(dump, file, where.offset)) {
        index_lines(dump, &where);
        return;
    }
    where.line = 1;
    where.length = mapping->size - where.offset;
    index_text(dump, &where);
}

/* ---- The order ---- */

/* The order of the files. */
static int by_place(const struct dump_entry *a, const struct dump_entry *b)
{
    if (a->file != b->file)
        return a->file < b->file ? -1 : 1;
    if (a->offset != b->offset)
        return a->offset < b->offset ? -1 : 1;
    return a->element < b->element ? -1 : a->element > b->element;
}

static bool is_alone(const struct dump_entry *entry)
{
    return !kinds[entry->kind].thread_key;
}

/* Files, assistants, then thread by thread: the thread, its messages. */
static int by_thread(const void *left, const void *right)
{
    const struct dump_entry *a = left;
    const struct dump_entry *b = right;
    int threads = strcmp(a->thread_id, b->thread_id);

    if (is_alone(a) != is_alone(b))
        return is_alone(a) ? -1 : 1;
    if (threads)
        return threads;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    return by_place(a, b);
}

static int by_time(const void *left, const void *right)
{
    const struct dump_entry *a = left;
    const struct dump_entry *b = right;

    if (a->created_at != b->created_at)
        return a->created_at < b->created_at ? -1 : 1;
    return by_place(a, b);
}

static int by_time_newest_first(const void *left, const void *right)
{
    const struct dump_entry *a = left;
    const struct dump_entry *b = right;

    if (a->created_at != b->created_at)
        return a->created_at < b->created_at ? -1 : 1;
    return by_place(b, a);
}

/* Sorts the messages of one thread by time; they come in the order of the files. Times are whole seconds, so
 * ties are common: they keep the order of the files, or are reversed if the files run backwards. */
static void sort_messages(struct dump_entry *messages, size_t count)
{
    size_t later = 0;
    size_t earlier = 0;

    for (size_t i = 1; i < count; i++) {
        later += messages[i].created_at > messages[i - 1].created_at;
        earlier += messages[i].created_at < messages[i - 1].created_at;
    }
    if (count)
        qsort(messages, count, sizeof(*messages),
              earlier > later ? by_time_newest_first : by_time);
}

static size_t thread_end(const struct dump *dump, size_t start)
{
    size_t end = start;

    while (end < dump->entry_count &&
           strcmp(dump->entries[end].thread_id, dump->entries[start].thread_id) == 0)
        end++;
    return end;
}

static void sort_entries(struct dump *dump)
{
    if (dump->entry_count)
        qsort(dump->entries, dump->entry_count, sizeof(*dump->entries), by_thread);
    while (dump->alone_count < dump->entry_count && is_alone(&dump->entries[dump->alone_count]))
        dump->alone_count++;
    for (size_t start = dump->alone_count; start < dump->entry_count;) {
        size_t end = thread_end(dump, start);

        while (start < end && dump->entries[start].kind == DUMP_THREAD)
            start++;
        sort_messages(dump->entries + start, end - start);
        start = end;
    }
}

/* ---- Entry points ---- */

enum err_code dump_open(const char *path, dump_complain_fn *complain_fn, void *arg,
                        struct dump **ret_dump, struct err *err)
{
    struct dump *dump = mem_new(struct dump);
    enum err_code rc;

    dump->complain = complain_fn;
    dump->complain_arg = arg;
    rc = find_files(dump, path, err);
    if (rc) {
        dump_free(dump);
        return rc;
    }
    for (size_t i = 0; i < dump->file_count; i++)
        index_file(dump, (unsigned)i);
    sort_entries(dump);
    *ret_dump = dump;
    return ERR_OK;
}

void dump_free(struct dump *dump)
{
    if (!dump)
        return;
    for (size_t i = 0; i < dump->file_count; i++)
        free(dump->files[i]);
    for (size_t i = 0; i < dump->entry_count; i++)
        free(dump->entries[i].thread_id);
    free(dump->files);
    free(dump->entries);
    unmap(&dump->mapping);
    json_decref(dump->parsed.value);
    free(dump);
}

const struct dump_entry *dump_alone(const struct dump *dump, enum dump_kind kind,
                                    size_t *ret_count)
{
    size_t begin = 0, end;

    while (begin < dump->alone_count && dump->entries[begin].kind != kind)
        begin++;
    for (end = begin; end < dump->alone_count && dump->entries[end].kind == kind; end++)
        ;
    *ret_count = end - begin;
    return dump->entries + begin;
}

bool dump_next_thread(const struct dump *dump, size_t *cursor, struct dump_thread *ret_thread)
{
    size_t start = *cursor ? *cursor : dump->alone_count;
    size_t end;

    if (start >= dump->entry_count)
        return false;
    end = thread_end(dump, start);
    *ret_thread = (struct dump_thread){.id = dump->entries[start].thread_id,
                                       .entries = dump->entries + start,
                                       .count = end - start};
    *cursor = end;
    return true;
}

const char *dump_file_name(const struct dump *dump, const struct dump_entry *entry)
{
    return dump->files[entry->file];
}
