#include <semaphore.h>
#include <stdio.h>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/mcp/mcp_known.h"
#include "core/mcp/mcp_session.h"
#include "tests/support/http_group.h"
#include "tests/support/test.h"
#include "tests/unit/core/net/errand.h"
#include "tests/unit/core/net/tiny_server.h"

/* F102: servers of the protocol's generations, and of both; what a client asks each of them. */

/* ---- The servers ---- */

/* What the server speaks; a test may change it as an update would. */
static _Atomic enum { STATELESS, SESSIONS, SILENT } speaks;
static const char *_Atomic given;     /* the result of each call, or an error: {"code": ...} */
static const char *_Atomic supported; /* versions in the error; NULL: 2026-07-28 is spoken */
static _Atomic int discovered, initialized, listed, called, others;
static sem_t call_came, left;
static char call_head[2048], call_body[2048];

static bool says(const struct tiny_request *request, const char *word)
{
    return request->body.data && strstr(request->body.data, word);
}

static bool has(const struct tiny_request *request, const char *line)
{
    AUTO_FREE char *whole = mem_printf("\r\n%s\r\n", line);

    return strstr(request->head.data, whole);
}

static void answer(struct tiny_request *request, const char *status, const char *member,
                   const char *value)
{
    json_auto_t *asked = NULL;
    AUTO_FREE char *body = NULL;
    AUTO_FREE char *text = NULL;

    assert_int_equal(json_parse(request->body.data, request->body.length, &asked, NULL),
                     ERR_OK);
    body = mem_printf("{\"jsonrpc\":\"2.0\",\"id\":%lld,\"%s\":%s}",
                      (long long)json_get_int(asked, "id", 0), member, value);
    text = mem_printf("HTTP/1.1 %s\r\nContent-Type: application/json\r\n"
                      "Content-Length: %zu\r\n\r\n%s",
                      status, strlen(body), body);
    tiny_write(request, text);
}

static bool refuse(struct tiny_request *request, const char *status)
{
    AUTO_FREE char *text = mem_printf("HTTP/1.1 %s\r\nContent-Length: 0\r\n\r\n", status);

    tiny_write(request, text);
    return true;
}

static bool serve_call(struct tiny_request *request)
{
    called++;
    (void)snprintf(call_head, sizeof(call_head), "%s", request->head.data);
    (void)snprintf(call_body, sizeof(call_body), "%.*s", (int)request->body.length,
                   request->body.data);
    if (says(request, "\"stuck\"")) {
        sem_post(&call_came);
        tiny_wait_for_leave(request);
        sem_post(&left);
        return false;
    }
    if (says(request, "\"cut\"")) {
        tiny_write(request, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                            "Connection: close\r\n\r\nid: 7\ndata: {}\n\n");
        return false;
    }
    if (strstr(given, "\"code\""))
        answer(request, "400 Bad Request", "error", given);
    else
        answer(request, "200 OK", "result", given);
    return true;
}

static bool serve_any(struct tiny_request *request)
{
    if (says(request, "\"tools/call\""))
        return serve_call(request);
    listed++;
    answer(request, "200 OK", "result",
           "{\"resultType\":\"complete\",\"tools\":[{\"name\":\"a\",\"inputSchema\":{}}]}");
    return true;
}

/* The headers say what the body says, and nothing is there that only sessions have. */
static bool is_fit(const struct tiny_request *request)
{
    bool discovers =
        says(request, "server/discover") && has(request, "Mcp-Method: server/discover");
    bool lists = says(request, "tools/list") && has(request, "Mcp-Method: tools/list");
    bool calls = says(request, "tools/call") && has(request, "Mcp-Method: tools/call");

    return (discovers || lists || calls) && strncmp(request->head.data, "POST", 4) == 0 &&
           has(request, "MCP-Protocol-Version: 2026-07-28") &&
           has(request, "Accept: application/json, text/event-stream") &&
           says(request, "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"") &&
           says(request, "\"io.modelcontextprotocol/clientCapabilities\":{}") &&
           says(request, "\"io.modelcontextprotocol/clientInfo\":{\"name\":\"runnel\"") &&
           !strcasestr(request->head.data, "Mcp-Session-Id") &&
           !strcasestr(request->head.data, "Last-Event-ID");
}

static bool serve_stateless(struct tiny_request *request)
{
    AUTO_FREE char *error = NULL;

    if (!is_fit(request)) {
        others++;
        answer(request, "400 Bad Request", "error", "{\"code\":-32020,\"message\":\"no\"}");
        return true;
    }
    discovered += says(request, "server/discover");
    if (supported) {
        error = mem_printf("{\"code\":-32022,\"message\":\"Unsupported protocol version\","
                           "\"data\":{\"supported\":%s}}",
                           supported);
        answer(request, "400 Bad Request", "error", error);
        return true;
    }
    if (!says(request, "server/discover"))
        return serve_any(request);
    answer(request, "200 OK", "result",
           "{\"resultType\":\"complete\",\"supportedVersions\":[\"2026-07-28\"],"
           "\"capabilities\":{\"tools\":{}}}");
    return true;
}

static bool serve_sessions(struct tiny_request *request)
{
    if (says(request, "notifications/"))
        return refuse(request, "202 Accepted");
    if (says(request, "\"initialize\"")) {
        initialized++;
        answer(request, "200 OK", "result", "{\"protocolVersion\":\"2025-06-18\"}");
        return true;
    }
    if (!has(request, "MCP-Protocol-Version: 2025-06-18")) {
        discovered += says(request, "server/discover");
        return refuse(request, "400 Bad Request");
    }
    others += says(request, "io.modelcontextprotocol/") ||
              strcasestr(request->head.data, "Mcp-Method");
    return serve_any(request);
}

static bool serve(struct tiny_request *request)
{
    if (strncmp(request->head.data, "POST", 4) != 0) {
        others++;
        return refuse(request, "405 Method Not Allowed");
    }
    if (speaks == SILENT && says(request, "server/discover")) {
        tiny_wait_for_leave(request);
        return false;
    }
    if (says(request, "\"initialize\"") && supported)
        return serve_sessions(request);
    if (speaks == STATELESS && !has(request, "MCP-Protocol-Version: 2025-06-18"))
        return serve_stateless(request);
    return speaks == STATELESS && !supported ? serve_stateless(request)
                                             : serve_sessions(request);
}

static const struct tiny_page pages[] = {{"/mcp", serve}, {NULL, NULL}};

/* ---- Their client ---- */

struct fixture {
    struct loop *loop;
    struct tiny_server *server;
    struct mcp_session *session;
    uint64_t discover_ns;
    const char *tool;
    struct mcp_question *question;
    enum mcp_fault fault;
    char text[256];
    size_t tools;
    sem_t answered;
};

static void take_answer(void *arg, const struct mcp_answer *its)
{
    struct fixture *fixture = arg;

    fixture->fault = its->fault;
    fixture->tools = json_array_size(json_object_get(its->result, "tools"));
    (void)snprintf(fixture->text, sizeof(fixture->text), "%s", its->text ? its->text : "");
    sem_post(&fixture->answered);
}

static void open_one(void *arg)
{
    struct fixture *fixture = arg;
    AUTO_FREE char *url = mem_printf("http://127.0.0.1:%d/mcp", fixture->server->port);

    fixture->session = mcp_session_new(&(struct mcp_session_options){
        .loop = fixture->loop,
        .url = url,
        .discover_ns = fixture->discover_ns,
        .list_ns = 60 * NS_PER_SECOND,
        .call_ns = 60 * NS_PER_SECOND,
    });
}

static void put_list(void *arg)
{
    struct fixture *fixture = arg;

    (void)mcp_session_list(fixture->session, take_answer, fixture);
}

static void put_call(void *arg)
{
    struct fixture *fixture = arg;
    json_auto_t *arguments = json_build("{s:s}", "where", "Łódź");
    json_auto_t *schema = json_parse_own("{\"properties\":{\"where\":{\"type\":\"string\","
                                         "\"x-mcp-header\":\"Where\"}}}");

    fixture->question = mcp_session_call(fixture->session, fixture->tool, NULL, schema,
                                         arguments, NULL, take_answer, fixture);
}

static void cancel(void *arg)
{
    mcp_question_cancel(((struct fixture *)arg)->question);
}

static void close_it(void *arg)
{
    mcp_session_close(TAKE(((struct fixture *)arg)->session));
}

/* A session of its own for each question, as runs have. */
static enum mcp_fault ask(struct fixture *fixture, void (*put)(void *))
{
    on_loop(fixture->loop, close_it, fixture);
    on_loop(fixture->loop, open_one, fixture);
    on_loop(fixture->loop, put, fixture);
    wait_for(&fixture->answered);
    return fixture->fault;
}

static int set_up(void **state)
{
    struct fixture *fixture = mem_new(struct fixture);
    AUTO_FREE char *url = NULL;
    struct err err;

    discovered = initialized = listed = called = others = 0;
    speaks = STATELESS;
    supported = NULL;
    given = "{\"resultType\":\"complete\",\"content\":[]}";
    sem_init(&call_came, 0, 0);
    sem_init(&left, 0, 0);
    sem_init(&fixture->answered, 0, 0);
    fixture->server = tiny_server_new(pages);
    fixture->loop = loop_new("test");
    fixture->discover_ns = 60 * NS_PER_SECOND;
    fixture->tool = "a";
    url = mem_printf("http://127.0.0.1:%d/mcp", fixture->server->port);
    mcp_known_forget(url);
    assert_int_equal(loop_start(fixture->loop, &err), ERR_OK);
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *its = *state;

    on_loop(its->loop, close_it, its);
    loop_stop(its->loop);
    loop_free(its->loop);
    tiny_server_free(its->server);
    free(its);
    return 0;
}

static void check_counts(int discovers, int initializes, int lists, int calls)
{
    assert_int_equal(discovered, discovers);
    assert_int_equal(initialized, initializes);
    assert_int_equal(listed, lists);
    assert_int_equal(called, calls);
    assert_int_equal(others, 0);
}

/* ---- The tests ---- */

TEST(a_stateless_server_that_is_known_gets_nothing_but_the_questions)
{
    struct fixture *fixture = *state;

    assert_int_equal(ask(fixture, put_list), MCP_FAULT_NONE);
    assert_int_equal(fixture->tools, 1);
    check_counts(1, 0, 1, 0);
    assert_int_equal(ask(fixture, put_call), MCP_FAULT_NONE);
    assert_int_equal(ask(fixture, put_list), MCP_FAULT_NONE);
    assert_int_equal(fixture->tools, 1);
    check_counts(1, 0, 2, 1);
}

TEST(headers_repeat_the_name_and_the_marked_arguments_of_a_call)
{
    struct fixture *fixture = *state;

    assert_int_equal(ask(fixture, put_call), MCP_FAULT_NONE);
    assert_non_null(strstr(call_head, "\r\nMcp-Name: a\r\n"));
    assert_non_null(strstr(call_head, "\r\nMcp-Param-Where: =?base64?xYHDs2TFug==?=\r\n"));
    fixture->tool = "größer";
    assert_int_equal(ask(fixture, put_call), MCP_FAULT_NONE);
    assert_non_null(strstr(call_head, "\r\nMcp-Name: =?base64?Z3LDtsOfZXI=?=\r\n"));
}

TEST(an_older_server_is_asked_once_what_it_speaks)
{
    struct fixture *fixture = *state;

    speaks = SESSIONS;
    assert_int_equal(ask(fixture, put_list), MCP_FAULT_NONE);
    check_counts(1, 1, 1, 0);
    assert_int_equal(ask(fixture, put_call), MCP_FAULT_NONE);
    assert_int_equal(ask(fixture, put_list), MCP_FAULT_NONE);
    check_counts(1, 3, 2, 1);
}

TEST(a_server_that_does_not_say_what_it_speaks_is_an_older_one)
{
    struct fixture *fixture = *state;

    speaks = SILENT;
    fixture->discover_ns = NS_PER_SECOND / 20;
    assert_int_equal(ask(fixture, put_list), MCP_FAULT_NONE);
    check_counts(0, 1, 1, 0);
}

TEST(a_server_that_was_updated_is_asked_again)
{
    struct fixture *fixture = *state;

    speaks = SESSIONS;
    assert_int_equal(ask(fixture, put_list), MCP_FAULT_NONE);
    check_counts(1, 1, 1, 0);
    speaks = STATELESS;
    assert_int_equal(ask(fixture, put_call), MCP_FAULT_NONE);
    assert_int_equal(others, 1); /* initialize, which it refused */
    assert_int_equal(discovered, 2);
    assert_int_equal(called, 1);
    assert_int_equal(ask(fixture, put_call), MCP_FAULT_NONE);
    assert_int_equal(others, 1);
    assert_int_equal(discovered, 2);
}

TEST(a_server_that_was_set_back_is_asked_again)
{
    struct fixture *fixture = *state;

    assert_int_equal(ask(fixture, put_list), MCP_FAULT_NONE);
    check_counts(1, 0, 1, 0);
    speaks = SESSIONS;
    assert_int_equal(ask(fixture, put_list), MCP_FAULT_NONE);
    check_counts(2, 1, 2, 0);
    assert_int_equal(ask(fixture, put_call), MCP_FAULT_NONE);
    check_counts(2, 2, 2, 1);
}

/* It may have been executed, however the refusal looks. */
TEST(a_call_is_not_repeated_when_a_server_was_set_back)
{
    struct fixture *fixture = *state;

    assert_int_equal(ask(fixture, put_list), MCP_FAULT_NONE);
    speaks = SESSIONS;
    assert_int_equal(ask(fixture, put_call), MCP_FAULT_HTTP);
    assert_string_equal(fixture->text, "answered with HTTP status 400");
    check_counts(1, 0, 1, 0);
    on_loop(fixture->loop, put_call, fixture);
    wait_for(&fixture->answered);
    assert_int_equal(fixture->fault, MCP_FAULT_NONE);
    check_counts(2, 1, 1, 1);
}

TEST(a_server_without_the_version_is_spoken_to_as_it_offers)
{
    struct fixture *fixture = *state;

    supported = "[\"2027-01-01\",\"2025-06-18\"]";
    assert_int_equal(ask(fixture, put_list), MCP_FAULT_NONE);
    check_counts(1, 1, 1, 0);
}

TEST(a_call_is_put_in_another_version_when_the_server_gives_up_this_one)
{
    struct fixture *fixture = *state;

    assert_int_equal(ask(fixture, put_call), MCP_FAULT_NONE);
    supported = "[\"2025-06-18\"]";
    assert_int_equal(ask(fixture, put_call), MCP_FAULT_NONE);
    check_counts(2, 1, 0, 2);
}

TEST(a_server_without_a_common_version_fails_with_its_own_words)
{
    struct fixture *fixture = *state;

    supported = "[\"2027-01-01\",7]";
    assert_int_equal(ask(fixture, put_list), MCP_FAULT_VERSION);
    assert_string_equal(fixture->text,
                        "answered with error -32022: Unsupported protocol version");
    check_counts(1, 0, 0, 0);
}

TEST(errors_beside_a_status_are_read)
{
    struct fixture *fixture = *state;

    given = "{\"code\":-32021,\"message\":\"needs sampling\"}";
    assert_int_equal(ask(fixture, put_call), MCP_FAULT_PROTOCOL);
    assert_string_equal(fixture->text, "answered with error -32021: needs sampling");
    check_counts(1, 0, 0, 1);
}

TEST(a_call_is_put_again_as_often_as_the_server_wants_up_to_a_limit)
{
    struct fixture *fixture = *state;

    given = "{\"resultType\":\"input_required\",\"requestState\":\"s1\"}";
    assert_int_equal(ask(fixture, put_call), MCP_FAULT_PROTOCOL);
    assert_string_equal(fixture->text, "asked for the same request too often");
    check_counts(1, 0, 0, MCP_ROUND_LIMIT + 1);
    assert_non_null(strstr(call_body, "\"requestState\":\"s1\""));
    assert_non_null(strstr(call_body, "\"name\":\"a\""));
}

TEST(input_that_was_never_offered_is_refused)
{
    struct fixture *fixture = *state;

    given = "{\"resultType\":\"input_required\",\"inputRequests\":{\"a\":{\"method\":"
            "\"sampling/createMessage\"}}}";
    assert_int_equal(ask(fixture, put_call), MCP_FAULT_PROTOCOL);
    assert_string_equal(fixture->text, "asked for input, which this client cannot give");
    check_counts(1, 0, 0, 1);
}

TEST(a_result_of_an_unknown_kind_is_none)
{
    struct fixture *fixture = *state;

    given = "{\"resultType\":\"task\",\"content\":[]}";
    assert_int_equal(ask(fixture, put_call), MCP_FAULT_PROTOCOL);
    given = "{\"content\":[]}";
    assert_int_equal(ask(fixture, put_call), MCP_FAULT_NONE);
}

TEST(a_cut_stream_of_a_stateless_server_is_not_resumed)
{
    struct fixture *fixture = *state;

    fixture->tool = "cut";
    assert_int_equal(ask(fixture, put_call), MCP_FAULT_PROTOCOL);
    assert_string_equal(fixture->text, "ended its answer without answering");
    check_counts(1, 0, 0, 1);
}

TEST(a_stateless_call_is_cancelled_by_closing_its_connection)
{
    struct fixture *fixture = *state;

    fixture->tool = "stuck";
    on_loop(fixture->loop, open_one, fixture);
    on_loop(fixture->loop, put_call, fixture);
    wait_for(&call_came);
    on_loop(fixture->loop, cancel, fixture);
    wait_for(&left);
    fixture->tool = "a";
    assert_int_equal(ask(fixture, put_call), MCP_FAULT_NONE);
    check_counts(1, 0, 0, 2);
}

#define era_test(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        era_test(a_stateless_server_that_is_known_gets_nothing_but_the_questions),
        era_test(headers_repeat_the_name_and_the_marked_arguments_of_a_call),
        era_test(an_older_server_is_asked_once_what_it_speaks),
        era_test(a_server_that_does_not_say_what_it_speaks_is_an_older_one),
        era_test(a_server_that_was_updated_is_asked_again),
        era_test(a_server_that_was_set_back_is_asked_again),
        era_test(a_call_is_not_repeated_when_a_server_was_set_back),
        era_test(a_server_without_the_version_is_spoken_to_as_it_offers),
        era_test(a_call_is_put_in_another_version_when_the_server_gives_up_this_one),
        era_test(a_server_without_a_common_version_fails_with_its_own_words),
        era_test(errors_beside_a_status_are_read),
        era_test(a_call_is_put_again_as_often_as_the_server_wants_up_to_a_limit),
        era_test(input_that_was_never_offered_is_refused),
        era_test(a_result_of_an_unknown_kind_is_none),
        era_test(a_cut_stream_of_a_stateless_server_is_not_resumed),
        era_test(a_stateless_call_is_cancelled_by_closing_its_connection),
    };

    return cmocka_run_group_tests(tests, start_http, end_http);
}
