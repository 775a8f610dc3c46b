#ifndef RUNNEL_SERVER_CONFIG_IMAGES_H
#define RUNNEL_SERVER_CONFIG_IMAGES_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"
#include "core/model/model.h"

/*
 * config/images.h -- the section `images` of the configuration file: the model that draws pictures for runs.
 *
 * Used at start, on one thread.
 */

#define IMAGES_BYTES_DEFAULT    ((long)8 << 20)
#define IMAGES_PICTURES_DEFAULT 10
#define IMAGES_CALLS_DEFAULT    16
#define IMAGES_SECONDS_DEFAULT  180

struct config_images {
    /* NULL: there is no such section, and nothing is drawn */
    const struct model_upstream *upstream;
    const char *model; /* points into the section */
    bool legacy;       /* the dialect: `response_format` is sent, and no stream is asked for */
    size_t max_bytes;  /* of a picture that is drawn or edited */
    unsigned max_pictures;  /* of one run */
    unsigned calls;         /* at once on this node; beyond, they wait */
    double timeout_seconds; /* of one picture, all attempts together */
};

/* `section` is the section, or NULL. It and the upstreams must outlive *ret_images. ERR_INVALID with one sentence. */
enum err_code config_images_read(const json_t *section, const struct model_upstream *upstreams,
                                 size_t count, struct config_images *ret_images,
                                 struct err *err) MUST_CHECK;

#endif
