#include "server/config/files.h"

#include <stdlib.h>

#include "core/base/json.h"
#include "server/config/section.h"

#define REGION "us-east-1" /* what servers of S3 other than AWS's expect */

/* The keys are only ever named by variables: a configuration file is shown around more often than one thinks. */
static enum err_code find_key(const json_t *s3, const char *key, const char **ret_value,
                              struct err *err)
{
    const char *variable = json_get_string(s3, key, "");

    *ret_value = getenv(variable);
    if (!*ret_value)
        return err_set(err, ERR_INVALID,
                       "files.s3.%s: the environment variable '%.64s' is not set", key,
                       variable);
    return ERR_OK;
}

#define CHECK_SECONDS     60
#define CHECK_SECONDS_MAX 600
#define CHECK_MIB         2048
#define CHECK_MIB_MIN     16
#define CHECK_MIB_MAX     65536

static enum err_code read_check(const json_t *section, struct config_file_check *check,
                                struct err *err)
{
    const json_t *command = json_object_get(section, "check_command");
    long seconds = 0, mib = 0;
    size_t i;
    json_t *word;
    enum err_code rc;

    if (json_array_size(command) > FILE_CHECK_ARGUMENTS)
        return err_set(err, ERR_INVALID, "files.check_command: more than %d words",
                       FILE_CHECK_ARGUMENTS);
    json_array_foreach (command, i, word)
        check->command[i] = json_string_value(word);
    check->folder = json_get_string(section, "check_folder", NULL);
    rc = section_number(section, "files", "check_timeout", 1, CHECK_SECONDS_MAX, CHECK_SECONDS,
                        &seconds, err);
    if (!rc)
        rc = section_number(section, "files", "check_memory", CHECK_MIB_MIN, CHECK_MIB_MAX,
                            CHECK_MIB, &mib, err);
    check->seconds = (double)seconds;
    check->memory = (uint64_t)mib << 20;
    return rc;
}

enum err_code config_files_read(const json_t *section, struct config_files *ret_files,
                                struct err *err)
{
    const json_t *s3 = json_object_get(section, "s3");
    enum err_code rc;

    *ret_files = (struct config_files){.has_s3 = s3 != NULL};
    rc = read_check(section, &ret_files->check, err);
    if (rc || !s3)
        return rc;
    ret_files->s3.endpoint = json_get_string(s3, "endpoint", "");
    ret_files->s3.bucket = json_get_string(s3, "bucket", "");
    ret_files->s3.region = json_get_string(s3, "region", REGION);
    rc = find_key(s3, "access_key_env", &ret_files->s3.access_key, err);
    if (!rc)
        rc = find_key(s3, "secret_key_env", &ret_files->s3.secret_key, err);
    return rc;
}
