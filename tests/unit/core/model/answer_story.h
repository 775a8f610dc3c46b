#ifndef RUNNEL_TESTS_UNIT_CORE_MODEL_ANSWER_STORY_H
#define RUNNEL_TESTS_UNIT_CORE_MODEL_ANSWER_STORY_H

#include <stddef.h>

#include "core/base/err.h"
#include "core/model/model.h"

/*
 * answer_story.h -- what bytes of an upstream become, as one line of text.
 *
 * Each habit of a server is a script of bytes and the events that it must become. Scripts are
 * written with ' for ". What a script becomes may not depend on where the network cuts it.
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

/* Tests of all scripts of a table, a struct scripts. */
#define STORY_TESTS(table)                                                                    \
    cmocka_unit_test_prestate(every_habit_becomes_its_events, (void *)(uintptr_t) & (table)), \
        cmocka_unit_test_prestate(it_does_not_matter_where_the_bytes_are_cut,                 \
                                  (void *)(uintptr_t) & (table)),                             \
        cmocka_unit_test_prestate(a_body_that_ends_anywhere_ends_the_turn,                    \
                                  (void *)(uintptr_t) & (table)),                             \
        cmocka_unit_test_prestate(every_callback_may_end_the_turn,                            \
                                  (void *)(uintptr_t) & (table))

void every_habit_becomes_its_events(void **state);
void it_does_not_matter_where_the_bytes_are_cut(void **state);
void a_body_that_ends_anywhere_ends_the_turn(void **state);
void every_callback_may_end_the_turn(void **state);

/* One script whose connection broke: fails unless it becomes its events. */
void story_breaks(enum model_dialect dialect, const struct script *script,
                  const struct err *broken);

#endif
