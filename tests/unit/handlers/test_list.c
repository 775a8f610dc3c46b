#include "tests/unit/handlers/tool_run.h"

#include "core/tool/registry.h"

static json_t *schema_of(const struct tool_handler *handler)
{
    json_t *schema = NULL;

    assert_int_equal(
        json_parse(handler->parameters, strlen(handler->parameters), &schema, NULL), ERR_OK);
    return schema;
}

TEST(handlers_have_names_that_models_can_call)
{
    for (size_t i = 0; all_handlers[i]; i++) {
        const char *name = all_handlers[i]->name;

        assert_in_range(strlen(name), 1, 64);
        assert_int_equal(strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                      "0123456789_-"),
                         strlen(name));
    }
}

TEST(handlers_either_run_in_a_group_or_are_the_clients)
{
    for (size_t i = 0; all_handlers[i]; i++) {
        const struct tool_handler *handler = all_handlers[i];

        assert_int_equal(handler->run != NULL, handler->group != NULL);
        assert_false(handler->run && handler->announce);
        if (handler->run)
            assert_true(strlen(handler->description) > 0);
    }
}

/* Two may have one type, and the same name: the first serves some of its entries. */
TEST(handlers_are_listed_once)
{
    for (size_t i = 0; all_handlers[i]; i++)
        for (size_t j = 0; j < i; j++)
            if (!all_handlers[j]->serves)
                assert_string_not_equal(all_handlers[i]->name, all_handlers[j]->name);
}

TEST(handlers_are_found)
{
    handlers_register();
    assert_ptr_equal(tool_registry_find("basic", "datetime"), &datetime_handler);
    assert_ptr_equal(tool_registry_find("basic", "text"), &text_handler);
    assert_ptr_equal(tool_registry_find("basic", "json2interface"), &json2interface_handler);
    assert_ptr_equal(tool_registry_definition("function"), &function_handler);
    assert_ptr_equal(tool_registry_definition("custom"), &custom_handler);
    assert_ptr_equal(tool_registry_definition("local_shell"), &local_shell_handler);
}

/* What the model is offered for reading, and the name that the texts for the model have, are one tool. */
TEST(the_reader_of_variables_is_the_one_that_its_group_names)
{
    size_t readers = 0;

    handlers_register();
    for (size_t i = 0; all_handlers[i]; i++) {
        if (!(all_handlers[i]->flags & TOOL_READER))
            continue;
        assert_string_equal(all_handlers[i]->name,
                            tool_registry_group(all_handlers[i]->group)->reader);
        readers++;
    }
    assert_int_equal(readers, 1);
}

/* Else the call that has the floor could wait for one that waits for the floor. */
TEST(calls_that_take_seats_run_in_order)
{
    size_t takers = 0;

    handlers_register();
    for (size_t i = 0; all_handlers[i]; i++) {
        if (!(all_handlers[i]->flags & TOOL_TAKES_SEAT))
            continue;
        assert_true(all_handlers[i]->flags & TOOL_IN_ORDER);
        assert_true(all_handlers[i]->flags & TOOL_NEEDS_SANDBOX);
        takers++;
    }
    assert_true(takers > 0);
}

/* F76. */
TEST(registering_all_tools_again_changes_nothing)
{
    static const char *const basic[] = {"datetime", "text", "json2interface"};

    for (int i = 0; i < 2; i++) {
        handlers_register();
        for (size_t n = 0; n < COUNT_OF(basic); n++)
            assert_string_equal(tool_registry_member("basic", n)->name, basic[n]);
        assert_null(tool_registry_member("basic", COUNT_OF(basic)));
    }
}

/* Peer fault B23: parameters without a type, and a description at the wrong one. */
TEST(handlers_bella_B23_every_parameter_has_a_type_and_a_description)
{
    for (size_t i = 0; all_handlers[i]; i++) {
        json_auto_t *schema = NULL;
        const char *name;
        json_t *property;
        const json_t *required;
        size_t n;

        if (!all_handlers[i]->parameters)
            continue;
        schema = schema_of(all_handlers[i]);
        assert_string_equal(json_get_string(schema, "type", ""), "object");
        json_object_foreach (json_object_get(schema, "properties"), name, property) {
            if (!*json_get_string(property, "type", "") ||
                !*json_get_string(property, "description", ""))
                fail_msg("%s: %s", all_handlers[i]->name, name);
        }
        json_array_foreach (json_object_get(schema, "required"), n, required)
            assert_non_null(json_object_get(json_object_get(schema, "properties"),
                                            json_string_value(required)));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(handlers_have_names_that_models_can_call),
        cmocka_unit_test(handlers_either_run_in_a_group_or_are_the_clients),
        cmocka_unit_test(handlers_are_listed_once),
        cmocka_unit_test(handlers_are_found),
        cmocka_unit_test(the_reader_of_variables_is_the_one_that_its_group_names),
        cmocka_unit_test(calls_that_take_seats_run_in_order),
        cmocka_unit_test(registering_all_tools_again_changes_nothing),
        cmocka_unit_test(handlers_bella_B23_every_parameter_has_a_type_and_a_description),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
