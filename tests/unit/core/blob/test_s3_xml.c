/*
 * What is read of S3's answers, and what is not.
 */

#include "core/blob/s3_xml.h"

#include <string.h>

#include "core/base/compiler.h"
#include "tests/support/test.h"

static struct s3_span span(const char *text)
{
    return (struct s3_span){text, strlen(text)};
}

TEST(a_text_is_found_or_refused)
{
    static const struct {
        const char *xml;
        const char *text; /* NULL: none */
    } cases[] = {
        {"<a><Id>x</Id></a>", "x"},
        {"<?xml version='1.0'?>\n<Id>\tx y</Id>", "\tx y"},
        {"<Id/><Id>x</Id>", "x"},
        {"<Id xmlns=\"u\">x</Id >", "x"},
        {"<Identity>no</Identity><Id>x</Id>", "x"},
        {"<Id></Id>", ""},
        {"<Id>&lt;&amp;&gt;&quot;&apos;&#65;&#x42;&#X43;</Id>", NULL},
        {"<Id>&lt;&amp;&gt;&quot;&apos;&#65;&#x42;</Id>", "<&>\"'AB"},
        {"", NULL},
        {"<Id>x", NULL},
        {"<Id", NULL},
        {"<Id x</Id>", NULL},
        {"x</Id>", NULL},
        {"<Id><b>x</b></Id>", NULL},
        {"<Id><![CDATA[x]]></Id>", NULL},
        {"<Id>&unknown;</Id>", NULL},
        {"<Id>&amp</Id>", NULL},
        {"<Id>&</Id>", NULL},
        {"<Id>&#0;</Id>", NULL},
        {"<Id>&#x110000;</Id>", NULL},
        {"<Id>&#99999999999;</Id>", NULL},
        {"<Id>&#;</Id>", NULL},
        {"<Id>&#x;</Id>", NULL},
        {"<Id>&#1a;</Id>", NULL},
        {"<id>x</id>", NULL},
        {"<Id>0123456789abcde</Id>", "0123456789abcde"},
        {"<Id>0123456789abcdef</Id>", NULL}, /* no room for its NUL */
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char text[16] = "";
        bool found = s3_xml_text(span(cases[i].xml), "Id", text, sizeof(text));

        if (found != (cases[i].text != NULL))
            fail_msg("%s", cases[i].xml);
        if (found)
            assert_string_equal(text, cases[i].text);
    }
    assert_false(s3_xml_text((struct s3_span){"<Id>\0</Id>", 10}, "Id", (char[16]){0}, 16));
}

TEST(elements_come_one_after_the_other)
{
    struct s3_span list =
        span("<L><Upload><Key>a</Key></Upload><Upload><Key>b</Key></Upload></L>");
    struct s3_span upload;
    char key[8];

    assert_true(s3_xml_next(&list, "Upload", &upload));
    assert_true(s3_xml_text(upload, "Key", key, sizeof(key)));
    assert_string_equal(key, "a");
    assert_true(s3_xml_next(&list, "Upload", &upload));
    assert_true(s3_xml_text(upload, "Key", key, sizeof(key)));
    assert_string_equal(key, "b");
    assert_false(s3_xml_next(&list, "Upload", &upload));
    assert_int_equal(list.length, strlen("</L>"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_is_found_or_refused),
        cmocka_unit_test(elements_come_one_after_the_other),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
