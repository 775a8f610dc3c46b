#ifndef RUNNEL_SERVER_PICTURES_PICTURE_DESK_H
#define RUNNEL_SERVER_PICTURES_PICTURE_DESK_H

#include <stdint.h>

#include "core/base/err.h"
#include "core/tool/picture/tool_picture.h"

/*
 * picture_desk.h -- the drawings of tool calls: what they begin with, the image model, and what becomes of the picture.
 *
 * A call waits for its picture, often for a minute. So such calls have workers of their own, `images.calls` of them.
 */

struct server;

/* Sets server->picture_model and server->picture_executor, if the configuration names an image model. */
enum err_code pictures_start(struct server *server, struct err *err) MUST_CHECK;

/* Notes in the registry whether pictures are drawn. */
void pictures_declare(const struct server *server);

/* What tool_call_draw() calls. Borrows the server. */
struct tool_painter picture_desk(struct server *server);

/* Once no run is left; then, without its loops, the rest. */
void pictures_stop(struct server *server, uint64_t patience_ns);
void pictures_free(struct server *server);

#endif
