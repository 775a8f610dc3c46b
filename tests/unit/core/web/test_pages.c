/* F109: pages, fetched from a server on loopback that the rules of egress open, and read in real children. */

#include "core/web/pages.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/document/page/page.h"
#include "tests/support/readers_group.h"
#include "tests/support/test.h"
#include "tests/unit/core/net/http_exchange.h"
#include "tests/unit/core/net/http_pages.h"

static struct loop *loop_of(void *arg)
{
    return ((struct fixture *)arg)->loop;
}

struct outcome {
    enum err_code rc;
    struct err err;
    json_t *page; /* owned */
};

/* The path of the fixture's server, or a whole URL. `domain` NULL: any will do. */
static struct outcome read_page_of(struct fixture *fixture, const char *domain,
                                   const char *path, int cancel_fd)
{
    json_auto_t *domains = domain ? json_build("[s]", domain) : NULL;
    AUTO_FREE char *pair = mem_printf("127.0.0.1:%d", fixture->server->port);
    AUTO_FREE char *url =
        *path == '/' ? mem_printf("http://%s%s", pair, path) : mem_strdup(path);
    static const char *open[1]; /* an ask that was given up may still begin with the rules */
    static const struct egress_rules rules = {.open = open, .open_count = 1};
    struct pages *pages = pages_new(
        &(struct pages_options){.any_loop = loop_of, .loop_arg = fixture, .egress = &rules});
    struct outcome outcome = {0};

    open[0] = pair;
    outcome.rc = pages_read(pages,
                            &(struct page_ask){.run = "",
                                               .url = url,
                                               .want = {.view = PAGE_MARKDOWN},
                                               .domains = domains,
                                               .cancel_fd = cancel_fd},
                            &outcome.page, &outcome.err);
    pages_free(pages);
    let_pass(fixture->loop);
    return outcome;
}

static struct outcome read_page(struct fixture *fixture, const char *path, int cancel_fd)
{
    return read_page_of(fixture, NULL, path, cancel_fd);
}

static void expect_text(struct fixture *fixture, const char *path, const char *text,
                        const char *last_path)
{
    struct outcome outcome = read_page(fixture, path, -1);
    const char *url = json_get_string(outcome.page, "url", "");

    if (outcome.rc)
        fail_msg("%s: %s", path, outcome.err.text);
    assert_string_equal(json_get_string(outcome.page, "text", ""), text);
    assert_string_equal(strrchr(url, '/'), last_path);
    json_decref(outcome.page);
}

static void expect_error(struct fixture *fixture, const char *path, const char *word,
                         const char *text)
{
    struct outcome outcome = read_page(fixture, path, -1);

    assert_null(outcome.page);
    if (!outcome.rc || strcmp(outcome.err.word, word) != 0 ||
        strcmp(outcome.err.text, text) != 0)
        fail_msg("%s: %s, %s", path, outcome.err.word, outcome.err.text);
}

TEST(a_page_is_fetched_decoded_and_read)
{
    expect_text(*state, "/hello", "hello", "/hello");
    expect_text(*state, "/packed", "packed", "/packed");
    expect_text(*state, "/redirect", "hello", "/hello");
}

TEST(what_is_no_page_says_so)
{
    expect_error(*state, "/picture", "BINARY_CONTENT", "It is binary, of the type image/png.");
    expect_error(*state, "/retry-seconds", "RATE_LIMIT",
                 "The server of the page is busy (status 429).");
    expect_error(*state, "/retry-past", "FETCH_FAILED",
                 "The server of the page answered with status 503.");
    expect_error(*state, "/bomb", "FETCH_FAILED",
                 "The page is not taken: the answer is compressed to less than a 100th of its "
                 "length.");
    expect_error(*state, "/flood", "FETCH_FAILED",
                 "The page is not taken: the answer has more than 5242880 bytes.");
    expect_error(*state, "/cut-before-length", "FETCH_FAILED",
                 "The page broke off before its end.");
    expect_error(*state, "/redirect-loop", "FETCH_FAILED",
                 "The page redirects more than 5 times.");
}

TEST(no_page_leads_into_the_own_network)
{
    static const char private[] = "Its address is not one of the public internet.";
    static const char *const urls[] = {
        "http://127.0.0.1/", "http://[::1]/",      "http://2130706433/",
        "http://0x7f.1/",    "http://0177.0.0.1/", "http://169.254.169.254/latest",
        "http://10.0.0.1/",  "http://100.64.0.1/", "http://[::ffff:127.0.0.1]/",
        "http://[fd00::1]/", "http://0.0.0.0/",    "/redirect-inside"};

    for (size_t i = 0; i < COUNT_OF(urls); i++)
        expect_error(*state, urls[i], "INVALID_URL", private);
}

TEST(only_addresses_of_pages_are_taken)
{
    expect_error(*state, "file:///etc/passwd", "INVALID_URL",
                 "It is no address of a page: the URL must begin with http:// or https://.");
    expect_error(*state, "http://me:secret@a.test/", "INVALID_URL",
                 "It is no address of a page: the URL must not carry a user or a password.");
    expect_error(*state, "http://127.0.0.1:5432/", "INVALID_URL",
                 "Pages are fetched from ports 80 and 443.");
}

TEST(a_request_may_allow_some_sites_only)
{
    struct outcome own = read_page_of(*state, "127.0.0.1", "/redirect", -1);
    struct outcome other = read_page_of(*state, "a.test", "/hello", -1);

    assert_int_equal(own.rc, ERR_OK);
    json_decref(own.page);
    assert_string_equal(other.err.word, "INVALID_URL");
    assert_string_equal(other.err.text, "It is on a site that the request does not allow.");
}

TEST(a_call_that_is_cancelled_waits_no_longer)
{
    struct fixture *fixture = *state;
    int fd = eventfd(1, EFD_CLOEXEC);
    struct outcome outcome = read_page(fixture, "/silent", fd);

    assert_int_equal(outcome.rc, ERR_CANCELLED);
    close(fd);
    let_pass(fixture->loop);
}

static int start_all(void **state)
{
    return readers_start(state) || start_http(state);
}

static int end_all(void **state)
{
    return end_http(state) || readers_stop(state);
}

TEST(json_is_indented_as_it_was_written_up_to_a_limit)
{
    enum { DEPTH = 60, NUMBERS = 90000 };
    struct buf deep = {0};
    struct page_source source = {.url = "http://a.test/", .content_type = "application/json"};
    const struct page_want want = {.view = PAGE_MARKDOWN};
    json_t *page;

    for (unsigned i = 0; i < DEPTH; i++)
        buf_add_char(&deep, '[');
    for (unsigned i = 0; i < NUMBERS; i++)
        buf_add_text(&deep, i ? ",1" : "1");
    for (unsigned i = 0; i < DEPTH; i++)
        buf_add_char(&deep, ']');
    source.bytes = deep.data;
    source.length = deep.length;
    assert_int_equal(web_page_read(&source, &want, &page, NULL), ERR_OK);
    assert_int_equal(json_string_length(json_object_get(page, "text")), deep.length);
    json_decref(page);
    source.bytes = "{\"a\":[0.1,18446744073709551616]}";
    source.length = strlen(source.bytes);
    assert_int_equal(web_page_read(&source, &want, &page, NULL), ERR_OK);
    assert_string_equal(json_get_string(page, "text", ""),
                        "{\n  \"a\": [\n    0.1,\n    18446744073709551616\n  ]\n}");
    json_decref(page);
    buf_clear(&deep);
}

/* ---- What the tree of a page takes ---- */

static size_t live, most;

static void *count_malloc(size_t size)
{
    void *made = malloc(size);

    live += malloc_usable_size(made);
    most = live > most ? live : most;
    return made;
}

static void count_free(void *made)
{
    live -= malloc_usable_size(made);
    free(made);
}

/* Reads "[<one><one>...1]" of as many lines as may be indented, and says what jansson had at most. */
static size_t memory_of(const char *one, size_t lines_of_one)
{
    struct buf text = {0};
    struct page_source source = {.url = "http://a.test/", .content_type = "application/json"};
    const struct page_want want = {.view = PAGE_MARKDOWN};
    json_t *page;

    buf_add_char(&text, '[');
    for (size_t lines = 2; lines + lines_of_one <= PAGE_JSON_LINES_MAX &&
                           text.length + strlen(one) + 2 <= PAGE_JSON_MAX;
         lines += lines_of_one)
        buf_add_text(&text, one);
    buf_add_text(&text, "1]");
    source.bytes = text.data;
    source.length = text.length;
    live = most = 0;
    assert_int_equal(web_page_read(&source, &want, &page, NULL), ERR_OK);
    assert_true(json_string_length(json_object_get(page, "text")) > text.length);
    json_decref(page);
    buf_clear(&text);
    return most;
}

TEST(the_tree_of_a_json_page_has_at_most_8_mib)
{
    static const struct {
        const char *one;
        size_t lines;
    } pages[] = {{"1,", 1},  {"\"a\",", 1},     {"{},", 3},
                 {"[],", 3}, {"{\"a\":1},", 3}, {"[[1]],", 5}};

    json_set_alloc_funcs(count_malloc, count_free);
    for (size_t i = 0; i < COUNT_OF(pages); i++) {
        size_t bytes = memory_of(pages[i].one, pages[i].lines);

        print_message("%s %zu KiB\n", pages[i].one, bytes >> 10);
        assert_true(bytes < (size_t)8 << 20);
    }
    json_set_alloc_funcs(malloc, free);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_is_indented_as_it_was_written_up_to_a_limit),
        cmocka_unit_test(the_tree_of_a_json_page_has_at_most_8_mib),
        client_test(a_page_is_fetched_decoded_and_read),
        client_test(what_is_no_page_says_so),
        client_test(no_page_leads_into_the_own_network),
        client_test(only_addresses_of_pages_are_taken),
        client_test(a_request_may_allow_some_sites_only),
        client_test(a_call_that_is_cancelled_waits_no_longer),
    };

    return cmocka_run_group_tests(tests, start_all, end_all);
}
