#include <string.h>

#include "core/base/compiler.h"
#include "core/base/yaml.h"
#include "tests/support/test.h"

static struct yaml_tree *parse(const char *text)
{
    struct yaml_tree *tree = NULL;
    struct err err = {0};
    size_t line = 0;

    if (yaml_tree_parse(text, strlen(text), &tree, &line, &err))
        fail_msg("%s (line %zu)", err.text, line);
    return tree;
}

TEST(a_text_stays_as_it_was_written)
{
    struct yaml_tree *tree = parse("[0800, no, '0800', \"a\\0b\", ~]");
    const struct yaml_value *list = yaml_tree_root(tree);

    assert_int_equal(list->kind, YAML_LIST);
    assert_string_equal(list->items[0]->text, "0800");
    assert_true(list->items[0]->plain);
    assert_string_equal(list->items[1]->text, "no");
    assert_string_equal(list->items[2]->text, "0800");
    assert_false(list->items[2]->plain);
    assert_int_equal(list->items[3]->length, 3);
    assert_memory_equal(list->items[3]->text, "a\0b", 4);
    yaml_tree_free(tree);
}

TEST(a_map_keeps_its_order_and_keys_that_are_given_twice)
{
    struct yaml_tree *tree = parse("b: 1\na: 2\nb: 3\n[x]: 4\n");
    const struct yaml_value *map = yaml_tree_root(tree);

    assert_int_equal(map->kind, YAML_MAP);
    assert_int_equal(map->count, 4);
    assert_string_equal(map->pairs[0].key->text, "b");
    assert_string_equal(map->pairs[2].value->text, "3");
    assert_int_equal(map->pairs[3].key->kind, YAML_LIST);
    assert_string_equal(yaml_map_get(map, "b")->text, "1");
    assert_null(yaml_map_get(map, "x"));
    yaml_tree_free(tree);
}

TEST(each_value_has_its_line)
{
    struct yaml_tree *tree = parse("# a comment\na:\n  - 1\n  - {b: 2}\n");
    const struct yaml_value *list = yaml_map_get(yaml_tree_root(tree), "a");

    assert_int_equal(yaml_tree_root(tree)->line, 2);
    assert_int_equal(list->line, 3);
    assert_int_equal(list->items[1]->line, 4);
    assert_int_equal(yaml_map_get(list->items[1], "b")->line, 4);
    yaml_tree_free(tree);
}

TEST(an_alias_is_its_anchor)
{
    struct yaml_tree *tree = parse("a: &x {k: v}\nb: *x\nc: &y [*y]\n");
    const struct yaml_value *map = yaml_tree_root(tree);
    const struct yaml_value *endless = yaml_map_get(map, "c");

    assert_ptr_equal(yaml_map_get(map, "a"), yaml_map_get(map, "b"));
    assert_ptr_equal(endless->items[0], endless);
    yaml_tree_free(tree);
}

TEST(a_text_without_a_value_has_no_root)
{
    static const char *const texts[] = {"", "\n", "# nothing\n"};

    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        struct yaml_tree *tree = parse(texts[i]);

        assert_null(yaml_tree_root(tree));
        yaml_tree_free(tree);
    }
    yaml_tree_free(NULL);
}

static void refused_at(const char *text, size_t wanted, const char *why)
{
    struct yaml_tree *tree = NULL;
    struct err err = {0};
    size_t line = 0;

    assert_int_equal(yaml_tree_parse(text, strlen(text), &tree, &line, &err), ERR_INVALID);
    assert_string_equal(err.text, why);
    assert_int_equal(line, wanted);
    assert_null(tree);
}

TEST(text_after_the_first_document_is_not_ignored)
{
    refused_at("a: 1\n---\nb: 2\n", 3, "a second document begins");
    refused_at("  a: 1\nb: 2\n", 2, "did not find expected <document start>");
    refused_at("a: 1\n--- [}\n", 2, "did not find expected node content");
    yaml_tree_free(parse("a: 1\n...\n# the end\n"));
}

TEST(a_byte_order_mark_changes_nothing)
{
    struct yaml_tree *tree = parse("\xEF\xBB\xBF"
                                   "a: 1\nb: 2\n");
    const struct yaml_value *map = yaml_tree_root(tree);

    assert_int_equal(map->count, 2);
    assert_string_equal(yaml_map_get(map, "b")->text, "2");
    yaml_tree_free(tree);
}

TEST(an_error_names_its_line)
{
    refused_at("a: 1\nb: [}\n", 2, "did not find expected node content");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_stays_as_it_was_written),
        cmocka_unit_test(a_map_keeps_its_order_and_keys_that_are_given_twice),
        cmocka_unit_test(each_value_has_its_line),
        cmocka_unit_test(an_alias_is_its_anchor),
        cmocka_unit_test(a_text_without_a_value_has_no_root),
        cmocka_unit_test(text_after_the_first_document_is_not_ignored),
        cmocka_unit_test(a_byte_order_mark_changes_nothing),
        cmocka_unit_test(an_error_names_its_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
