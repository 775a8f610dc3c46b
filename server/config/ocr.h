#ifndef RUNNEL_SERVER_CONFIG_OCR_H
#define RUNNEL_SERVER_CONFIG_OCR_H

#include <jansson.h>

#include "core/base/err.h"
#include "core/model/model.h"

/*
 * config/ocr.h -- the section `ocr` of the configuration file: the model that reads scanned pages and pictures.
 *
 * Used at start, on one thread.
 */

struct config_ocr {
    const struct model_upstream *upstream; /* NULL: no model reads them */
    const char *model;
    double seconds; /* for a page */
};

/* `section` is the section, or NULL or a text, which is a setting, and must outlive *ret_ocr. ERR_INVALID with one
 * sentence. */
enum err_code config_ocr_read(const json_t *section, const struct model_upstream *upstreams,
                              size_t count, struct config_ocr *ret_ocr,
                              struct err *err) MUST_CHECK;

#endif
