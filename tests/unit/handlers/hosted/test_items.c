#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/domain/item_type.h"
#include "handlers/handlers.h"
#include "tests/support/test.h"

/* The item's fields after a call with these arguments and this result. */
static char *filled(const struct tool_item *item, const char *args,
                    const struct tool_result *result)
{
    static const struct tool_result nothing = {0};
    json_auto_t *fields = json_parse_own(item->fields);
    json_auto_t *object = args ? json_parse_own(args) : NULL;

    item->fill(fields, object, result ? result : &nothing);
    return json_text(fields);
}

static void expect_filled(const struct tool_item *item, const char *args,
                          const struct tool_result *result, const char *wanted)
{
    AUTO_FREE char *text = filled(item, args, result);

    assert_string_equal(text, wanted);
}

TEST(searches_say_what_they_looked_for)
{
    expect_filled(&file_search_item, "{\"query\":\"rain\"}", NULL,
                  "{\"queries\":[\"rain\"],\"results\":null}");
    expect_filled(&file_search_item, NULL, NULL, "{\"queries\":[],\"results\":null}");
    expect_filled(&web_search_item, "{\"query\":\"rain\"}", NULL,
                  "{\"action\":{\"type\":\"search\",\"query\":\"rain\"}}");
    expect_filled(&web_search_item, NULL, NULL,
                  "{\"action\":{\"type\":\"search\",\"query\":\"\"}}");
}

TEST(a_picture_is_the_result_of_its_call)
{
    struct tool_result result = {0};

    expect_filled(&image_generation_item, "{}", &result, "{\"result\":null}");
    tool_result_add_text(&result, "Here it is.");
    tool_result_add_part(
        &result,
        (struct tool_part){.kind = TOOL_PART_IMAGE, .data = mem_strdup("aGk="), .length = 4});
    expect_filled(&image_generation_item, "{}", &result, "{\"result\":\"aGk=\"}");
    tool_result_clear(&result);
}

TEST(a_failed_drawing_has_the_error_of_its_data)
{
    json_auto_t *fields = json_parse_own("{\"result\":null}");
    struct tool_result result = {0};

    (image_generation_item.fail)(fields, &result);
    assert_null(json_object_get(fields, "error"));
    tool_result_set_data(&result, json_parse_own("{\"error\":{\"code\":\"x\"}}"));
    (image_generation_item.fail)(fields, &result);
    assert_string_equal(json_get_string(json_object_get(fields, "error"), "code", ""), "x");
    tool_result_clear(&result);
}

TEST(a_drawn_picture_is_a_file_or_its_bytes)
{
    json_auto_t *bytes = json_parse_own("{\"result\":\"aGk=\"}");
    json_auto_t *file =
        json_parse_own("{\"result\":null,\"runnel\":{\"files\":[{\"file_id\":\"file-1\"}]}}");
    json_auto_t *none = json_parse_own("{\"result\":null}");
    json_auto_t *drawn = image_generation_item.picture(bytes);
    json_auto_t *id = image_generation_item.picture(file);

    assert_ptr_equal(json_object_get(drawn, "base64"), json_object_get(bytes, "result"));
    assert_string_equal(json_get_string(id, "file_id", ""), "file-1");
    assert_null(image_generation_item.picture(none));
}

TEST(only_an_edit_begins_with_pictures)
{
    json_auto_t *either = json_parse_own("{\"action\":\"auto\"}");
    json_auto_t *edit = json_parse_own("{\"action\":\"edit\"}");
    json_auto_t *new = json_parse_own("{\"action\":\"generate\"}");

    assert_true(image_generation_item.edits(either, edit));
    assert_true(image_generation_item.edits(edit, new));
    assert_false(image_generation_item.edits(NULL, NULL));
    assert_false(image_generation_item.edits(new, edit));
}

TEST(a_step_shows_the_text_of_a_search_to_those_who_ask)
{
    json_auto_t *body =
        json_parse_own("{\"results\":[{\"file_id\":\"file-1\","
                       "\"filename\":\"a\",\"score\":0.5,\"text\":\"It says.\"},"
                       "{}]}");
    json_auto_t *without = file_search_item.step(body, 0);
    json_auto_t *with = file_search_item.step(body, RUN_INCLUDE_SEARCH_CONTENT);
    const json_t *first = json_array_get(json_object_get(with, "results"), 0);
    AUTO_FREE char *text = json_text(without);
    AUTO_FREE char *content = json_text(json_object_get(first, "content"));

    assert_string_equal(file_search_item.step_type, "file_search");
    assert_string_equal(
        text, "{\"results\":[{\"file_id\":\"file-1\",\"file_name\":\"a\",\"score\":0.5},"
              "{\"file_id\":\"\",\"file_name\":\"\",\"score\":0.0}]}");
    assert_string_equal(content, "[{\"type\":\"text\",\"text\":\"It says.\"}]");
}

TEST(code_streams_until_it_runs)
{
    const struct item_stream *stream = code_interpreter_item.streams;

    assert_string_equal(stream[0].field, "code");
    assert_string_equal(stream[0].event, "response.code_interpreter_call_code");
    assert_string_equal(stream[0].whole_at, "interpreting");
    assert_null(stream[1].field);
}

/* Clients send such items again, so the table of types has them and their prefixes. */
TEST(types_of_hosted_items_are_in_the_table)
{
    static const struct tool_item *const items[] = {
        &file_search_item, &web_search_item, &image_generation_item, &code_interpreter_item};

    for (size_t i = 0; i < COUNT_OF(items); i++) {
        enum item_type type = item_type_parse(items[i]->type);

        assert_string_equal(item_type_name(type), items[i]->type);
        assert_int_equal(item_type_kind(type), ITEM_KIND_HOSTED_CALL);
        assert_null(items[i]->id_prefix);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(searches_say_what_they_looked_for),
        cmocka_unit_test(a_picture_is_the_result_of_its_call),
        cmocka_unit_test(a_failed_drawing_has_the_error_of_its_data),
        cmocka_unit_test(a_drawn_picture_is_a_file_or_its_bytes),
        cmocka_unit_test(only_an_edit_begins_with_pictures),
        cmocka_unit_test(a_step_shows_the_text_of_a_search_to_those_who_ask),
        cmocka_unit_test(code_streams_until_it_runs),
        cmocka_unit_test(types_of_hosted_items_are_in_the_table),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
