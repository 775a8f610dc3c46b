#include "server/config/ocr.h"

#include "core/base/json.h"
#include "server/config/section.h"

#define SECONDS     60 /* for a page, if the section does not say */
#define SECONDS_MAX 600

enum err_code config_ocr_read(const json_t *section, const struct model_upstream *upstreams,
                              size_t count, struct config_ocr *ret_ocr, struct err *err)
{
    struct config_ocr ocr = {.model = json_get_string(section, "model", "")};
    long seconds = 0;
    enum err_code rc;

    *ret_ocr = (struct config_ocr){0};
    if (!json_is_object(section))
        return ERR_OK;
    rc = section_upstream(section, "ocr", upstreams, count, &ocr.upstream, err);
    if (!rc && ocr.upstream->text_only)
        rc =
            err_set(err, ERR_INVALID, "ocr.upstream: '%.64s' reads no pictures, its inputs say",
                    ocr.upstream->name);
    if (!rc)
        rc = section_number(section, "ocr", "timeout", 1, SECONDS_MAX, SECONDS, &seconds, err);
    if (rc)
        return rc;
    ocr.seconds = (double)seconds;
    *ret_ocr = ocr;
    return ERR_OK;
}
