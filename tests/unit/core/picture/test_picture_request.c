/*
 * What an upstream of pictures is asked.
 */

#include "core/picture/picture_request.h"

#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "tests/support/quoted.h"
#include "tests/support/test.h"

static void expect(json_t *got, const char *wanted)
{
    json_auto_t *value = got;
    json_auto_t *expected = quoted_json(wanted);
    AUTO_FREE char *text = json_text(value);

    if (!json_equal(value, expected))
        fail_msg("%s instead of %s", text, wanted);
}

TEST(nothing_is_asked_for_that_the_order_does_not_name)
{
    json_auto_t *members = json_object();
    const struct picture_order order = {.members = members};

    expect(picture_request_members(&order, "a cat", "draw-1", false, true),
           "{'model':'draw-1','prompt':'a cat'}");
}

TEST(members_of_the_order_are_sent_and_its_model_wins)
{
    json_auto_t *members = quoted_json("{'size':'1024x1024','model':'draw-2','prompt':'x'}");
    const struct picture_order order = {.members = members, .previews = 2};

    expect(picture_request_members(&order, "a cat", "draw-1", false, true),
           "{'model':'draw-2','prompt':'a cat','size':'1024x1024','stream':true,"
           "'partial_images':2}");
    expect(picture_request_members(&order, "a cat", "draw-1", false, false),
           "{'model':'draw-2','prompt':'a cat','size':'1024x1024'}");
    expect(picture_request_members(&order, "a cat", "draw-1", true, true),
           "{'model':'draw-2','prompt':'a cat','size':'1024x1024',"
           "'response_format':'b64_json'}");
}

TEST(an_edit_is_a_form_with_its_pictures)
{
    json_auto_t *members = quoted_json("{'prompt':'a cat','n':2}");
    struct picture_source sources[2] = {{.type = "image/png"}, {.type = "image/jpeg"}};
    struct picture_source mask = {.type = "image/png"};
    struct picture_order order = {
        .members = members, .sources = sources, .source_count = 2, .mask = &mask};
    AUTO_BUF form = {0};

    buf_add(&sources[0].bytes, "o\0ne", 4);
    buf_add_text(&sources[1].bytes, "two");
    buf_add_text(&mask.bytes, "hole");
    picture_request_form(members, &order, "B", &form);
    static const char wanted[] =
        "--B\r\nContent-Disposition: form-data; name=\"prompt\"\r\n\r\na cat\r\n"
        "--B\r\nContent-Disposition: form-data; name=\"n\"\r\n\r\n2\r\n"
        "--B\r\nContent-Disposition: form-data; name=\"image[]\"; filename=\"1.png\"\r\n"
        "Content-Type: image/png\r\n\r\no\0ne\r\n"
        "--B\r\nContent-Disposition: form-data; name=\"image[]\"; filename=\"2.jpeg\"\r\n"
        "Content-Type: image/jpeg\r\n\r\ntwo\r\n"
        "--B\r\nContent-Disposition: form-data; name=\"mask\"; filename=\"0.png\"\r\n"
        "Content-Type: image/png\r\n\r\nhole\r\n"
        "--B--\r\n";
    assert_int_equal(form.length, sizeof(wanted) - 1);
    assert_memory_equal(form.data, wanted, form.length);
    buf_reset(&form);
    order.source_count = 1;
    order.mask = NULL;
    picture_request_form(members, &order, "B", &form);
    assert_non_null(strstr(form.data, "name=\"image\"; filename"));
    buf_clear(&sources[0].bytes);
    buf_clear(&sources[1].bytes);
    buf_clear(&mask.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_asked_for_that_the_order_does_not_name),
        cmocka_unit_test(members_of_the_order_are_sent_and_its_model_wins),
        cmocka_unit_test(an_edit_is_a_form_with_its_pictures),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
