/*
 * The scenarios: each the smallest run that passes through some part of the engine.
 *
 * They are small because a schedule tries every incident before every step. A scenario with twice as many
 * steps costs twice as many schedules, and finds nothing more. So there is one for each way through the
 * engine: a call alone, calls side by side, calls one after the other, a call that waits for a person, two
 * runs that want one slot, and so on. What they have in common with each other is left out.
 *
 * Reading an entry. The macros name the face and the flags of the request (RESPONSE, BACKGROUND, RUN ...),
 * then its tools, then what the model answers turn by turn, then what must come of it. CALL() makes one
 * call of the model: the tool, the call's id, the key by which its effect is counted, and what its handler
 * does, a letter a step (world_tools.h).
 *
 * A new scenario is a line here. Its name is the first word of a schedule's text.
 */

#include "tests/unit/core/run/engine/scenario.h"

#include <string.h>

#include "core/base/compiler.h"

/* clang-format off */

/* ---- The model's answers ---- */

#define CALL(tool, call_id, call_key, call_says)                                       \
    {PIECE_CALL, "{\"key\":\"" call_key "\",\"say\":\"" call_says "\"}", tool, call_id}
#define SAYS(words)   {PIECE_TEXT, words, NULL, NULL}
#define THINKS(words) {PIECE_REASONING, words, NULL, NULL}
#define END           {PIECE_END, NULL, NULL, NULL}

static const struct piece greeting[]    = {SAYS("Hel"), SAYS("lo"), SAYS(" there"), END};
static const struct piece thought[]     = {THINKS("Hm"), THINKS("m."), SAYS("Hello "), SAYS("there"), END};
static const struct piece answer[]      = {SAYS("All "), SAYS("done"), END};
static const struct piece one_call[]    = {SAYS("Let me see."), CALL("once", "call_1", "k1", "ts"), END};
static const struct piece again_call[]  = {CALL("once", "call_1", "k2", "m"), END}; /* the same id */
static const struct piece two_calls[]   = {CALL("once", "call_1", "k1", "tm"), CALL("once", "call_2", "k2", "s"), END};
static const struct piece three_calls[] = {CALL("once", "call_1", "k1", "t"), CALL("repeat", "call_2", "k2", "st"),
                                           CALL("once", "call_3", "k3", ""), END};
static const struct piece hidden_call[] = {CALL("hidden", "call_1", "k1", "t"), CALL("once", "call_2", "k2", "t"), END};
static const struct piece bad_call[]    = {CALL("failing", "call_1", "k1", "t"), END};
static const struct piece repeat_call[] = {CALL("repeat", "call_1", "k1", "ts"), END};
static const struct piece kept_call[]   = {CALL("kept", "call_1", "k1", "t"), END};
static const struct piece final_call[]  = {CALL("final", "call_1", "k1", "tt"), END};
static const struct piece final_calls[] = {CALL("final", "call_1", "k1", "t"), CALL("final", "call_2", "k2", ""), END};
static const struct piece asking_call[] = {SAYS("May I?"), CALL("asking", "call_1", "k1", "t"), END};
static const struct piece asking_two[]  = {CALL("asking", "call_1", "k1", ""), CALL("once", "call_2", "k2", "t"), END};
static const struct piece asking_both[] = {CALL("asking", "call_1", "k1", ""), CALL("asking", "call_2", "k2", ""), END};
static const struct piece client_call[] = {CALL("f", "call_1", "f1", ""), END};
static const struct piece client_more[] = {CALL("f", "call_2", "f2", ""), END};
static const struct piece recalled[]    = {CALL("recalled", "call_1", "k1", "t"), END};
static const struct piece planned[]     = {CALL("planned", "call_1", "k1", "t"), CALL("once", "call_2", "k2", ""), END};
static const struct piece withheld[]    = {CALL("withheld", "call_1", "k1", "t"), CALL("once", "call_2", "k2", ""), END};
static const struct piece resolved[]    = {CALL("once", "call_1", "k1", "$VAR_REF{{word}}"), END};
static const struct piece behind[]      = {CALL("once", "call_1", "k1", "w"), CALL("kept", "call_2", "k2", "st"),
                                           CALL("failing", "call_3", "k3", "m"), END};
static const struct piece in_turns[]    = {CALL("once", "call_1", "k1", ""), CALL("repeat", "call_2", "k2", "w"),
                                           CALL("once", "call_3", "k3", "sw"), END};
static const struct piece final_behind[] = {CALL("once", "call_1", "k1", "w"), CALL("final", "call_2", "k2", "t"), END};
static const struct piece held_behind[] = {CALL("once", "call_1", "k1", "w"), CALL("withheld", "call_2", "k2", "s"), END};
static const struct piece mixed_calls[] = {CALL("f", "call_1", "f1", ""), CALL("once", "call_2", "k1", "t"), END};
static const struct piece mixed_ask[]   = {CALL("f", "call_1", "f1", ""), CALL("asking", "call_2", "k1", ""), END};

/* ---- The requests ---- */

#define GROUP(label)   "{\"type\":\"mcp\",\"server_label\":\"" label "\",\"server_url\":\"builtin:" label "\"}"
#define FUNCTION       "{\"type\":\"function\",\"name\":\"f\",\"parameters\":{\"type\":\"object\"}}"
#define THREADS_FUNCTION "{\"type\":\"function\",\"function\":{\"name\":\"f\"}}"
#define WITH(tools)    "{\"model\":\"m\",\"tools\":[" tools "]}"
#define ONE_CALL_A_TURN(tools) "{\"model\":\"m\",\"parallel_tool_calls\":false,\"tools\":[" tools "]}"
#define LIMITED(tools) "{\"model\":\"m\",\"max_tool_calls\":1,\"tools\":[" tools "]}"
#define HOLD(tools)    "{\"model\":\"m\",\"tools\":[" tools "],\"runnel\":{\"approval\":{\"channel\":\"hold\"}}}"

#define RESPONSE   .face = FACE_RESPONSES, .flags = RUN_STORED | RUN_STREAMED
#define WHOLE      .face = FACE_RESPONSES, .flags = RUN_STORED
#define FLEETING   .face = FACE_RESPONSES, .flags = RUN_STREAMED
#define BACKGROUND .face = FACE_RESPONSES, .flags = RUN_STORED | RUN_STREAMED | RUN_BACKGROUND | RUN_RESUMABLE
#define UNWATCHED  .face = FACE_RESPONSES, .flags = RUN_STORED | RUN_BACKGROUND | RUN_RESUMABLE
#define RUN        .face = FACE_ASSISTANTS, .flags = RUN_STORED | RUN_STREAMED | RUN_RESUMABLE
#define POLLED     .face = FACE_ASSISTANTS, .flags = RUN_STORED | RUN_RESUMABLE

#define NO_TOOLS   .config = WITH("")
#define GREETS     .turns = {greeting}, .says = "Hello there", .ending = RUN_COMPLETED
#define ANSWERS(first) .turns = {first, answer}, .says = "All done", .ending = RUN_COMPLETED

/* ---- Foreground responses ---- */

const struct scenario *const foreground_scenarios[] = {
    &(const struct scenario){.name = "text", RESPONSE, NO_TOOLS, GREETS},
    &(const struct scenario){.name = "thought", RESPONSE, NO_TOOLS, .turns = {thought}, .says = "Hello there",
                             .ending = RUN_COMPLETED},
    &(const struct scenario){.name = "whole", WHOLE, .config = WITH(GROUP("once")), ANSWERS(one_call),
                             .effects = {{"k1", "once"}}},
    &(const struct scenario){.name = "tool", RESPONSE, .config = WITH(GROUP("once")), ANSWERS(one_call),
                             .effects = {{"k1", "once"}}},
    &(const struct scenario){.name = "kept", RESPONSE, .config = WITH(GROUP("kept")), ANSWERS(kept_call),
                             .effects = {{"k1", "kept"}}},
    &(const struct scenario){.name = "tools", RESPONSE, .config = WITH(GROUP("once") "," GROUP("repeat")),
                             ANSWERS(three_calls), .effects = {{"k1", "once"}, {"k2", "repeat"}, {"k3", "once"}}},
    &(const struct scenario){.name = "first_only", RESPONSE, .config = ONE_CALL_A_TURN(GROUP("once")), ANSWERS(two_calls),
                             .effects = {{"k1", "once"}}},
    &(const struct scenario){.name = "hidden", RESPONSE, .config = WITH(GROUP("once") "," GROUP("hidden")),
                             ANSWERS(hidden_call), .effects = {{"k1", "hidden"}, {"k2", "once"}}},
    &(const struct scenario){.name = "failing", RESPONSE, .config = WITH(GROUP("failing")), ANSWERS(bad_call),
                             .effects = {{"k1", "failing"}}},
    &(const struct scenario){.name = "final", RESPONSE, .config = WITH(GROUP("final")), .turns = {final_call, answer},
                             .effects = {{"k1", "final"}}, .says = "word word ", .ending = RUN_COMPLETED},
    &(const struct scenario){.name = "client", RESPONSE, .config = WITH(FUNCTION), .turns = {client_call},
                             .ending = RUN_COMPLETED},
    &(const struct scenario){.name = "resolved", RESPONSE, .config = WITH(GROUP("once")), ANSWERS(resolved), .reads = true,
                             .effects = {{"k1", "once"}}},
    &(const struct scenario){.name = "limited", RESPONSE, .config = LIMITED(GROUP("once")), ANSWERS(two_calls),
                             .effects = {{"k1", "once"}}},
    &(const struct scenario){.name = "conversation", RESPONSE, .conversation = true, .config = WITH(GROUP("once")),
                             ANSWERS(one_call), .effects = {{"k1", "once"}}},
    &(const struct scenario){.name = "twins", RESPONSE, .clients = 2, .slots = 1, .config = WITH(GROUP("once")),
                             ANSWERS(one_call), .effects = {{"k1", "once"}}},
    &(const struct scenario){.name = "rounds", RESPONSE, .config = WITH(GROUP("once")),
                             .turns = {one_call, again_call, answer}, .says = "All done",
                             .effects = {{"k1", "once"}, {"k2", "once"}}, .ending = RUN_COMPLETED},
    NULL,
};

/* ---- Responses that wait for a person, and those that are not stored ---- */

const struct scenario *const held_scenarios[] = {
    &(const struct scenario){.name = "hold", .asks = true, RESPONSE, .config = HOLD(GROUP("asking")), ANSWERS(asking_call),
                             .decision = DECISION_APPROVE, .effects = {{"k1", "asking"}}},
    &(const struct scenario){.name = "hold_no", .asks = true, RESPONSE, .config = HOLD(GROUP("asking")), ANSWERS(asking_call),
                             .decision = DECISION_REJECT, .effects = {{"k1", "asking"}}},
    &(const struct scenario){.name = "hold_both", .asks = true, RESPONSE, .config = HOLD(GROUP("asking")), ANSWERS(asking_both),
                             .decision = DECISION_APPROVE, .effects = {{"k1", "asking"}, {"k2", "asking"}}},
    &(const struct scenario){.name = "hold_beside", .asks = true, WHOLE, .config = HOLD(GROUP("asking") "," GROUP("once")),
                             ANSWERS(asking_two), .decision = DECISION_APPROVE,
                             .effects = {{"k1", "asking"}, {"k2", "once"}}},
    &(const struct scenario){.name = "hold_alone", .asks = true, RESPONSE, .config = HOLD(GROUP("asking")),
                             .turns = {asking_call, answer}, .effects = {{"k1", "asking"}}, .ending = RUN_COMPLETED},
    &(const struct scenario){.name = "ask", .asks = true, RESPONSE, .config = WITH(GROUP("asking")), .turns = {asking_call},
                             .effects = {{"k1", "asking"}}, .ending = RUN_COMPLETED},
    &(const struct scenario){.name = "hold_recalled", .asks = true, RESPONSE, .config = HOLD(GROUP("recalled")),
                             ANSWERS(recalled), .decision = DECISION_APPROVE, .effects = {{"k1", "recalled"}}},
    &(const struct scenario){.name = "hold_planned", .asks = true, RESPONSE,
                             .config = HOLD(GROUP("planned") "," GROUP("once")), ANSWERS(planned),
                             .decision = DECISION_APPROVE, .effects = {{"k1", "planned"}, {"k2", "once"}}},
    &(const struct scenario){.name = "hold_granted", .asks = true, RESPONSE,
                             .config = HOLD(GROUP("planned") "," GROUP("once")), ANSWERS(planned),
                             .grants = GRANT_BESIDE, .effects = {{"k1", "planned"}, {"k2", "once"}}},
    &(const struct scenario){.name = "hold_withheld", .asks = true, RESPONSE,
                             .config = HOLD(GROUP("withheld") "," GROUP("once")), ANSWERS(withheld),
                             .decision = DECISION_APPROVE, .effects = {{"k1", "withheld"}, {"k2", "once"}}},
    &(const struct scenario){.name = "hold_twins", .asks = true, RESPONSE, .clients = 2, .config = HOLD(GROUP("asking")),
                             ANSWERS(asking_call), .decision = DECISION_APPROVE, .effects = {{"k1", "asking"}}},
    &(const struct scenario){.name = "fleeting", FLEETING, NO_TOOLS, GREETS},
    &(const struct scenario){.name = "fleeting_tools", FLEETING, .config = WITH(GROUP("once") "," GROUP("repeat")),
                             ANSWERS(three_calls), .effects = {{"k1", "once"}, {"k2", "repeat"}, {"k3", "once"}}},
    &(const struct scenario){.name = "fleeting_ask", .asks = true, .face = FACE_RESPONSES, .flags = 0, ANSWERS(asking_call),
                             .config = HOLD(GROUP("asking")), .effects = {{"k1", "asking"}}},
    NULL,
};

/* ---- Responses in the background ---- */

const struct scenario *const background_scenarios[] = {
    &(const struct scenario){.name = "back_text", BACKGROUND, NO_TOOLS, GREETS},
    &(const struct scenario){.name = "back_thought", UNWATCHED, NO_TOOLS, .turns = {thought}, .says = "Hello there",
                             .ending = RUN_COMPLETED},
    &(const struct scenario){.name = "back_tool", BACKGROUND, .config = WITH(GROUP("once")), ANSWERS(one_call),
                             .effects = {{"k1", "once"}}},
    &(const struct scenario){.name = "back_repeat", BACKGROUND, .config = WITH(GROUP("repeat")), ANSWERS(repeat_call),
                             .effects = {{"k1", "repeat"}}},
    &(const struct scenario){.name = "back_tools", UNWATCHED, .config = WITH(GROUP("once") "," GROUP("repeat")),
                             ANSWERS(three_calls), .effects = {{"k1", "once"}, {"k2", "repeat"}, {"k3", "once"}}},
    &(const struct scenario){.name = "back_first_only", BACKGROUND, .config = ONE_CALL_A_TURN(GROUP("once")), ANSWERS(two_calls),
                             .effects = {{"k1", "once"}}},
    &(const struct scenario){.name = "back_hidden", BACKGROUND, .config = WITH(GROUP("once") "," GROUP("hidden")),
                             ANSWERS(hidden_call), .effects = {{"k1", "hidden"}, {"k2", "once"}}},
    &(const struct scenario){.name = "back_behind", BACKGROUND, .config = WITH(GROUP("once") "," GROUP("kept") "," GROUP("failing")),
                             ANSWERS(behind), .effects = {{"k1", "once"}, {"k2", "kept"}, {"k3", "failing"}}},
    &(const struct scenario){.name = "back_in_turns", UNWATCHED, .config = WITH(GROUP("repeat") "," GROUP("once")),
                             ANSWERS(in_turns), .effects = {{"k1", "once"}, {"k2", "repeat"}, {"k3", "once"}}},
    &(const struct scenario){.name = "back_failing", BACKGROUND, .config = WITH(GROUP("failing")), ANSWERS(bad_call),
                             .effects = {{"k1", "failing"}}},
    &(const struct scenario){.name = "back_final", BACKGROUND, .config = WITH(GROUP("final")), .turns = {final_call, answer},
                             .effects = {{"k1", "final"}}, .ending = RUN_COMPLETED},
    &(const struct scenario){.name = "back_resolved", BACKGROUND, .config = WITH(GROUP("once")), ANSWERS(resolved), .reads = true,
                             .effects = {{"k1", "once"}}},
    &(const struct scenario){.name = "back_talk", BACKGROUND, .conversation = true, .config = WITH(GROUP("once")),
                             ANSWERS(one_call), .effects = {{"k1", "once"}}},
    &(const struct scenario){.name = "back_limited", UNWATCHED, .config = LIMITED(GROUP("once")), ANSWERS(two_calls),
                             .effects = {{"k1", "once"}}},
    &(const struct scenario){.name = "back_twins", BACKGROUND, .clients = 2, .slots = 1, .config = WITH(GROUP("once")),
                             ANSWERS(one_call), .effects = {{"k1", "once"}}},
    &(const struct scenario){.name = "back_rounds", BACKGROUND, .config = WITH(GROUP("once")),
                             .turns = {one_call, again_call, answer}, .says = "All done",
                             .effects = {{"k1", "once"}, {"k2", "once"}}, .ending = RUN_COMPLETED},
    &(const struct scenario){.name = "back_ask", .asks = true, BACKGROUND, .config = HOLD(GROUP("asking") "," GROUP("once")),
                             .turns = {asking_two, answer}, .effects = {{"k1", "asking"}, {"k2", "once"}},
                             .ending = RUN_COMPLETED},
    NULL,
};

/* ---- Runs of threads ---- */

const struct scenario *const run_scenarios[] = {
    &(const struct scenario){.name = "run_text", RUN, NO_TOOLS, GREETS},
    &(const struct scenario){.name = "run_polled", POLLED, .config = WITH(GROUP("once")), ANSWERS(one_call),
                             .effects = {{"k1", "once"}}},
    &(const struct scenario){.name = "run_tools", RUN, .config = WITH(GROUP("once") "," GROUP("repeat")),
                             ANSWERS(three_calls), .effects = {{"k1", "once"}, {"k2", "repeat"}, {"k3", "once"}}},
    &(const struct scenario){.name = "run_final", RUN, .config = WITH(GROUP("final")), .turns = {final_calls, answer},
                             .effects = {{"k1", "final"}, {"k2", "final"}}, .ending = RUN_COMPLETED},
    &(const struct scenario){.name = "run_behind", RUN, .config = WITH(GROUP("once") "," GROUP("kept") "," GROUP("failing")),
                             ANSWERS(behind), .effects = {{"k1", "once"}, {"k2", "kept"}, {"k3", "failing"}}},
    &(const struct scenario){.name = "run_final_behind", RUN, .config = WITH(GROUP("once") "," GROUP("final")),
                             ANSWERS(final_behind), .effects = {{"k1", "once"}, {"k2", "final"}}},
    &(const struct scenario){.name = "run_hidden", RUN, .config = WITH(GROUP("once") "," GROUP("hidden")),
                             ANSWERS(hidden_call), .effects = {{"k1", "hidden"}, {"k2", "once"}}},
    &(const struct scenario){.name = "run_resolved", RUN, .config = WITH(GROUP("once")), ANSWERS(resolved), .reads = true,
                             .effects = {{"k1", "once"}}},
    &(const struct scenario){.name = "run_twins", RUN, .clients = 2, .slots = 1, .config = WITH(GROUP("once")),
                             ANSWERS(one_call), .effects = {{"k1", "once"}}},
    &(const struct scenario){.name = "run_rounds", RUN, .config = WITH(GROUP("once")),
                             .turns = {one_call, again_call, answer}, .says = "All done",
                             .effects = {{"k1", "once"}, {"k2", "once"}}, .ending = RUN_COMPLETED},
    NULL,
};

/* ---- Runs of threads that wait for their client ---- */

const struct scenario *const waiting_scenarios[] = {
    &(const struct scenario){.name = "run_client", RUN, .config = WITH(THREADS_FUNCTION), ANSWERS(client_call),
                             .submits = true},
    &(const struct scenario){.name = "run_client_polled", POLLED, .config = WITH(THREADS_FUNCTION),
                             .turns = {client_call, client_more, answer}, .submits = true, .says = "All done",
                             .ending = RUN_COMPLETED},
    &(const struct scenario){.name = "run_mixed", RUN, .config = WITH(THREADS_FUNCTION "," GROUP("once")),
                             ANSWERS(mixed_calls), .submits = true, .effects = {{"k1", "once"}}},
    &(const struct scenario){.name = "run_forgotten", RUN, .config = WITH(THREADS_FUNCTION), .turns = {client_call, answer},
                             .ending = RUN_EXPIRED},
    &(const struct scenario){.name = "run_ask", .asks = true, RUN, .config = WITH(GROUP("asking")), ANSWERS(asking_call),
                             .decision = DECISION_APPROVE, .effects = {{"k1", "asking"}}},
    &(const struct scenario){.name = "run_ask_no", .asks = true, RUN, .config = WITH(GROUP("asking")), ANSWERS(asking_call),
                             .decision = DECISION_REJECT, .effects = {{"k1", "asking"}}},
    &(const struct scenario){.name = "run_ask_list", .asks = true, POLLED, .config = WITH(GROUP("asking") "," GROUP("once")),
                             ANSWERS(asking_two), .decision = DECISION_APPROVE, .decides = true,
                             .effects = {{"k1", "asking"}, {"k2", "once"}}},
    &(const struct scenario){.name = "run_ask_both", .asks = true, RUN, .config = WITH(GROUP("asking")), ANSWERS(asking_both),
                             .decision = DECISION_APPROVE, .decides = true,
                             .effects = {{"k1", "asking"}, {"k2", "asking"}}},
    &(const struct scenario){.name = "run_recalled", .asks = true, RUN, .config = WITH(GROUP("recalled")), ANSWERS(recalled),
                             .decision = DECISION_APPROVE, .effects = {{"k1", "recalled"}}},
    &(const struct scenario){.name = "run_planned", .asks = true, RUN, .config = WITH(GROUP("planned") "," GROUP("once")),
                             ANSWERS(planned), .decision = DECISION_APPROVE,
                             .effects = {{"k1", "planned"}, {"k2", "once"}}},
    &(const struct scenario){.name = "run_granted", .asks = true, RUN, .config = WITH(GROUP("planned") "," GROUP("once")),
                             ANSWERS(planned), .grants = GRANT_ASKED,
                             .effects = {{"k1", "planned"}, {"k2", "once"}}},
    &(const struct scenario){.name = "run_granted_beside", .asks = true, POLLED, .config = WITH(GROUP("planned") "," GROUP("once")),
                             ANSWERS(planned), .grants = GRANT_BESIDE,
                             .effects = {{"k1", "planned"}, {"k2", "once"}}},
    &(const struct scenario){.name = "run_withheld", .asks = true, RUN, .config = WITH(GROUP("withheld") "," GROUP("once")),
                             ANSWERS(withheld), .decision = DECISION_APPROVE,
                             .effects = {{"k1", "withheld"}, {"k2", "once"}}},
    &(const struct scenario){.name = "run_withheld_behind", .asks = true, RUN,
                             .config = WITH(GROUP("withheld") "," GROUP("once")), ANSWERS(held_behind),
                             .decision = DECISION_APPROVE, .effects = {{"k1", "once"}, {"k2", "withheld"}}},
    &(const struct scenario){.name = "run_withheld_no", .asks = true, RUN, .config = WITH(GROUP("withheld") "," GROUP("once")),
                             ANSWERS(withheld), .decision = DECISION_REJECT, .decides = true,
                             .effects = {{"k1", "withheld"}, {"k2", "once"}}},
    &(const struct scenario){.name = "run_client_twins", RUN, .clients = 2, .slots = 1, .config = WITH(THREADS_FUNCTION),
                             ANSWERS(client_call), .submits = true},
    &(const struct scenario){.name = "run_ask_mixed", .asks = true, RUN, .config = WITH(THREADS_FUNCTION "," GROUP("asking")),
                             ANSWERS(mixed_ask), .decision = DECISION_APPROVE, .submits = true,
                             .effects = {{"k1", "asking"}}},
    NULL,
};

/* clang-format on */

const struct piece *scenario_turn(const struct scenario *scenario, size_t number)
{
    while (number > 0 && (number >= SCENARIO_TURNS || !scenario->turns[number]))
        number--;
    return scenario->turns[number];
}

static const struct scenario *find_among(const struct scenario *const *list, const char *name)
{
    while (*list && strcmp((*list)->name, name) != 0)
        list++;
    return *list;
}

const struct scenario *scenario_find(const char *name)
{
    static const struct scenario *const *const all[] = {
        foreground_scenarios, held_scenarios,    background_scenarios,
        run_scenarios,        waiting_scenarios,
    };
    const struct scenario *found = NULL;

    for (size_t i = 0; name && !found && i < COUNT_OF(all); i++)
        found = find_among(all[i], name);
    return found;
}
