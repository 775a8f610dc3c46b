#ifndef RUNNEL_SERVER_SCAN_MODEL_H
#define RUNNEL_SERVER_SCAN_MODEL_H

#include <stdbool.h>

#include "core/base/err.h"
#include "core/document/document.h"

/*
 * scan_model.h -- what reads scanned pages and pictures here: nothing, Tesseract, or a model of the operator.
 *
 * The model sees one page at a time, as a picture, and answers with its text. A page that fails is asked for once more.
 * After that the model rests (core/ingest/model_rest.h), and the caller gets an error: a page that was not read must
 * not pass for an empty one. A page that the model refuses stays without text.
 *
 * Any thread that may wait. Several at once.
 */

#define SCAN_MODEL_TEXT_LIMIT ((size_t)1 << 20) /* bytes of an answer */

struct scan_model;
struct server;

/* Sets server->scan_model, if the configuration names a model. */
void scan_model_open(struct server *server);

/* All that wait end with ERR_CANCELLED, and all that come. NULL is fine, also below. */
void scan_model_close(struct scan_model *model);
void scan_model_free(struct scan_model *model); /* no thread may be asking */

/* How this server reads scans. The caller says for how many pages, how long, and when to stop. False: it does not. */
bool scan_model_scans(const struct server *server, struct document_scans *ret_scans);

#endif
