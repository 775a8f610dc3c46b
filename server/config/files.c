#include "server/config/files.h"

#include <stdlib.h>

#include "core/base/json.h"

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

enum err_code config_files_read(const json_t *section, struct config_files *ret_files,
                                struct err *err)
{
    const json_t *s3 = json_object_get(section, "s3");
    enum err_code rc;

    *ret_files = (struct config_files){.has_s3 = s3 != NULL};
    if (!s3)
        return ERR_OK;
    ret_files->s3.endpoint = json_get_string(s3, "endpoint", "");
    ret_files->s3.bucket = json_get_string(s3, "bucket", "");
    ret_files->s3.region = json_get_string(s3, "region", REGION);
    rc = find_key(s3, "access_key_env", &ret_files->s3.access_key, err);
    if (!rc)
        rc = find_key(s3, "secret_key_env", &ret_files->s3.secret_key, err);
    return rc;
}
