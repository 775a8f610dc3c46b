#ifndef RUNNEL_SERVER_CLI_IMPORT_DUMP_H
#define RUNNEL_SERVER_CLI_IMPORT_DUMP_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"

/*
 * import_dump.h -- a dump: an index of the files, vector stores, assistants, threads and messages in some files.
 *
 * A dump is a file, or a folder with everything below it. A file has either one JSON value, or one on each
 * line (NDJSON). A value is an object with its type ("object": "file", "vector_store", "vector_store.file",
 * "assistant", "thread", "thread.message"), a
 * list of objects as the API returns it, or a plain array of them.
 *
 * Opening a dump reads all files once and remembers where each object is. An object is parsed again when it
 * is loaded. So a dump may be much larger than memory.
 *
 * For one thread. The files must not change while the dump is open.
 */

/* Bytes of one line, or of a file that is one value. */
#define DUMP_VALUE_LIMIT ((size_t)64 * 1024 * 1024)

enum dump_kind {
    DUMP_FILE,
    DUMP_STORE,
    DUMP_STORE_FILE,
    DUMP_ASSISTANT,
    DUMP_THREAD,
    DUMP_MESSAGE,
    DUMP_KINDS,
};

/* Where an object is. Owned by the dump. */
struct dump_entry {
    enum dump_kind kind;
    unsigned file;
    size_t line;           /* of the file, from 1 */
    size_t offset, length; /* of the value that contains it, in bytes */
    size_t element;        /* its index, if the value is a list; else DUMP_ALONE */
    int64_t created_at;    /* seconds */
    char *thread_id;       /* "" of what belongs to no thread */
};

#define DUMP_ALONE SIZE_MAX

/* The objects of one thread: the thread itself, if the dump has it, and its messages, oldest first. */
struct dump_thread {
    const char *id;
    const struct dump_entry *entries;
    size_t count;
};

/* Called for a file or a value that cannot be read, and for an object of a type that is not imported. `line` is
 * 0 for the whole file. */
typedef void dump_complain_fn(void *arg, const char *file, size_t line, const char *text);

struct dump;

/* Reads all files. A bad value is a complaint, and no error. ERR_NOT_FOUND if the path does not exist or has no
 * file of JSON. */
enum err_code dump_open(const char *path, dump_complain_fn *complain, void *arg,
                        struct dump **ret_dump, struct err *err) MUST_CHECK;
void dump_free(struct dump *dump);

/* The objects of that kind that belong to no thread, in the order of the files. Borrowed. */
const struct dump_entry *dump_alone(const struct dump *dump, enum dump_kind kind,
                                    size_t *ret_count);

/* The next thread; *cursor begins at 0. False at the end. Messages are ordered by created_at. Those of the same
 * second keep the order of the files, or the reverse if the files have the newest first. */
bool dump_next_thread(const struct dump *dump, size_t *cursor, struct dump_thread *ret_thread);

/* Parses the object of an entry. New reference. */
enum err_code dump_load(struct dump *dump, const struct dump_entry *entry, json_t **ret_object,
                        struct err *err) MUST_CHECK;

/* The path of the file of an entry. Borrowed. */
const char *dump_file_name(const struct dump *dump, const struct dump_entry *entry);

#endif
