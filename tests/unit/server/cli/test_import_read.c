#include <string.h>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "server/cli/import_read.h"
#include "server/encode/encode.h"
#include "tests/support/test.h"

static json_t *parse(const char *text)
{
    json_t *value = NULL;

    assert_int_equal(json_parse(text, strlen(text), &value, NULL), ERR_OK);
    return value;
}

/* A message: the given members, then those that every message must have. */
static void clear_notes(struct import_notes *notes)
{
    buf_clear(&notes->text);
}

static enum err_code read_message(const char *members, struct item_row *ret_row,
                                  struct import_notes *notes, struct err *err)
{
    AUTO_FREE char *text = mem_printf(
        "{\"id\":\"msg_1\",\"thread_id\":\"thread_1\",\"created_at\":5,%s}", members);
    json_auto_t *object = parse(text);

    return import_read_message(object, ret_row, notes, err);
}

/* Imports a message and returns the object that the API shows. */
static json_t *shown(const char *members, struct import_notes *notes)
{
    struct item_row row;
    struct err err = {0};
    json_t *object;

    if (read_message(members, &row, notes, &err))
        fail_msg("%s: %s", members, err.text);
    object = encode_message(&row);
    item_row_clear(&row);
    return object;
}

static void assert_same(const json_t *value, const char *expected)
{
    json_auto_t *wanted = parse(expected);

    if (!json_equal(value, wanted)) {
        AUTO_FREE char *text = json_text(value);

        fail_msg("%s is not %s", text, expected);
    }
}

TEST(every_known_part_is_imported)
{
    static const char content[] =
        "[{\"type\":\"text\",\"text\":{\"value\":\"a [1]\",\"annotations\":[{\"type\":"
        "\"file_citation\",\"text\":\"[1]\",\"start_index\":2,\"end_index\":5,"
        "\"file_citation\":{\"file_id\":\"file-1\"}}]}},"
        "{\"type\":\"image_url\",\"image_url\":{\"url\":\"https://e.org/"
        "a\",\"detail\":\"low\"}},"
        "{\"type\":\"image_file\",\"image_file\":{\"file_id\":\"file-2\",\"detail\":\"high\"}},"
        "{\"type\":\"refusal\",\"refusal\":\"No.\"}]";
    static const char *const roles[] = {"user", "assistant"};

    for (size_t i = 0; i < COUNT_OF(roles); i++) {
        AUTO_FREE char *members =
            mem_printf("\"role\":\"%s\",\"content\":%s", roles[i], content);
        CLEANUP(clear_notes) struct import_notes notes = {0};
        json_auto_t *object = shown(members, &notes);

        assert_same(json_object_get(object, "content"), content);
        assert_string_equal(notes.text.data,
                            "content[0] names file-1, which was not imported\n"
                            "content[2] names file-2, which was not imported\n");
    }
}

TEST(unknown_parts_are_reported)
{
    static const char *const parts[] = {
        "{\"type\":\"new\"}",
        "{}",
        "7",
        "{\"type\":\"text\"}",
        "{\"type\":\"image_url\"}",
        "{\"type\":\"text\",\"text\":{}}",
    };

    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        AUTO_FREE char *members = mem_printf("\"role\":\"user\",\"content\":[%s]", parts[i]);
        CLEANUP(clear_notes) struct import_notes notes = {0};
        json_auto_t *object = shown(members, &notes);

        assert_same(json_object_get(object, "content"), "[]");
        assert_non_null(strstr(notes.text.data, "content[0] was left out"));
    }
}

TEST(a_message_without_a_status_is_completed)
{
    CLEANUP(clear_notes) struct import_notes notes = {0};
    json_auto_t *object = shown("\"role\":\"user\",\"content\":[]", &notes);

    assert_string_equal(json_get_string(object, "status", ""), "completed");
    assert_int_equal(json_get_int(object, "completed_at", 0), 5);
    assert_null(notes.text.data);
}

TEST(objects_that_could_not_be_found_again_are_refused)
{
    static const char *const wrong[][2] = {
        {"\"role\":\"user\",\"content\":[],\"id\":\"item_1\"", "id"},
        {"\"role\":\"user\",\"content\":[],\"id\":\"msg_a/b\"", "id"},
        {"\"role\":\"user\",\"content\":[],\"thread_id\":\"conv_1\"", "thread_id"},
        {"\"role\":\"user\",\"content\":[],\"thread_id\":"
         "\"thread_00000000000000000000000000000000000000000000\"",
         "thread_id"},
        {"\"role\":\"user\",\"content\":[],\"created_at\":null", "created_at"},
        {"\"role\":\"user\",\"content\":[],\"created_at\":-5", "created_at"},
        {"\"role\":\"user\",\"content\":[],\"created_at\":1e300", "created_at"},
        {"\"role\":\"user\",\"content\":7", "content"},
        {"\"role\":\"user\",\"content\":[],\"metadata\":{\"a\":{}}", "metadata.a"},
        {"\"role\":\"tool\",\"content\":[]", "role"},
        {"\"content\":[]", "role"},
    };

    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        struct item_row row = {0};
        struct err err = {0};
        CLEANUP(clear_notes) struct import_notes notes = {0};

        if (read_message(wrong[i][0], &row, &notes, &err) != ERR_INVALID ||
            strcmp(err.place, wrong[i][1]) != 0)
            fail_msg("%s: %s: %s", wrong[i][0], err.place, err.text);
        item_row_clear(&row);
    }
}

TEST(ids_and_times_of_an_assistant_are_kept)
{
    json_auto_t *object = parse("{\"id\":\"asst_1\",\"object\":\"assistant\",\"created_at\":7,"
                                "\"model\":\"m\",\"voice\":\"low\",\"tools\":[]}");
    struct assistant_row row;
    CLEANUP(clear_notes) struct import_notes notes = {0};

    assert_int_equal(import_read_assistant(object, &row, &notes, NULL), ERR_OK);
    assert_string_equal(row.id, "asst_1");
    assert_int_equal(row.created_at, 7 * US_PER_SECOND);
    assert_string_equal(row.body, "{\"model\":\"m\",\"tools\":[]}");
    assert_string_equal(notes.text.data, "'voice' was left out: there is no such field\n");
    assistant_row_clear(&row);
}

TEST(a_thread_is_imported_without_resources_that_cannot_be_kept)
{
    json_auto_t *object = parse("{\"id\":\"thread_1\",\"created_at\":7,\"tool_resources\":"
                                "{\"code_interpreter\":{\"file_ids\":[\"nonsense\"]}}}");
    struct thread_row row;
    CLEANUP(clear_notes) struct import_notes notes = {0};

    assert_int_equal(import_read_thread(object, &row, &notes, NULL), ERR_OK);
    assert_string_equal(row.tool_resources, "{}");
    assert_non_null(strstr(notes.text.data, "'tool_resources' was left out"));
    thread_row_clear(&row);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_known_part_is_imported),
        cmocka_unit_test(unknown_parts_are_reported),
        cmocka_unit_test(a_message_without_a_status_is_completed),
        cmocka_unit_test(objects_that_could_not_be_found_again_are_refused),
        cmocka_unit_test(ids_and_times_of_an_assistant_are_kept),
        cmocka_unit_test(a_thread_is_imported_without_resources_that_cannot_be_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
