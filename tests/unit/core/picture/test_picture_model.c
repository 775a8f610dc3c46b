/*
 * Pictures from the scripted upstream: attempts, previews, and ends before the picture.
 */

#include "core/picture/picture_model.h"

#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/net/egress.h"
#include "core/net/http_client.h"
#include "core/net/loop.h"
#include "server/fakemodel/server.h"
#include "tests/support/patience.h"
#include "tests/support/test.h"

static struct loop *loop;
static struct upstream_server *upstream;
static struct picture_model *model;
static const struct egress_rules closed;
static json_t *no_members;

static struct loop *any_loop(void *arg)
{
    (void)arg;
    return loop;
}

static int start(void **state)
{
    (void)state;
    http_client_global_init();
    no_members = json_object();
    loop = loop_new("pictures");
    return loop_start(loop, NULL) ? -1 : 0;
}

static int stop(void **state)
{
    (void)state;
    loop_stop(loop);
    loop_free(loop);
    json_decref(no_members);
    http_client_global_free();
    return 0;
}

static void open_with(const char *rules, struct picture_model_options options)
{
    AUTO_FREE char *script = mem_printf("rules:\n%s  - answer: {text: Hi}\n", rules);

    assert_int_equal(upstream_server_start_controlled(script, "127.0.0.1:0", &upstream, NULL),
                     ERR_OK);
    options.url = upstream_server_url(upstream);
    options.model = "draw-1";
    options.any_loop = any_loop;
    options.egress = &closed;
    options.picture_limit = options.picture_limit ? options.picture_limit : 1000;
    options.timeout_seconds = patience_ms(20) / 1000.0 * 100;
    model = picture_model_new(&options);
}

static void close_all(void)
{
    picture_model_free(TAKE(model));
    upstream_server_stop(TAKE(upstream));
}

static unsigned previews;

static enum err_code count_preview(void *arg, const json_t *event)
{
    (void)arg;
    assert_int_equal(json_get_int(event, "partial_image_index", -1), previews);
    previews++;
    return ERR_OK;
}

static struct picture_order order_of(const char *prompt, unsigned count)
{
    previews = 0;
    return (struct picture_order){.prompt = prompt,
                                  .members = no_members,
                                  .previews = count,
                                  .cancel_fd = -1,
                                  .preview = count_preview};
}

static enum err_code draw(const struct picture_order *order, struct picture *ret_picture,
                          struct err *err)
{
    return picture_model_draw(model, order, ret_picture, err);
}

static void expect_png(struct picture *picture)
{
    assert_int_equal(strncmp(picture->base64.data, "iVBORw0KGgo", 11), 0);
    assert_true(picture->bytes > 60 && picture->bytes < picture->base64.length);
    picture_clear(picture);
}

TEST(a_picture_comes_whole_or_behind_its_previews)
{
    struct picture_order order = order_of("a cat", 0);
    struct picture picture;

    open_with("", (struct picture_model_options){0});
    assert_int_equal(draw(&order, &picture, NULL), ERR_OK);
    assert_int_equal(json_get_int(json_object_get(picture.facts, "usage"), "total_tokens", 0),
                     2);
    expect_png(&picture);
    order.previews = 2;
    assert_int_equal(draw(&order, &picture, NULL), ERR_OK);
    assert_int_equal(previews, 2);
    assert_string_equal(json_get_string(picture.facts, "size", ""), "1024x1024");
    expect_png(&picture);
    close_all();
}

TEST(an_edit_sends_its_pictures)
{
    struct picture_source source = {.type = "image/png"};
    struct picture_order order = order_of("a hat", 1);
    struct picture picture;

    open_with("  - match: {path: /v1/images/generations}\n"
              "    answer: {fault: {kind: status, status: 400}}\n",
              (struct picture_model_options){0});
    buf_add_text(&source.bytes, "PNG");
    order.sources = &source;
    order.source_count = 1;
    assert_int_equal(draw(&order, &picture, NULL), ERR_OK);
    assert_int_equal(previews, 1);
    expect_png(&picture);
    buf_clear(&source.bytes);
    close_all();
}

#define FAULT_OF(times, fault)                    \
    "  - match: {path: /v1/images/generations}\n" \
    "    times: " times "\n    answer: {fault: {" fault "}}\n"

TEST(a_server_that_fails_is_asked_again)
{
    struct picture_order order = order_of("a cat", 0);
    struct picture picture;
    struct err err;

    open_with(FAULT_OF("1", "kind: status, status: 409, retry_after: 0")
                  FAULT_OF("1", "kind: status, status: 503, retry_after: 0"),
              (struct picture_model_options){0});
    assert_int_equal(draw(&order, &picture, NULL), ERR_OK);
    expect_png(&picture);
    close_all();
    open_with(FAULT_OF("3", "kind: status, status: 503, body: {error: {message: Busy}}"),
              (struct picture_model_options){0});
    assert_int_equal(draw(&order, &picture, &err), ERR_UPSTREAM);
    assert_string_equal(err.text, "The image model answered with status 503: Busy");
    picture_clear(&picture);
    close_all();
}

/* Asked again, the upstream would draw. */
static void expect_one_attempt(const char *rule)
{
    struct picture_order order = order_of("a cat", 0);
    struct picture picture;

    open_with(rule, (struct picture_model_options){0});
    assert_int_equal(draw(&order, &picture, NULL), ERR_UPSTREAM);
    picture_clear(&picture);
    close_all();
}

TEST(an_answer_that_would_be_the_same_is_not_asked_for_again)
{
    expect_one_attempt(FAULT_OF("1", "kind: status, status: 401"));
    expect_one_attempt(FAULT_OF("1", "kind: status, status: 403"));
    expect_one_attempt(FAULT_OF("1", "kind: status, status: 404"));
    expect_one_attempt(FAULT_OF("1", "kind: status, status: 200, body: {data: []}"));
}

TEST(a_refusal_is_final_and_explained)
{
    struct picture_order order = order_of("a cat", 0);
    struct picture picture;

    open_with(FAULT_OF("1", "kind: status, status: 400, body: {error: {message: No cats,"
                            " code: moderation_blocked}}"),
              (struct picture_model_options){0});
    assert_int_equal(draw(&order, &picture, NULL), ERR_INVALID);
    assert_string_equal(json_get_string(picture.error, "code", ""), "moderation_blocked");
    picture_clear(&picture);
    close_all();
}

TEST(a_server_without_streams_is_asked_for_none)
{
    struct picture_order order = order_of("a cat", 2);
    struct picture picture;

    open_with("  - match: {path: /v1/images/generations, stream: true}\n"
              "    answer: {fault: {kind: status, status: 400, body: {error: {message: "
              "\"Unknown parameter: 'partial_images'.\"}}}}\n",
              (struct picture_model_options){0});
    assert_int_equal(draw(&order, &picture, NULL), ERR_OK);
    assert_int_equal(previews, 0);
    expect_png(&picture);
    close_all();
}

TEST(what_breaks_behind_a_preview_is_not_drawn_again)
{
    struct picture_order order = order_of("a cat", 2);
    struct picture picture;

    open_with(FAULT_OF("1", "kind: cut, after: 1"), (struct picture_model_options){0});
    assert_int_equal(draw(&order, &picture, NULL), ERR_UPSTREAM);
    assert_int_equal(previews, 1);
    picture_clear(&picture);
    close_all();
}

TEST(a_picture_has_a_largest_size_and_is_base64)
{
    struct picture_order order = order_of("a cat", 0);
    struct picture picture;
    struct err err;

    open_with("", (struct picture_model_options){.picture_limit = 50});
    assert_int_equal(draw(&order, &picture, &err), ERR_TOO_LARGE);
    assert_string_equal(err.text, "The picture has more than 50 bytes.");
    picture_clear(&picture);
    close_all();
    open_with(FAULT_OF("1", "kind: status, status: 200, body: {data: [{b64_json: \"!\"}]}"),
              (struct picture_model_options){0});
    assert_int_equal(draw(&order, &picture, &err), ERR_UPSTREAM);
    assert_string_equal(err.text, "The picture of the image model is no base64.");
    picture_clear(&picture);
    close_all();
}

TEST(a_picture_that_lies_at_home_is_not_fetched)
{
    struct picture_order order = order_of("a cat", 0);
    struct picture picture;
    struct err err;

    open_with(FAULT_OF("1", "kind: status, status: 200, body: {data: [{url: "
                            "\"http://127.0.0.1:1/cat.png\"}]}"),
              (struct picture_model_options){0});
    assert_int_equal(draw(&order, &picture, &err), ERR_UPSTREAM);
    assert_int_equal(err.reason, REASON_ADDRESS);
    picture_clear(&picture);
    close_all();
}

TEST(a_drawing_that_is_no_longer_wanted_ends)
{
    struct picture_order order = order_of("a cat", 1);
    struct picture picture;

    open_with(FAULT_OF("1", "kind: stall"), (struct picture_model_options){0});
    order.cancel_fd = eventfd(1, EFD_CLOEXEC);
    assert_int_equal(draw(&order, &picture, NULL), ERR_CANCELLED);
    picture_clear(&picture);
    close(order.cancel_fd);
    close_all();
}

/* What the operator keeps from models. */
static enum err_code refuse_cats(void *arg, json_t *messages, struct err *err)
{
    (void)arg;
    if (strstr(json_get_string(json_array_get(messages, 0), "content", ""), "cat"))
        return err_set(err, ERR_LIMIT, "masked");
    return ERR_OK;
}

TEST(a_prompt_is_masked)
{
    struct picture_order order = order_of("a cat", 0);
    struct picture picture;

    open_with("", (struct picture_model_options){.mask = refuse_cats});
    assert_int_equal(draw(&order, &picture, NULL), ERR_LIMIT);
    picture_clear(&picture);
    close_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_picture_comes_whole_or_behind_its_previews),
        cmocka_unit_test(an_edit_sends_its_pictures),
        cmocka_unit_test(a_server_that_fails_is_asked_again),
        cmocka_unit_test(an_answer_that_would_be_the_same_is_not_asked_for_again),
        cmocka_unit_test(a_refusal_is_final_and_explained),
        cmocka_unit_test(a_server_without_streams_is_asked_for_none),
        cmocka_unit_test(what_breaks_behind_a_preview_is_not_drawn_again),
        cmocka_unit_test(a_picture_has_a_largest_size_and_is_base64),
        cmocka_unit_test(a_picture_that_lies_at_home_is_not_fetched),
        cmocka_unit_test(a_drawing_that_is_no_longer_wanted_ends),
        cmocka_unit_test(a_prompt_is_masked),
    };

    return cmocka_run_group_tests(tests, start, stop);
}
