#ifndef RUNNEL_SERVER_CONFIG_FILES_H
#define RUNNEL_SERVER_CONFIG_FILES_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/net/s3_client.h"

/*
 * config/files.h -- the section `files` of the configuration file: the bucket of S3 for the bytes of files, and the
 * command that looks at uploads.
 *
 * Used at start, on one thread.
 */

/* Where the command finds check_folder. */
#define FILE_CHECK_FOLDER "/mnt/check"

#define FILE_CHECK_ARGUMENTS 64

/* server/files/file_check.h. */
struct config_file_check {
    const char
        *command[FILE_CHECK_ARGUMENTS + 1]; /* NULL ends it; without any, nothing is checked */
    const char *folder;                     /* of the host, which it may read; or NULL */
    double seconds;
    uint64_t memory; /* bytes */
};

struct config_files {
    struct s3_options s3; /* points into the section and the environment */
    bool has_s3;
    struct config_file_check check;
};

/* `section` is the section, or NULL, and must outlive *ret_files. ERR_INVALID with one sentence. */
enum err_code config_files_read(const json_t *section, struct config_files *ret_files,
                                struct err *err) MUST_CHECK;

#endif
