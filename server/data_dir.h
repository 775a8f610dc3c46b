#ifndef RUNNEL_SERVER_DATA_DIR_H
#define RUNNEL_SERVER_DATA_DIR_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"

/*
 * data_dir.h -- what outlives the process beside the database: the node's id and the API key.
 *
 * Each is a file of one line that only its owner can read. It is complete or missing, whenever the process
 * dies.
 *
 * For the thread that starts the server, with the lock of the directory. Errors are ERR_INTERNAL with the path
 * and the system's reason.
 */

#define DATA_DIR_LINE_SIZE 320 /* bytes of a line, with its NUL */

/* Reads the line of file `name`. If the file is missing, make() fills in a line, which is written. An empty file
 * is an error. */
enum err_code data_dir_line(const char *data_dir, const char *name,
                            void (*make)(char ret_line[DATA_DIR_LINE_SIZE]),
                            char ret_line[DATA_DIR_LINE_SIZE], struct err *err) MUST_CHECK;

/* Replaces the file. */
enum err_code data_dir_write(const char *data_dir, const char *name, const char *line,
                             struct err *err) MUST_CHECK;

#define DATA_DIR_FILES 3 /* lock, node_id and api_key */

/* Which of them existed before the server used the directory. */
struct data_dir_traces {
    bool directory;
    bool files[DATA_DIR_FILES];
};

/* Fills in which of them exist now. */
void data_dir_inspect(const char *data_dir, struct data_dir_traces *ret_before);

/* Removes the files that were made since, after a start that failed, and the directory if it was made too and is
 * empty. Only while the lock is held, and before the database knows the key. */
void data_dir_restore(const char *data_dir, const struct data_dir_traces *before);

#endif
