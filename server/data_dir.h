#ifndef RUNNEL_SERVER_DATA_DIR_H
#define RUNNEL_SERVER_DATA_DIR_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"

/*
 * data_dir.h -- small things that outlive the process: who we are, and the key.
 *
 * Each is a file of one line, made once, readable by its owner only, and complete or not there
 * at all, whenever we die.
 */

#define DATA_DIR_LINE_SIZE 320

/* Reads `name` or, when it is not there, writes what `make` gives. */
enum err_code data_dir_line(const char *data_dir, const char *name,
                            void (*make)(char ret_line[DATA_DIR_LINE_SIZE]),
                            char ret_line[DATA_DIR_LINE_SIZE], struct err *err) MUST_CHECK;

/* Replaces it. */
enum err_code data_dir_write(const char *data_dir, const char *name, const char *line,
                             struct err *err) MUST_CHECK;

#define DATA_DIR_FILES 3 /* lock, node_id and api_key */

/* What there was before a server used it. */
struct data_dir_traces {
    bool directory;
    bool files[DATA_DIR_FILES];
};

void data_dir_look(const char *data_dir, struct data_dir_traces *ret_before);

/* Removes what was made since, for a start that failed. Only while the lock is held, and before
 * the database knows the key. What else is in the directory stays, and the directory with it. */
void data_dir_restore(const char *data_dir, const struct data_dir_traces *before);

#endif
