#include "server/config/images.h"

#include <string.h>

#include "core/base/json.h"
#include "server/config/section.h"

#define BYTES_MIN    ((long)1 << 10)
#define BYTES_MAX    ((long)64 << 20)
#define PICTURES_MAX 1000
#define CALLS_MAX    1024
#define SECONDS_MAX  3600

static enum err_code read_dialect(const json_t *section, bool *ret_legacy, struct err *err)
{
    const char *word = json_get_string(section, "dialect", "openai");

    *ret_legacy = strcmp(word, "legacy") == 0;
    if (*ret_legacy || strcmp(word, "openai") == 0)
        return ERR_OK;
    return err_set(err, ERR_INVALID, "images.dialect: expected openai or legacy, not '%.64s'",
                   word);
}

static enum err_code read_limits(const json_t *section, struct config_images *images,
                                 struct err *err)
{
    long bytes = 0, pictures = 0, calls = 0, seconds = 0;
    enum err_code rc = section_number(section, "images", "max_bytes", BYTES_MIN, BYTES_MAX,
                                      IMAGES_BYTES_DEFAULT, &bytes, err);

    if (!rc)
        rc = section_number(section, "images", "max_pictures", 1, PICTURES_MAX,
                            IMAGES_PICTURES_DEFAULT, &pictures, err);
    if (!rc)
        rc = section_number(section, "images", "calls", 1, CALLS_MAX, IMAGES_CALLS_DEFAULT,
                            &calls, err);
    if (!rc)
        rc = section_number(section, "images", "timeout", 1, SECONDS_MAX,
                            IMAGES_SECONDS_DEFAULT, &seconds, err);
    images->max_bytes = (size_t)bytes;
    images->max_pictures = (unsigned)pictures;
    images->calls = (unsigned)calls;
    images->timeout_seconds = (double)seconds;
    return rc;
}

enum err_code config_images_read(const json_t *section, const struct model_upstream *upstreams,
                                 size_t count, struct config_images *ret_images,
                                 struct err *err)
{
    struct config_images images = {.model = json_get_string(section, "model", "")};
    enum err_code rc;

    *ret_images = (struct config_images){0};
    if (!section)
        return ERR_OK;
    rc = section_upstream(section, "images", upstreams, count, &images.upstream, err);
    if (!rc)
        rc = read_dialect(section, &images.legacy, err);
    if (!rc)
        rc = read_limits(section, &images, err);
    if (!rc)
        *ret_images = images;
    return rc;
}
