#include "core/domain/status/store_file_status.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

const char *const store_file_status_names[STORE_FILE_STATUS_COUNT + 1] = {
    [STORE_FILE_IN_PROGRESS] = "in_progress",
    [STORE_FILE_COMPLETED] = "completed",
    [STORE_FILE_FAILED] = "failed",
    [STORE_FILE_CANCELLED] = "cancelled",
};

const char *store_file_status_name(enum store_file_status status)
{
    return store_file_status_names[status];
}

enum store_file_status store_file_status_parse(const char *name)
{
    for (int i = 0; i < STORE_FILE_STATUS_COUNT; i++)
        if (strcmp(store_file_status_names[i], name) == 0)
            return (enum store_file_status)i;
    assert(false && "a status of a file that this server has not written");
    return STORE_FILE_FAILED;
}
