#ifndef RUNNEL_SERVER_ENCODE_FACES_H
#define RUNNEL_SERVER_ENCODE_FACES_H

#include "core/domain/rows.h"
#include "core/event/sink.h"
#include "core/run/turn/face.h"

/*
 * faces.h -- the two renderings of a run, for the engine and for recovery (core/run/turn/face.h is the
 * contract). Constants: any thread.
 */

extern const struct face
    assistants_face; /* face_assistants.c: thread.run.* and thread.message.* */
extern const struct face responses_face; /* face_responses.c: response.* */

/* The HTTP error for a client that waits for this response, which has failed and is stored: as
 * responses_face answers while the run is in memory, without Retry-After. */
void responses_failure(const struct run_row *row, struct sink_answer *ret_answer);

#endif
