#ifndef RUNNEL_SERVER_CONFIG_FILES_H
#define RUNNEL_SERVER_CONFIG_FILES_H

#include <jansson.h>
#include <stdbool.h>

#include "core/base/err.h"
#include "core/net/s3_client.h"

/*
 * config/files.h -- the section `files` of the configuration file: the bucket of S3 for the bytes of files.
 *
 * Used at start, on one thread.
 */

struct config_files {
    struct s3_options s3; /* points into the section and the environment */
    bool has_s3;
};

/* `section` is the section, or NULL, and must outlive *ret_files. ERR_INVALID with one sentence. */
enum err_code config_files_read(const json_t *section, struct config_files *ret_files,
                                struct err *err) MUST_CHECK;

#endif
