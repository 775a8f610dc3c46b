#ifndef RUNNEL_SERVER_CLI_IMPORT_DUMP_H
#define RUNNEL_SERVER_CLI_IMPORT_DUMP_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"

/*
 * import_dump.h -- what lies in a dump: an index of its assistants, threads and messages.
 *
 * A dump is a file, or a folder with all below it. A file holds either one JSON value or one on
 * each line (NDJSON). A value is an object that says what it is ("object": "assistant", "thread",
 * "thread.message"), a list of them as the API returns it, or a plain array of them.
 *
 * Files are looked through once, and only where each object lies is remembered; an object is
 * parsed again when its turn has come. So a dump may be much larger than memory.
 *
 * Of one thread. Files must not change meanwhile.
 */

/* Of one line, or of a file that is one value. */
#define DUMP_VALUE_LIMIT ((size_t)64 * 1024 * 1024)

enum dump_kind {
    DUMP_ASSISTANT,
    DUMP_THREAD,
    DUMP_MESSAGE,
    DUMP_KINDS,
};

/* Where an object lies. Owned by the dump. */
struct dump_entry {
    enum dump_kind kind;
    unsigned file;
    size_t line;
    size_t offset, length; /* of the value that it lies in */
    size_t element;        /* its place in a list; DUMP_ALONE for none */
    int64_t created_at;
    char *thread_id; /* "" for assistants */
};

#define DUMP_ALONE SIZE_MAX

/* The objects of one thread: the thread itself, if it is there, and its messages, oldest first. */
struct dump_thread {
    const char *id;
    const struct dump_entry *entries;
    size_t count;
};

/* Told of what cannot be read, or is nothing that we import. */
typedef void dump_complain_fn(void *arg, const char *file, size_t line, const char *text);

struct dump;

/* ERR_NOT_FOUND and ERR_INVALID when there is nothing to read at all. */
enum err_code dump_open(const char *path, dump_complain_fn *complain, void *arg,
                        struct dump **ret_dump, struct err *err) MUST_CHECK;
void dump_free(struct dump *dump);

/* Assistants in the order of the files; borrowed. */
const struct dump_entry *dump_assistants(const struct dump *dump, size_t *ret_count);

/* The next thread, starting with *cursor = 0; false at the end. Messages are in the order of
 * created_at, those of the same second as they stand in the files, or the other way round when
 * these have the newest first. */
bool dump_next_thread(const struct dump *dump, size_t *cursor, struct dump_thread *ret_thread);

/* The object itself; a new reference. */
enum err_code dump_load(struct dump *dump, const struct dump_entry *entry, json_t **ret_object,
                        struct err *err) MUST_CHECK;

/* The name of the file that an entry lies in. */
const char *dump_file_name(const struct dump *dump, const struct dump_entry *entry);

#endif
