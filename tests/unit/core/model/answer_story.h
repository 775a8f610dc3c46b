#ifndef RUNNEL_TESTS_UNIT_CORE_MODEL_ANSWER_STORY_H
#define RUNNEL_TESTS_UNIT_CORE_MODEL_ANSWER_STORY_H

#include <stddef.h>

#include "core/base/err.h"
#include "core/model/model.h"

/*
 * answer_story.h -- the events that an upstream's bytes become, as one line of text.
 *
 * Each habit of a server is a script of bytes and the events that it must become. Scripts are written with ' for ". The events may not depend on where the network cuts the bytes.
 */

struct script {
    const char *name;
    const char *content_type;
    const char *body;
    const char *events;
};

#define SSE  "text/event-stream; charset=utf-8"
#define JSON "application/json"

struct scripts {
    enum model_dialect dialect;
    const struct script *list;
    size_t count;
};

/* Tests all scripts of a table. */
void scripts_play_right(const struct scripts *scripts);
void story_may_be_cut_anywhere(const struct scripts *scripts);
void story_may_end_anywhere(const struct scripts *scripts);
void story_may_be_stopped_anywhere(const struct scripts *scripts);

/* One script whose connection broke: fails unless it becomes its events. */
void story_breaks(enum model_dialect dialect, const struct script *script,
                  const struct err *broken);

#endif
