#include <stdlib.h>

#include "core/tool/registry.h"
#include "core/tool/tool_container.h"
#include "handlers/support/container_files.h"
#include "tests/support/quoted.h"
#include "tests/unit/handlers/tool_run.h"

/* A container in this process: it gives what a test wants, and keeps what it was asked for. */
struct fake {
    struct tool_container container;
    const char *outputs, *files; /* JSON with ' for " */
    const char *unkept, *ended;
    enum err_code open_rc, run_rc;
    char *code;
    int opened, closed;
};

static enum err_code open_fake(void *arg, const struct tool_call *call,
                               struct tool_container **ret_container, struct err *err)
{
    struct fake *fake = arg;

    (void)call;
    if (fake->open_rc)
        return err_set(err, fake->open_rc, "The server is out of sandbox memory; try again.");
    fake->opened++;
    (void)snprintf(fake->container.id, sizeof(fake->container.id), "cntr_1");
    *ret_container = &fake->container;
    return ERR_OK;
}

static enum err_code run_fake(void *arg, const struct tool_call *call,
                              struct tool_container *container, const char *code,
                              struct tool_run *ret_ran, struct err *err)
{
    struct fake *fake = arg;

    (void)call;
    (void)container;
    fake->code = mem_strdup(code);
    if (fake->run_rc)
        return err_set(err, fake->run_rc, "The container was deleted.");
    *ret_ran = (struct tool_run){.outputs = quoted_json(fake->outputs),
                                 .files = quoted_json(fake->files ? fake->files : "[]"),
                                 .unkept = mem_strdup(fake->unkept),
                                 .ended = mem_strdup(fake->ended)};
    return ERR_OK;
}

static void close_fake(void *arg, struct tool_container *container, bool ran)
{
    (void)ran;
    (void)container;
    ((struct fake *)arg)->closed++;
}

static void fake_clear(struct fake *fake)
{
    assert_int_equal(fake->opened, fake->closed);
    free(fake->code);
}

#define FAKE CLEANUP(fake_clear) struct fake

static struct outcome run_code(struct fake *fake, const char *code)
{
    json_auto_t *args = json_build("{s:s}", "code", code);
    AUTO_FREE char *text = json_text(args);
    const struct tool_containers containers = {
        .at_once = 1, .open = open_fake, .python = run_fake, .close = close_fake, .arg = fake};

    return tool_run_spec(
        &code_interpreter_handler, text,
        &(struct tool_call_spec){.call_id = "call_1", .containers = &containers});
}

/* The fields of the item when the call has ended. */
static json_t *filled(const struct outcome *outcome)
{
    json_t *fields = json_parse_own(code_interpreter_item.fields);

    code_interpreter_item.fill(fields, NULL, &outcome->end.result);
    return fields;
}

static void expect_json(json_t *got, const char *wanted)
{
    json_auto_t *value = got;
    json_auto_t *expected = quoted_json(wanted);
    AUTO_FREE char *text = json_text(value);

    if (!json_equal(value, expected))
        fail_msg("%s instead of %s", text, wanted);
}

#define LOGS(text) "{'type':'logs','logs':'" text "'}"
#define PICTURE \
    "{'type':'image','file_id':'cfile_9','path':'/mnt/data/.figures/1.png','data':'iVBO'}"
#define SHOWN                                                      \
    "{'type':'image','url':'data:image/png;base64,iVBO','runnel':" \
    "{'file_id':'cfile_9'}}"

TEST(the_code_is_shown_with_its_container_before_it_runs)
{
    FAKE fake = {.outputs = "[" LOGS("2") "]"};
    AUTO_OUTCOME outcome = run_code(&fake, "1 + 1");

    assert_int_equal(outcome.end.rc, ERR_OK);
    assert_string_equal(fake.code, "1 + 1");
    assert_int_equal(outcome.count, 3);
    assert_string_equal(outcome.said[0].name, "in_progress");
    expect_json(json_incref(outcome.said[0].fields), "{'container_id':'cntr_1'}");
    assert_int_equal(outcome.said[1].kind, TOOL_OUTPUT_DELTA);
    assert_string_equal(outcome.said[1].name, "code");
    assert_string_equal(outcome.said[1].text, "1 + 1");
    assert_string_equal(outcome.said[2].name, "interpreting");
    assert_string_equal(outcome.text, "2");
}

TEST(long_code_comes_in_whole_characters)
{
    AUTO_BUF code = {0};
    AUTO_BUF shown = {0};
    FAKE fake = {.outputs = "[]"};

    for (int i = 0; i < 20000; i++)
        buf_add_text(&code, "é");

    AUTO_OUTCOME outcome = run_code(&fake, code.data);

    assert_int_equal(outcome.count, 5);
    for (size_t i = 1; i < 4; i++)
        buf_add(&shown, outcome.said[i].text, outcome.said[i].length);
    assert_string_equal(shown.data, code.data);
    assert_string_equal(outcome.text, "(no output)");
}

TEST(text_and_pictures_stay_in_their_order)
{
    FAKE fake = {.outputs = "[" LOGS("before") "," PICTURE "," LOGS("after") "]",
                 .ended = "timed out after 120 s"};
    AUTO_OUTCOME outcome = run_code(&fake, "plot()");

    assert_string_equal(outcome.text, "before\n[figure 1 cfile_9: the user sees it]\nafter\n"
                                      "timed out after 120 s");
    expect_json(filled(&outcome), "{'code':'','container_id':'','outputs':[" LOGS(
                                      "before") "," SHOWN "," LOGS("after") "]}");
}

TEST(what_code_does_to_files_is_part_of_the_result)
{
    FAKE fake = {.outputs = "[]",
                 .files = "[{'file_id':'cfile_1','path':'/mnt/data/a.csv','bytes':3,"
                          "'change':'created'}]"};
    AUTO_OUTCOME outcome = run_code(&fake, "x");

    expect_json(
        json_incref(outcome.end.result.files),
        "[{'file_id':'cfile_1','path':'/mnt/data/a.csv','bytes':3,'change':'created'}]");
}

TEST(what_the_user_cannot_get_stands_between_outputs_and_end)
{
    FAKE fake = {.outputs = "[" LOGS("2") "]", .unkept = "No a.bin.", .ended = "timed out"};
    AUTO_OUTCOME outcome = run_code(&fake, "x");

    assert_string_equal(outcome.text, "2\nNo a.bin.\ntimed out");
}

TEST(a_picture_that_an_item_cannot_carry_is_named)
{
    FAKE fake = {.outputs = "[{'type':'image','file_id':'cfile_1','data':'iVBO'},"
                            "{'type':'image','file_id':'cfile_2','data':null}]"};
    AUTO_OUTCOME outcome = run_code(&fake, "x");
    json_auto_t *fields = filled(&outcome);
    const json_t *list = json_object_get(fields, "outputs");

    assert_true(strncmp(json_get_string(json_array_get(list, 0), "url", ""), "data:", 5) == 0);
    assert_string_equal(json_get_string(json_array_get(list, 1), "url", ""),
                        "/v1/containers/cntr_1/files/cfile_2/content");
}

TEST(what_cannot_run_fails_and_still_shows_its_code)
{
    FAKE full = {.open_rc = ERR_LIMIT};
    FAKE gone = {.run_rc = ERR_CONFLICT};
    AUTO_OUTCOME unopened = run_code(&full, "1");
    AUTO_OUTCOME deleted = run_code(&gone, "1");

    assert_int_equal(unopened.end.rc, ERR_LIMIT);
    assert_string_equal(unopened.end.error.text,
                        "The server is out of sandbox memory; try again.");
    assert_int_equal(unopened.count, 3);
    expect_json(json_incref(unopened.said[0].fields), "{'container_id':''}");
    assert_int_equal(deleted.end.rc, ERR_CONFLICT);
    assert_string_equal(deleted.end.error.text, "The container was deleted.");
}

TEST(without_containers_nothing_runs)
{
    expect_tool_error(&code_interpreter_handler, "{\"code\":\"1\"}", ERR_INVALID,
                      "This server executes no code.");
}

TEST(what_was_lost_is_said_first)
{
    FAKE fake = {.outputs = "[" LOGS("1") "]", .container = {.lost = "Files are gone."}};
    AUTO_OUTCOME outcome = run_code(&fake, "x");

    assert_string_equal(outcome.text, "Files are gone.\n1");
}

/* ---- The item ---- */

static void expect_shown(unsigned include, const char *outputs)
{
    json_auto_t *object =
        quoted_json("{'outputs':[" LOGS("1") "],'runnel':{'arguments':'{}','output':'1'}}");

    code_interpreter_item.show(object, include);
    expect_json(json_incref(json_object_get(object, "outputs")), outputs);
    expect_json(json_incref(json_object_get(object, "runnel")), "{'arguments':'{}'}");
}

TEST(clients_see_the_outputs_that_they_include)
{
    expect_shown(0, "null");
    expect_shown(RUN_INCLUDE_CODE_OUTPUTS, "[" LOGS("1") "]");
}

static void expect_retold(const char *outputs, const char *text)
{
    AUTO_FREE char *json = mem_printf("{'code':'1 + 1','outputs':%s}", outputs);
    json_auto_t *body = quoted_json(json);
    json_auto_t *args = NULL;
    json_t *sources = NULL;
    AUTO_FREE char *got = code_interpreter_item.retell(body, 1, &args, &sources);

    assert_string_equal(got, text);
    assert_null(sources);
    expect_json(TAKE(args), "{'code':'1 + 1'}");
}

TEST(what_a_client_sends_back_is_read_again)
{
    expect_retold("[" LOGS("2") "," SHOWN "]", "2\n[figure 1 cfile_9: the user sees it]\n");
    expect_retold("[{'type':'image','url':'https://x'}]", "[figure 1: the user sees it]\n");
    expect_retold("[]", "(no output)");
    expect_retold("null", "(The output of this call is not in the conversation.)");
}

TEST(a_run_step_has_input_and_outputs)
{
    json_auto_t *body =
        quoted_json("{'code':'x','outputs':[" LOGS("1") ",{'type':'image','image':{'file_id':"
                                                        "'file-1'}}]}");

    expect_json(code_interpreter_item.step(body, 0),
                "{'input':'x','outputs':[" LOGS("1") ",{'type':'image','image':{'file_id':"
                                                     "'file-1'}}]}");
    expect_json(code_interpreter_item.step_delta("code", "ab", 2), "{'input':'ab'}");
    assert_null(code_interpreter_item.step_delta("other", "ab", 2));
    expect_json(code_interpreter_item.step_end(body),
                "{'outputs':[{'index':0,'type':'logs','logs':'1'},"
                "{'index':1,'type':'image','image':{'file_id':'file-1'}}]}");
}

TEST(files_of_the_container_are_listed)
{
    json_auto_t *files = quoted_json("[{'name': 'a.csv', 'bytes': 1023},"
                                     " {'name': 'b\\n\\'.csv', 'bytes': 12345},"
                                     " {'name': 'c', 'bytes': 20971520}]");
    json_auto_t *many = json_array();
    AUTO_FREE char *text = container_files_text(files);
    AUTO_FREE char *none = container_files_text(NULL);
    AUTO_FREE char *long_text = NULL;

    assert_string_equal(text,
                        "Files in /mnt/data: a.csv (1023 bytes), \"b\\n\\\".csv\" (12 KB),"
                        " c (20 MB).");
    assert_null(none);
    for (int i = 0; i < 53; i++)
        json_array_append(many, json_array_get(files, 0));
    long_text = container_files_text(many);
    assert_non_null(strstr(long_text, "a.csv (1023 bytes) and 3 more."));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_code_is_shown_with_its_container_before_it_runs),
        cmocka_unit_test(long_code_comes_in_whole_characters),
        cmocka_unit_test(text_and_pictures_stay_in_their_order),
        cmocka_unit_test(what_code_does_to_files_is_part_of_the_result),
        cmocka_unit_test(what_the_user_cannot_get_stands_between_outputs_and_end),
        cmocka_unit_test(a_picture_that_an_item_cannot_carry_is_named),
        cmocka_unit_test(what_cannot_run_fails_and_still_shows_its_code),
        cmocka_unit_test(without_containers_nothing_runs),
        cmocka_unit_test(what_was_lost_is_said_first),
        cmocka_unit_test(clients_see_the_outputs_that_they_include),
        cmocka_unit_test(what_a_client_sends_back_is_read_again),
        cmocka_unit_test(a_run_step_has_input_and_outputs),
        cmocka_unit_test(files_of_the_container_are_listed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
