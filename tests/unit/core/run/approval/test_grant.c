#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/run/approval/grant.h"
#include "tests/support/test.h"

#define MEMORY(more)                                                                     \
    "{\"tool\":\"a/b\",\"key\":\"k\",\"scopes\":{\"thread\":\"thread_1\",\"assistant\":" \
    "\"asst_1\"}" more "}"
#define ONCE  MEMORY(",\"default\":\"thread\"")
#define CHAIN "{\"tool\":\"a/b\",\"key\":\"k\",\"scopes\":{\"thread\":\"resp_1\"}}"

/* "scope scope_id match match_key type" of each grant, or the parameter that is refused. */
static void expect(const char *said, const char *memory, const char *run, const char *wanted)
{
    json_auto_t *object = json_parse_own(said);
    struct grant_answer answer = {.approval_id = "mcpr_1",
                                  .memory = memory,
                                  .definition = "d",
                                  .approve = true,
                                  .run = run};
    struct grant_row *grants = NULL;
    size_t count = 0;
    AUTO_BUF got = {0};
    struct err err;

    if (grants_make(object, "x", &answer, &grants, &count, &err)) {
        buf_addf(&got, "! %s", err.place);
        assert_int_equal(count, 0);
    }
    for (size_t i = 0; i < count; i++)
        buf_addf(&got, "%s%s %s %s %s %s", i ? ", " : "", grants[i].scope, grants[i].scope_id,
                 grants[i].match, grants[i].match_key, grants[i].type);
    assert_string_equal(got.length ? got.data : "", wanted);
    grant_rows_free(grants, count);
}

/* F35. */
TEST(an_answer_is_remembered_in_the_scope_that_it_names)
{
    expect(NULL, ONCE, "run_1", "thread thread_1 exact k ");
    expect("{\"remember\":{}}", MEMORY(""), "run_1", "thread thread_1 exact k ");
    expect("{\"remember\":{\"scope\":\"run\"}}", ONCE, "run_1", "run run_1 exact k ");
    expect("{\"remember\":{\"scope\":\"assistant\",\"match\":\"tool\"}}", ONCE, NULL,
           "assistant asst_1 tool  ");
    expect("{\"remember\":{}}", CHAIN, "resp_2", "thread resp_2 exact k ");
    expect("{\"remember\":{}}", CHAIN, NULL, "thread resp_1 exact k ");
}

/* F37. */
TEST(the_older_persist_decision_is_understood)
{
    expect("{\"persistDecision\":true}", ONCE, "run_1", "thread thread_1 tool  ");
    expect("{\"persistDecision\":false}", ONCE, "run_1", "");
    expect("{\"persistDecision\":true,\"remember\":{}}", ONCE, "run_1", "! x.persistDecision");
}

/* F35. */
TEST(nothing_is_remembered_unless_the_answer_says_so)
{
    expect(NULL, MEMORY(""), "run_1", "");
    expect(NULL, NULL, "run_1", "");
    expect("{}", NULL, "run_1", "");
}

/* F35. */
TEST(a_remember_that_cannot_be_honoured_is_refused)
{
    expect("{\"remember\":{}}", NULL, "run_1", "! x.remember");
    expect("{\"persistDecision\":true}", NULL, "run_1", "! x.persistDecision");
    expect("{\"remember\":{\"scope\":\"run\"}}", ONCE, NULL, "! x.remember");
    expect("{\"remember\":{\"scope\":\"user\"}}", ONCE, "run_1", "! x.remember");
    expect("{\"remember\":{\"match\":\"pattern\"}}", ONCE, "run_1", "! x.remember");
    expect("{\"remember\":{\"match\":\"all\"}}", ONCE, "run_1", "! x.remember.match");
    expect("{\"remember\":{\"ttl_s\":1.5}}", ONCE, "run_1", "! x.remember.ttl_s");
    expect("{\"remember\":{\"ttl_s\":315360001}}", ONCE, "run_1", "! x.remember.ttl_s");
    expect("{\"remember\":{\"until\":1}}", ONCE, "run_1", "! x.remember.until");
    expect("{\"remember\":[]}", ONCE, "run_1", "! x.remember");
}

/* F47. */
TEST(patterns_are_those_of_the_approval_request)
{
    expect("{\"remember\":{\"match\":\"pattern\"}}",
           MEMORY(",\"type\":\"bash\",\"patterns\":[\"git *\",\"ls\"]"), "run_1",
           "thread thread_1 pattern git * bash, thread thread_1 pattern ls bash");
}

/* F84: "always" of seed 003. */
TEST(for_a_permission_only_patterns_are_remembered)
{
    static const char asked[] = "{\"tool\":\"a/b\",\"scopes\":{\"thread\":\"thread_1\"},"
                                "\"type\":\"bash\",\"patterns\":[\"ls\"]}";

    expect("{\"remember\":{\"match\":\"pattern\"}}", asked, "run_1",
           "thread thread_1 pattern ls bash");
    expect("{\"remember\":{}}", asked, "run_1", "thread thread_1 pattern ls bash");
    expect(NULL, asked, "run_1", "");
    expect("{\"remember\":{\"match\":\"exact\"}}", asked, "run_1", "! x.remember");
    expect("{\"remember\":{\"match\":\"tool\"}}", asked, "run_1", "! x.remember");
    expect("{\"persistDecision\":true}", asked, "run_1", "! x.persistDecision");
}

/* Grants of the user "ada" with these patterns; one with a leading '!' is a refusal. */
static bool covered(const char *const *patterns, const char *memory)
{
    struct grant_row grants[4];
    size_t count = 0;

    for (; patterns[count]; count++) {
        bool approve = patterns[count][0] != '!';

        grants[count] =
            (struct grant_row){.scope = (char *)(uintptr_t) "user",
                               .scope_id = (char *)(uintptr_t) "ada",
                               .tool = (char *)(uintptr_t) "a/b",
                               .match = (char *)(uintptr_t) "pattern",
                               .match_key = (char *)(uintptr_t)(patterns[count] + !approve),
                               .type = (char *)(uintptr_t) "bash",
                               .definition = (char *)(uintptr_t) "d",
                               .approve = approve};
    }
    return grants_cover(grants, count, memory, "d");
}

#define ASKED(user, type, patterns)                                               \
    "{\"tool\":\"a/b\",\"scopes\":{\"user\":\"" user "\"},\"type\":\"" type "\"," \
    "\"patterns\":" patterns "}"

/* F84. */
TEST(a_grant_covers_exactly_what_it_names)
{
    static const char *const two[] = {"git *", "ls", NULL};
    static const char *const no[] = {"*", "!git push*", NULL};

    assert_true(covered(two, ASKED("ada", "bash", "[\"git pull\",\"ls\"]")));
    assert_false(covered(two, ASKED("ada", "bash", "[\"git pull\",\"lsx\"]")));
    assert_false(covered(two, ASKED("bob", "bash", "[\"ls\"]")));
    assert_false(covered(two, ASKED("ada", "files", "[\"ls\"]")));
    assert_true(covered(no, ASKED("ada", "bash", "[\"git pull\"]")));
    assert_false(covered(no, ASKED("ada", "bash", "[\"git push -f\"]")));
    assert_false(covered(no, ASKED("ada", "bash", "[\"\"]")));
    assert_false(covered(no, ASKED("ada", "bash", "[]")));
    assert_false(covered(no, NULL));
}

/* ---- The vectors of the design ---- */

/* A tool asks for a file outside by the pattern of its directory
 * (tests/support/handlers/test_handlers.c). Only the vector about one file instead of
 * another names both a directory and files in it. */
static void add_asked(json_t *list, const json_t *keys, size_t i)
{
    const char *key = json_string_value(json_array_get(keys, i));
    const char *directory = json_string_value(json_array_get(keys, 0));
    AUTO_FREE char *inside = mem_printf("%s/", directory);
    AUTO_FREE char *all = mem_printf("%s/*", directory);

    json_array_append_new(
        list, json_string(i && strncmp(key, inside, strlen(inside)) == 0 ? all : key));
}

static json_t *asked_for(const json_t *keys)
{
    json_t *list = json_array();

    for (size_t i = 0; i < json_array_size(keys); i++)
        add_asked(list, keys, i);
    return list;
}

static bool is_covered(const json_t *vector)
{
    json_auto_t *allowed = asked_for(json_object_get(vector, "approved"));
    json_auto_t *memory =
        json_build("{s:s, s:s, s:{s:s}, s:o}", "tool", "a/b", "type", "bash", "scopes", "user",
                   "ada", "patterns", asked_for(json_object_get(vector, "keys")));
    AUTO_FREE char *text = json_text(memory);
    const char *patterns[4] = {NULL};

    for (size_t i = 0; i < json_array_size(allowed); i++)
        patterns[i] = json_string_value(json_array_get(allowed, i));
    return covered(patterns, text);
}

/* F84. */
TEST(the_vectors_of_the_design_hold)
{
    json_auto_t *all = json_load_file(VECTORS "/toolsystem_vectors.json", 0, NULL);
    const json_t *vectors = json_object_get(all, "permission_cover");
    size_t i;
    json_t *vector;

    assert_int_equal(json_array_size(vectors), 7);
    json_array_foreach (vectors, i, vector) {
        bool wanted = json_get_bool(vector, "required", json_get_bool(vector, "seed", false));

        if (is_covered(vector) != wanted)
            fail_msg("vector %zu: covered is %d", i, !wanted);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_is_remembered_in_the_scope_that_it_names),
        cmocka_unit_test(the_older_persist_decision_is_understood),
        cmocka_unit_test(nothing_is_remembered_unless_the_answer_says_so),
        cmocka_unit_test(a_remember_that_cannot_be_honoured_is_refused),
        cmocka_unit_test(patterns_are_those_of_the_approval_request),
        cmocka_unit_test(a_grant_covers_exactly_what_it_names),
        cmocka_unit_test(the_vectors_of_the_design_hold),
        cmocka_unit_test(for_a_permission_only_patterns_are_remembered),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
