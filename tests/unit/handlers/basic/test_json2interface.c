#include "tests/unit/handlers/tool_run.h"

#include "core/base/buf.h"

static void expect_interface(const char *json, const char *name, const char *expected)
{
    json_auto_t *args = json_build("{s:s}", "json", json);
    AUTO_FREE char *text = NULL;

    if (name)
        json_set_string(args, "interfaceName", name);
    text = json_text(args);
    expect_tool_result(&json2interface_handler, text, expected);
}

TEST(json2interface_names_the_simple_types)
{
    expect_interface("{\"s\":\"x\",\"i\":1,\"r\":1.5,\"b\":true,\"n\":null,\"e\":[],"
                     "\"d\":\"2026-11-21\",\"t\":\"2026-11-21T10:00:00Z\",\"l\":[1,\"x\"]}",
                     NULL,
                     "interface Root {\n"
                     "  s: string;\n"
                     "  i: number;\n"
                     "  r: number;\n"
                     "  b: boolean;\n"
                     "  n?: any;\n"
                     "  e: any[];\n"
                     "  d: Date;\n"
                     "  t: Date;\n"
                     "  l: number[];\n"
                     "}\n");
}

TEST(json2interface_gives_nested_objects_interfaces)
{
    expect_interface("{\"users\":[{\"name\":\"a\",\"address\":{\"city\":\"b\"}}],"
                     "\"categories\":[[{\"id\":1}]],\"boxes\":[{}]}",
                     "Reply",
                     "interface Reply {\n"
                     "  users: User[];\n"
                     "  categories: Category[][];\n"
                     "  boxes: Box[];\n"
                     "}\n"
                     "\n"
                     "interface User {\n"
                     "  name: string;\n"
                     "  address: Address;\n"
                     "}\n"
                     "\n"
                     "interface Address {\n"
                     "  city: string;\n"
                     "}\n"
                     "\n"
                     "interface Category {\n"
                     "  id: number;\n"
                     "}\n"
                     "\n"
                     "interface Box {\n"
                     "}\n");
}

TEST(json2interface_shares_equal_shapes_and_separates_unequal_ones)
{
    expect_interface("{\"a\":{\"item\":{\"x\":1}},\"b\":{\"item\":{\"x\":2}},"
                     "\"c\":{\"item\":{\"y\":1}}}",
                     NULL,
                     "interface Root {\n"
                     "  a: A;\n"
                     "  b: B;\n"
                     "  c: C;\n"
                     "}\n"
                     "\n"
                     "interface A {\n"
                     "  item: Item;\n"
                     "}\n"
                     "\n"
                     "interface Item {\n"
                     "  x: number;\n"
                     "}\n"
                     "\n"
                     "interface B {\n"
                     "  item: Item;\n"
                     "}\n"
                     "\n"
                     "interface C {\n"
                     "  item: Item2;\n"
                     "}\n"
                     "\n"
                     "interface Item2 {\n"
                     "  y: number;\n"
                     "}\n");
}

TEST(json2interface_takes_any_json)
{
    expect_interface("[{\"a\":1}]", NULL,
                     "type Root = RootItem[];\n"
                     "\n"
                     "interface RootItem {\n"
                     "  a: number;\n"
                     "}\n");
    expect_interface("\"x\"", "my name", "type MyName = string;\n");
    expect_interface("null", NULL, "type Root = any;\n");
    expect_interface("[[]]", NULL, "type Root = any[][];\n");
}

TEST(json2interface_quotes_odd_keys)
{
    expect_interface("{\"a-b\":1,\"2nd\":{\"x\":1},\"\":2,\"\\\"\":3}", NULL,
                     "interface Root {\n"
                     "  \"a-b\": number;\n"
                     "  \"2nd\": _2nd;\n"
                     "  \"\": number;\n"
                     "  \"\\\"\": number;\n"
                     "}\n"
                     "\n"
                     "interface _2nd {\n"
                     "  x: number;\n"
                     "}\n");
}

TEST(json2interface_errors_name_what_is_wrong)
{
    AUTO_BUF many = {0};

    expect_tool_error(&json2interface_handler, "{\"json\":\"{\"}", ERR_INVALID, "JSON");
    expect_tool_error(&json2interface_handler, "{}", ERR_INVALID, "JSON");
    buf_add_text(&many, "{\"json\":\"{");
    for (int i = 0; i < 600; i++)
        buf_addf(&many, "%s\\\"k%d\\\":{\\\"x%d\\\":1}", i ? "," : "", i, i);
    buf_add_text(&many, "}\"}");
    expect_tool_error(&json2interface_handler, many.data, ERR_TOO_LARGE, "500");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json2interface_names_the_simple_types),
        cmocka_unit_test(json2interface_gives_nested_objects_interfaces),
        cmocka_unit_test(json2interface_shares_equal_shapes_and_separates_unequal_ones),
        cmocka_unit_test(json2interface_takes_any_json),
        cmocka_unit_test(json2interface_quotes_odd_keys),
        cmocka_unit_test(json2interface_errors_name_what_is_wrong),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
