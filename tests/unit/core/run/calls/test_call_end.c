#include "core/run/calls/call_end.h"

#include <stdio.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/run/approval/run_grants.h"
#include "tests/support/test.h"

static void clear(struct call *call)
{
    call_end_clear(call);
    free(call->why);
    free(call->reason);
    json_decref(call->fault);
    free(call->kept);
    recall_free(call->recall);
}

/* The call as another residency finds it. */
static struct call restored(const struct call *call)
{
    struct call again = {.status = call->status};
    json_auto_t *end = call_end_json(call);
    AUTO_FREE char *text = json_text(end);
    json_auto_t *stored = json_parse_own(text);

    call_end_restore(&again, stored);
    return again;
}

static struct tool_output *outputs_of(struct call *call, unsigned count)
{
    call->waiting = mem_new_array(struct tool_output, count);
    call->waiting_count = count;
    return call->waiting;
}

TEST(call_end_keeps_how_a_call_has_ended)
{
    struct call call = {.status = CALL_FAILED,
                        .outcome = TOOL_REJECTED,
                        .phase = CHAIN_PARSE_ARGUMENTS,
                        .truncated = true,
                        .list_changed = true,
                        .search = 3,
                        .started_at = 11,
                        .ended_at = 12};
    struct call again;

    call.why = mem_strdup("why");
    call.reason = mem_strdup("no");
    call.fault = json_build("{s:i}", "code", 7);
    call.kept = mem_new(struct variable_names);
    (void)snprintf(call.kept->result, sizeof(call.kept->result), "%s", "R");
    (void)snprintf(call.kept->args, sizeof(call.kept->args), "%s", "A");
    call.recall = mem_new(struct recall);
    (void)snprintf(call.recall->grant_id, sizeof(call.recall->grant_id), "%s", "grant_1");
    again = restored(&call);
    assert_int_equal(again.outcome, TOOL_REJECTED);
    assert_int_equal(again.phase, CHAIN_PARSE_ARGUMENTS);
    assert_true(again.truncated && again.list_changed);
    assert_int_equal(again.search, 3);
    assert_int_equal(again.started_at, 11);
    assert_int_equal(again.ended_at, 12);
    assert_string_equal(again.why, "why");
    assert_string_equal(again.reason, "no");
    assert_true(json_equal(again.fault, call.fault));
    assert_string_equal(again.kept->result, "R");
    assert_string_equal(again.kept->args, "A");
    assert_string_equal(again.recall->grant_id, "grant_1");
    assert_int_equal(again.waiting_count, 0);
    clear(&again);
    clear(&call);
}

TEST(call_end_keeps_what_waits_for_the_floor)
{
    struct call call = {.status = CALL_SUCCEEDED};
    struct tool_output *outputs = outputs_of(&call, 5);
    struct tool_result *result = &outputs[4].result;
    struct call again;

    outputs[0].kind = TOOL_OUTPUT_START;
    outputs[1] = (struct tool_output){.kind = TOOL_OUTPUT_STAGE,
                                      .name = mem_strdup("searching"),
                                      .fields = json_build("{s:i}", "n", 1)};
    outputs[2] = (struct tool_output){.kind = TOOL_OUTPUT_DELTA,
                                      .name = mem_strdup("code"),
                                      .text = mem_strdup("x = 1"),
                                      .length = 5};
    outputs[3] = (struct tool_output){.kind = TOOL_OUTPUT_METADATA,
                                      .text = mem_strdup("Title"),
                                      .length = 5,
                                      .fields = json_build("{s:b}", "done", 1)};
    outputs[4].kind = TOOL_OUTPUT_END;
    tool_result_add_text(result, "the text is in the row");
    tool_result_add_part(result, (struct tool_part){.kind = TOOL_PART_IMAGE,
                                                    .mime_type = mem_strdup("image/png"),
                                                    .data = mem_strdup("AAAA"),
                                                    .length = 4});
    tool_result_describe(result, "Drew", json_build("{s:i}", "w", 2));
    tool_result_set_sources(result, json_build("[s]", "a"));

    again = restored(&call);
    assert_int_equal(again.waiting_count, 5);
    for (unsigned i = 0; i < 5; i++)
        assert_int_equal(again.waiting[i].kind, outputs[i].kind);
    assert_string_equal(again.waiting[1].name, "searching");
    assert_true(json_equal(again.waiting[1].fields, outputs[1].fields));
    assert_string_equal(again.waiting[2].name, "code");
    assert_string_equal(again.waiting[2].text, "x = 1");
    assert_int_equal(again.waiting[2].length, 5);
    assert_string_equal(again.waiting[3].text, "Title");
    assert_true(json_equal(again.waiting[3].fields, outputs[3].fields));
    assert_int_equal(again.waiting[4].result.count, 1);
    assert_int_equal(again.waiting[4].result.parts[0].kind, TOOL_PART_IMAGE);
    assert_string_equal(again.waiting[4].result.parts[0].data, "AAAA");
    assert_string_equal(again.waiting[4].result.title, "Drew");
    assert_true(json_equal(again.waiting[4].result.metadata, result->metadata));
    assert_true(json_equal(again.waiting[4].result.sources, result->sources));
    clear(&again);
    clear(&call);
}

TEST(call_end_keeps_the_words_of_a_final_call_only)
{
    for (int final = 0; final <= 1; final++) {
        struct call call = {.status = CALL_SUCCEEDED, .final = final};
        struct tool_output *outputs = outputs_of(&call, 2);
        struct call again;

        outputs[0] = (struct tool_output){
            .kind = TOOL_OUTPUT_TEXT, .text = mem_strdup("word"), .length = 4};
        outputs[1].kind = TOOL_OUTPUT_END;
        again = restored(&call);
        assert_int_equal(again.waiting_count, final ? 2 : 1);
        clear(&again);
        clear(&call);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(call_end_keeps_how_a_call_has_ended),
        cmocka_unit_test(call_end_keeps_what_waits_for_the_floor),
        cmocka_unit_test(call_end_keeps_the_words_of_a_final_call_only),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
