#ifndef RUNNEL_CORE_DOMAIN_STATUS_STORE_FILE_STATUS_H
#define RUNNEL_CORE_DOMAIN_STATUS_STORE_FILE_STATUS_H

/*
 * store_file_status.h -- what has become of a file in a vector store.
 *
 *   in_progress --> completed | failed | cancelled
 *        ^                       |         |
 *        +-----------------------+---------+     attached again
 *
 * The statements of core/store/tables/vector_stores move it, many rows at once. Pure functions: any thread.
 */

enum store_file_status {
    STORE_FILE_IN_PROGRESS,
    STORE_FILE_COMPLETED,
    STORE_FILE_FAILED,
    STORE_FILE_CANCELLED,
    STORE_FILE_STATUS_COUNT
};

const char *store_file_status_name(enum store_file_status status);
/* Of a name that this server has written; it asserts on any other. */
enum store_file_status store_file_status_parse(const char *name);

/* The names in their order, then NULL: for parameters. */
extern const char *const store_file_status_names[STORE_FILE_STATUS_COUNT + 1];

#endif
