#include "tests/unit/core/run/engine/scenario.h"

#include <string.h>

#include "core/base/compiler.h"

/* clang-format off */

#define CALL(tool, call_id, call_key, call_says)                                       \
    {PIECE_CALL, "{\"key\":\"" call_key "\",\"say\":\"" call_says "\"}", tool, call_id}
#define SAYS(words) {PIECE_TEXT, words, NULL, NULL}
#define THINKS(words) {PIECE_REASONING, words, NULL, NULL}
#define END {PIECE_END, NULL, NULL, NULL}

static const struct piece greeting[] = {SAYS("Hel"), SAYS("lo"), SAYS(" there"), END};
static const struct piece answer[] = {SAYS("All "), SAYS("done"), END};

#define STREAMED (RUN_STORED | RUN_STREAMED)

static const struct scenario text = {
    .name = "text",
    .face = FACE_RESPONSES,
    .flags = STREAMED,
    .config = "{\"model\":\"m\",\"tools\":[]}",
    .turns = {greeting},
    .says = "Hello there",
    .ending = RUN_COMPLETED,
};

#define GROUP(label) "{\"type\":\"mcp\",\"server_label\":\"" label "\",\"server_url\":\"builtin:" label "\"}"

static const struct piece one_call[] = {SAYS("Let me see."), CALL("once", "call_1", "k1", "ts"), END};

static const struct scenario tool = {
    .name = "tool",
    .face = FACE_RESPONSES,
    .flags = STREAMED,
    .config = "{\"model\":\"m\",\"tools\":[" GROUP("once") "]}",
    .turns = {one_call, answer},
    .effects = {{"k1", "once"}},
    .says = "All done",
    .ending = RUN_COMPLETED,
};

const struct scenario *const all_scenarios[] = {
    &text,
    &tool,
    NULL,
};

/* clang-format on */

const struct piece *scenario_turn(const struct scenario *scenario, size_t number)
{
    while (number > 0 && (number >= SCENARIO_TURNS || !scenario->turns[number]))
        number--;
    return scenario->turns[number];
}

const struct scenario *scenario_find(const char *name)
{
    for (const struct scenario *const *at = all_scenarios; name && *at; at++) {
        if (strcmp((*at)->name, name) == 0)
            return *at;
    }
    return NULL;
}
