/*
 * Texts as vectors, by the scripted upstream.
 */

#include "core/ingest/embeddings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/net/http_ask.h"
#include "core/net/http_client.h"
#include "server/fakemodel/server.h"
#include "tests/support/patience.h"
#include "tests/support/test.h"

#define DIMENSIONS 32
#define TEXTS      150
#define SECONDS    (patience_ms(10) / 1000.0)

static struct loop *loop;
static struct upstream_server *upstream;
static struct embeddings *embeddings;

static struct loop *any_loop(void *arg)
{
    (void)arg;
    return loop;
}

static struct embeddings_options options(void)
{
    return (struct embeddings_options){.api_key = "sk-test",
                                       .model = "words",
                                       .dimensions = DIMENSIONS,
                                       .query_prefix = "",
                                       .document_prefix = "",
                                       .max_input_tokens = 8192,
                                       .any_loop = any_loop};
}

/* An upstream with this script, and a client of it. */
static void open_with(const char *rules, const struct embeddings_options *changed)
{
    AUTO_FREE char *script = mem_printf("rules:\n%s  - answer: {text: Hi}\n", rules);
    struct embeddings_options opts = changed ? *changed : options();

    assert_int_equal(upstream_server_start_controlled(script, "127.0.0.1:0", &upstream, NULL),
                     ERR_OK);
    opts.url = upstream_server_url(upstream);
    embeddings = embeddings_new(&opts);
}

static void close_all(void)
{
    embeddings_close(embeddings);
    embeddings_free(TAKE(embeddings));
    upstream_server_stop(TAKE(upstream));
}

/* ---- What is made ---- */

struct made {
    float vectors[TEXTS][DIMENSIONS];
    size_t count; /* taken, in their order */
};

static enum err_code take(void *arg, size_t first, size_t count, const float *vectors,
                          uint32_t dimensions, struct err *err)
{
    struct made *made = arg;

    (void)err;
    assert_int_equal(dimensions, DIMENSIONS);
    assert_int_equal(first, made->count);
    memcpy(made->vectors[first], vectors, count * sizeof(*made->vectors));
    made->count += count;
    return ERR_OK;
}

static enum err_code make(const char *const *texts, size_t count, struct made *made,
                          uint64_t *ret_pause_ns, struct err *err)
{
    const struct embeddings_request request = {.kind = EMBEDDINGS_DOCUMENT,
                                               .texts = texts,
                                               .count = count,
                                               .dimensions = DIMENSIONS,
                                               .seconds = SECONDS,
                                               .all_seconds = SECONDS,
                                               .take = take,
                                               .arg = made};
    uint64_t pause_ns;

    made->count = 0;
    return embeddings_make(embeddings, &request, ret_pause_ns ? ret_pause_ns : &pause_ns, err);
}

static double cosine(const float *a, const float *b)
{
    double sum = 0;

    for (size_t i = 0; i < DIMENSIONS; i++)
        sum += (double)a[i] * (double)b[i];
    return sum;
}

/* The bodies of all requests so far. */
static json_t *asked(void)
{
    struct http_asks *asks = http_asks_new(any_loop, NULL);
    struct http_answer answer;
    AUTO_FREE char *url = mem_strdup(upstream_server_url(upstream));
    json_auto_t *record = NULL;
    json_t *bodies = json_array();
    json_t *entry;
    size_t i;

    memcpy(strstr(url, "/v1"), "", 1);
    {
        AUTO_FREE char *path = mem_printf("%s/__requests", url);
        const struct http_ask_request request = {
            .url = path, .answer_limit = 1 << 24, .total_ns = 100 * NS_PER_SECOND};

        assert_int_equal(http_ask_wait(http_ask_start(asks, &request), &answer, NULL), ERR_OK);
    }
    assert_int_equal(json_parse(answer.bytes, answer.length, &record, NULL), ERR_OK);
    json_array_foreach (json_object_get(record, "data"), i, entry)
        json_array_append(bodies, json_object_get(entry, "body"));
    http_answer_clear(&answer);
    http_asks_free(asks);
    return bodies;
}

/* ---- Tests ---- */

TEST(texts_that_share_words_are_near_and_stand_in_their_order)
{
    static const char *const texts[] = {"the cat sat", "quite other words", "the cat ran"};
    struct made made;

    (void)state;
    open_with("", NULL);
    assert_int_equal(make(texts, 3, &made, NULL, NULL), ERR_OK);
    assert_int_equal(made.count, 3);
    assert_true(cosine(made.vectors[0], made.vectors[2]) > 0.5);
    assert_true(cosine(made.vectors[0], made.vectors[1]) < 0.4);
    close_all();
}

TEST(many_texts_go_out_in_batches)
{
    static char words[TEXTS][16];
    const char *texts[TEXTS];
    json_auto_t *bodies = NULL;
    struct made made;
    struct embeddings_stats stats;
    size_t sent = 0, i;
    json_t *body;

    (void)state;
    open_with("", NULL);
    for (i = 0; i < TEXTS; i++) {
        (void)snprintf(words[i], sizeof(words[i]), "word%zu", i);
        texts[i] = words[i];
    }
    assert_int_equal(make(texts, 1, &made, NULL, NULL), ERR_OK); /* base64 it is */
    assert_int_equal(make(texts, TEXTS, &made, NULL, NULL), ERR_OK);
    assert_int_equal(made.count, TEXTS);
    bodies = asked();
    assert_int_equal(json_array_size(bodies), 1 + 3);
    json_array_foreach (bodies, i, body) {
        assert_true(json_array_size(json_object_get(body, "input")) <= EMBEDDINGS_BATCH);
        sent += json_array_size(json_object_get(body, "input"));
        assert_string_equal(json_get_string(body, "model", ""), "words");
        assert_string_equal(json_get_string(body, "encoding_format", ""), "base64");
        assert_int_equal(json_get_int(body, "dimensions", 0), DIMENSIONS);
    }
    assert_int_equal(sent, 1 + TEXTS);
    embeddings_stats(embeddings, &stats);
    assert_int_equal(stats.requests, 4);
    assert_int_equal(stats.tokens, 1 + TEXTS);
    close_all();
}

TEST(a_server_without_base64_is_asked_for_numbers)
{
    static const char *const texts[] = {"cat", "dog"};
    json_auto_t *bodies = NULL;
    struct made made;

    (void)state;
    open_with("  - {times: 1, match: {path: /v1/embeddings}, answer: {fault: {kind: status, "
              "status: 400}}}\n",
              NULL);
    assert_int_equal(make(texts, 2, &made, NULL, NULL), ERR_OK);
    assert_int_equal(make(texts, 2, &made, NULL, NULL), ERR_OK);
    bodies = asked();
    assert_int_equal(json_array_size(bodies), 3);
    assert_string_equal(json_get_string(json_array_get(bodies, 0), "encoding_format", ""),
                        "base64");
    assert_string_equal(json_get_string(json_array_get(bodies, 1), "encoding_format", ""),
                        "float");
    assert_string_equal(json_get_string(json_array_get(bodies, 2), "encoding_format", ""),
                        "float");
    close_all();
}

TEST(a_text_that_is_too_long_is_the_mean_of_its_pieces)
{
    struct embeddings_options shorter = options();
    char text[4000] = "";
    const char *const texts[] = {"cat", text, "dog"};
    json_auto_t *bodies = NULL;
    struct made made;

    (void)state;
    for (size_t i = 0; i + 10 < sizeof(text); i += 8)
        memcpy(text + i, i < 2000 ? "catfish " : "doghous ", 9);
    shorter.max_input_tokens = 500;
    open_with("", &shorter);
    assert_int_equal(make(texts, 3, &made, NULL, NULL), ERR_OK);
    assert_int_equal(made.count, 3);
    bodies = asked();
    assert_int_equal(json_array_size(json_object_get(json_array_get(bodies, 0), "input")), 4);
    assert_float_equal(cosine(made.vectors[1], made.vectors[1]), 1, 1e-5);
    {
        static const char *const halves[] = {"catfish", "doghous", "dog"};
        struct made pieces;

        assert_int_equal(make(halves, 3, &pieces, NULL, NULL), ERR_OK);
        assert_float_equal(cosine(made.vectors[1], pieces.vectors[0]), 0.707, 0.05);
        assert_float_equal(cosine(made.vectors[1], pieces.vectors[1]), 0.707, 0.05);
        assert_float_equal(cosine(made.vectors[2], pieces.vectors[2]), 1, 1e-5);
    }
    close_all();
}

TEST(a_text_that_is_refused_is_cut_and_the_others_are_not)
{
    char text[2000] = "";
    const char *const texts[] = {"cat", "dog", text};
    json_auto_t *bodies = NULL;
    struct made made;

    (void)state;
    for (size_t i = 0; i + 10 < sizeof(text); i += 8)
        memcpy(text + i, "monster ", 9);
    /* All as base64, all as numbers, with the dog, alone. Then its halves. */
    open_with("  - {times: 4, match: {path: /v1/embeddings, user: monster}, answer: {fault: "
              "{kind: status, status: 413}}}\n",
              NULL);
    assert_int_equal(make(texts, 3, &made, NULL, NULL), ERR_OK);
    assert_int_equal(made.count, 3);
    bodies = asked();
    assert_int_equal(json_array_size(bodies), 7);
    assert_int_equal(json_array_size(json_object_get(json_array_get(bodies, 6), "input")), 2);
    close_all();
    open_with(
        "  - {match: {path: /v1/embeddings, user: monster}, answer: {fault: {kind: status, "
        "status: 400, body: {error: {message: never}}}}}\n",
        NULL);
    {
        struct err err;

        assert_int_equal(make(texts, 3, &made, NULL, &err), ERR_INVALID);
        assert_string_equal(err.text, "the embeddings model answered with status 400: never");
        assert_int_equal(made.count, 2);
    }
    close_all();
}

/* As llama.cpp refuses it. */
TEST(a_text_above_the_batch_of_llama_cpp_is_cut)
{
    char text[2000] = "";
    const char *const texts[] = {text};
    struct made made;

    (void)state;
    for (size_t i = 0; i + 10 < sizeof(text); i += 8)
        memcpy(text + i, "monster ", 9);
    /* As base64, and as numbers. */
    open_with("  - {times: 2, match: {path: /v1/embeddings}, answer: {fault: {kind: status, "
              "status: 500, body: {error: {code: 500, type: server_error, message: input (600 "
              "tokens) is too large to process. increase the physical batch size}}}}}\n",
              NULL);
    assert_int_equal(make(texts, 1, &made, NULL, NULL), ERR_OK);
    assert_int_equal(made.count, 1);
    close_all();
}

TEST(failures_are_told_apart)
{
    static const struct {
        const char *fault;
        enum err_code rc;
        const char *text;
    } cases[] = {
        {"{kind: status, status: 429, retry_after: 7}", ERR_LIMIT, "status 429"},
        {"{kind: status, status: 500}", ERR_UPSTREAM, "status 500"},
        {"{kind: status, status: 401, body: {error: {message: your key sk-1}}}", ERR_UPSTREAM,
         "the embeddings model answered with status 401"},
        {"{kind: cut}", ERR_UPSTREAM, ""},
        {"{kind: garbage}", ERR_UPSTREAM, ""},
        {"{kind: html}", ERR_UPSTREAM, ""},
        {"{kind: status, status: 200, body: {data: []}}", ERR_UPSTREAM,
         "0 vectors for 2 texts"},
        {"{kind: status, status: 200, body: {data: [{embedding: [1, 2]}, {embedding: [1, "
         "2]}]}}",
         ERR_UPSTREAM, "2 dimensions instead of 32"},
    };
    static const char *const texts[] = {"cat", "dog"};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        AUTO_FREE char *rules = mem_printf(
            "  - {match: {path: /v1/embeddings}, answer: {fault: %s}}\n", cases[i].fault);
        struct made made;
        struct err err;
        uint64_t pause_ns;

        open_with(rules, NULL);
        assert_int_equal(make(texts, 2, &made, &pause_ns, &err), cases[i].rc);
        assert_int_equal(made.count, 0);
        assert_non_null(strstr(err.text, cases[i].text));
        assert_null(strstr(err.text, "sk-1"));
        assert_int_equal(pause_ns, i ? 0 : 7 * NS_PER_SECOND);
        close_all();
    }
}

TEST(a_silent_server_has_its_seconds)
{
    static const char *const texts[] = {"cat"};
    const struct embeddings_request request = {
        .texts = texts, .count = 1, .seconds = 0.1, .all_seconds = 100, .take = take};
    uint64_t pause_ns;

    (void)state;
    open_with("  - {match: {path: /v1/embeddings}, answer: {fault: {kind: stall}}}\n", NULL);
    assert_int_equal(embeddings_make(embeddings, &request, &pause_ns, NULL), ERR_TIMEOUT);
    embeddings_close(embeddings);
    assert_int_equal(embeddings_make(embeddings, &request, &pause_ns, NULL), ERR_CANCELLED);
    close_all();
}

/* All their vectors are of the same text. */
static enum err_code make_cats(double seconds, double all_seconds, struct made *made)
{
    const char *texts[TEXTS];
    const struct embeddings_request request = {.kind = EMBEDDINGS_DOCUMENT,
                                               .texts = texts,
                                               .count = TEXTS,
                                               .dimensions = DIMENSIONS,
                                               .seconds = seconds,
                                               .all_seconds = all_seconds,
                                               .take = take,
                                               .arg = made};
    uint64_t pause_ns;

    for (size_t i = 0; i < TEXTS; i++)
        texts[i] = "cat";
    made->count = 0;
    return embeddings_make(embeddings, &request, &pause_ns, NULL);
}

/* How many texts each request had so far. */
static size_t batches(size_t ret_counts[TEXTS])
{
    json_auto_t *bodies = asked();
    json_t *body;
    size_t i;

    json_array_foreach (bodies, i, body)
        ret_counts[i] = json_array_size(json_object_get(body, "input"));
    return json_array_size(bodies);
}

TEST(a_slow_server_gets_smaller_batches_until_it_is_quick)
{
    struct made made;
    size_t counts[TEXTS], count, largest = 0;

    (void)state;
    open_with("  - {times: 1, match: {path: /v1/embeddings}, answer: {fault: {kind: stall}}}\n",
              NULL);
    assert_int_equal(make_cats(patience_ms(1) / 2000.0, 100, &made), ERR_TIMEOUT);
    assert_true(made.count <
                TEXTS); /* any of those that are under way is the first to arrive */
    count = batches(counts);
    assert_int_equal(counts[0],
                     EMBEDDINGS_BATCH_FLOATS); /* it did not say how it sends vectors */
    assert_int_equal(make_cats(SECONDS, SECONDS, &made), ERR_OK);
    assert_int_equal(made.count, TEXTS);
    assert_true(batches(counts) > count);
    assert_int_equal(counts[count], EMBEDDINGS_BATCH_FLOATS / 2);
    count = batches(counts);
    assert_int_equal(make_cats(SECONDS, SECONDS, &made), ERR_OK);
    /* Several at once: any of them is the first to arrive. */
    for (size_t i = count, asked_now = batches(counts); i < asked_now; i++)
        largest = counts[i] > largest ? counts[i] : largest;
    assert_int_equal(largest, EMBEDDINGS_BATCH);
    close_all();
}

TEST(a_request_that_is_late_begins_no_batch_and_takes_what_is_under_way)
{
    AUTO_FREE char *slow =
        mem_printf("  - {match: {path: /v1/embeddings}, answer: {delay_ms: %d}}\n",
                   (int)patience_ms(1) / 2);
    struct made made;
    size_t counts[TEXTS];

    (void)state;
    open_with("", NULL);
    assert_int_equal(make_cats(SECONDS, 0, &made), ERR_TIMEOUT);
    assert_int_equal(batches(counts), 0);
    close_all();
    open_with(slow, NULL);
    assert_int_equal(make_cats(SECONDS, patience_ms(1) / 4000.0, &made), ERR_TIMEOUT);
    assert_int_equal(made.count, EMBEDDINGS_AT_ONCE * EMBEDDINGS_BATCH_FLOATS);
    assert_int_equal(batches(counts), EMBEDDINGS_AT_ONCE);
    close_all();
}

static enum err_code hide(void *arg, json_t *messages, struct err *err)
{
    json_t *message = json_array_get(messages, 0);

    if (arg)
        return err_set(err, ERR_TIMEOUT, "too much to hide");
    if (strcmp(json_get_string(message, "content", ""), "secret") == 0)
        json_object_set_new(message, "content", json_string("[masked]"));
    return ERR_OK;
}

TEST(masks_and_prefixes_apply)
{
    static const char *const texts[] = {"secret", "cat"};
    struct embeddings_options masked = options();
    json_auto_t *bodies = NULL;
    AUTO_FREE char *sent = NULL;
    struct made made;

    (void)state;
    masked.mask = hide;
    masked.document_prefix = "passage: ";
    open_with("", &masked);
    assert_int_equal(make(texts, 2, &made, NULL, NULL), ERR_OK);
    bodies = asked();
    sent = json_text(json_object_get(json_array_get(bodies, 0), "input"));
    assert_string_equal(sent, "[\"passage: [masked]\",\"passage: cat\"]");
    close_all();
    masked.mask_arg = &masked;
    open_with("", &masked);
    assert_int_equal(make(texts, 2, &made, NULL, NULL), ERR_TIMEOUT);
    close_all();
}

static int begin_all(void **state)
{
    (void)state;
    http_client_global_init();
    loop = loop_new("embeddings");
    return loop_start(loop, NULL) ? -1 : 0;
}

static int end_all(void **state)
{
    (void)state;
    loop_stop(loop);
    loop_free(loop);
    http_client_global_free();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_that_share_words_are_near_and_stand_in_their_order),
        cmocka_unit_test(many_texts_go_out_in_batches),
        cmocka_unit_test(a_server_without_base64_is_asked_for_numbers),
        cmocka_unit_test(a_text_that_is_too_long_is_the_mean_of_its_pieces),
        cmocka_unit_test(a_text_that_is_refused_is_cut_and_the_others_are_not),
        cmocka_unit_test(a_text_above_the_batch_of_llama_cpp_is_cut),
        cmocka_unit_test(failures_are_told_apart),
        cmocka_unit_test(a_silent_server_has_its_seconds),
        cmocka_unit_test(a_slow_server_gets_smaller_batches_until_it_is_quick),
        cmocka_unit_test(a_request_that_is_late_begins_no_batch_and_takes_what_is_under_way),
        cmocka_unit_test(masks_and_prefixes_apply),
    };

    return cmocka_run_group_tests(tests, begin_all, end_all);
}
