#include <semaphore.h>
#include <stdio.h>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/mcp/mcp_session.h"
#include "tests/support/http_group.h"
#include "tests/support/test.h"
#include "tests/unit/core/net/errand.h"
#include "tests/unit/core/net/tiny_server.h"

/* ---- The server ---- */

static _Atomic int initialized, listed, called, notified, deleted, forgets;
static sem_t call_came, cancel_came, delete_came;

static bool says(const struct tiny_request *request, const char *word)
{
    return request->body.data && strstr(request->body.data, word);
}

static void answer(struct tiny_request *request, const char *head, const char *result)
{
    json_auto_t *asked = NULL;
    AUTO_FREE char *body = NULL;
    AUTO_FREE char *text = NULL;

    assert_int_equal(json_parse(request->body.data, request->body.length, &asked, NULL),
                     ERR_OK);
    body = mem_printf("{\"jsonrpc\":\"2.0\",\"id\":%lld,\"result\":%s}",
                      (long long)json_get_int(asked, "id", 0), result);
    text = mem_printf("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n%s"
                      "Content-Length: %zu\r\n\r\n%s",
                      head, strlen(body), body);
    tiny_write(request, text);
}

static bool accept_it(struct tiny_request *request)
{
    tiny_write(request, "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n");
    return true;
}

static bool serve_call(struct tiny_request *request)
{
    called++;
    if (forgets-- > 0) {
        tiny_write(request, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
        return true;
    }
    if (says(request, "\"stuck\"")) {
        sem_post(&call_came);
        tiny_wait_for_leave(request);
        return false;
    }
    answer(request, "", "{\"content\":[]}");
    return true;
}

static bool serve(struct tiny_request *request)
{
    if (strncmp(request->head.data, "DELETE", 6) == 0) {
        deleted++;
        sem_post(&delete_came);
        return accept_it(request);
    }
    if (says(request, "server/discover")) {
        tiny_write(request, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
        return true;
    }
    if (says(request, "\"initialize\"")) {
        initialized++;
        answer(request, "Mcp-Session-Id: s1\r\n", "{\"protocolVersion\":\"2025-03-26\"}");
        return true;
    }
    if (says(request, "notifications/cancelled"))
        sem_post(&cancel_came);
    if (says(request, "\"notifications/")) {
        notified++;
        return accept_it(request);
    }
    assert_non_null(strcasestr(request->head.data, "\r\nMcp-Session-Id: s1\r\n"));
    assert_non_null(strcasestr(request->head.data, "\r\nMCP-Protocol-Version: 2025-03-26\r\n"));
    if (says(request, "\"tools/call\""))
        return serve_call(request);
    listed++;
    answer(request, "", "{\"tools\":[{\"name\":\"a\",\"inputSchema\":{}}]}");
    return true;
}

static bool refuse(struct tiny_request *request)
{
    tiny_write(request, "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n");
    return true;
}

static const struct tiny_page pages[] = {{"/mcp", serve}, {"/refuses", refuse}, {NULL, NULL}};

/* ---- Its client ---- */

struct fixture {
    struct loop *loop;
    struct tiny_server *server;
    struct mcp_session *session;
    const char *path;
    const char *tool;
    double call_seconds;
    struct mcp_question *question;
    int answers;
    bool close_when_answered;
    enum mcp_fault fault;
    char text[256];
    size_t tools;
    sem_t answered;
};

static void take_answer(void *arg, const struct mcp_answer *given)
{
    struct fixture *fixture = arg;

    fixture->answers++;
    fixture->fault = given->fault;
    fixture->tools = json_array_size(json_object_get(given->result, "tools"));
    (void)snprintf(fixture->text, sizeof(fixture->text), "%s", given->text ? given->text : "");
    if (fixture->close_when_answered)
        mcp_session_close(TAKE(fixture->session));
    sem_post(&fixture->answered);
}

static void open_one(void *arg)
{
    struct fixture *fixture = arg;
    AUTO_FREE char *url =
        mem_printf("http://127.0.0.1:%d%s", fixture->server->port, fixture->path);

    fixture->session = mcp_session_new(&(struct mcp_session_options){
        .loop = fixture->loop,
        .url = url,
        .discover_ns = 60 * NS_PER_SECOND,
        .list_ns = 60 * NS_PER_SECOND,
        .call_ns = (uint64_t)(fixture->call_seconds * (double)NS_PER_SECOND),
    });
}

static void list(void *arg)
{
    struct fixture *fixture = arg;

    (void)mcp_session_list(fixture->session, take_answer, fixture);
}

static void call(void *arg)
{
    struct fixture *fixture = arg;
    json_auto_t *arguments = json_object();

    fixture->question = mcp_session_call(fixture->session, fixture->tool, NULL, NULL, arguments,
                                         NULL, take_answer, fixture);
}

static void cancel(void *arg)
{
    mcp_question_cancel(((struct fixture *)arg)->question);
}

static void close_it(void *arg)
{
    mcp_session_close(TAKE(((struct fixture *)arg)->session));
}

static int set_up(void **state)
{
    struct fixture *fixture = mem_new(struct fixture);
    struct err err;

    initialized = listed = called = notified = deleted = forgets = 0;
    sem_init(&call_came, 0, 0);
    sem_init(&cancel_came, 0, 0);
    sem_init(&delete_came, 0, 0);
    sem_init(&fixture->answered, 0, 0);
    fixture->server = tiny_server_new(pages);
    fixture->loop = loop_new("test");
    fixture->path = "/mcp";
    fixture->tool = "a";
    assert_int_equal(loop_start(fixture->loop, &err), ERR_OK);
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;

    on_loop(fixture->loop, close_it, fixture);
    loop_stop(fixture->loop);
    loop_free(fixture->loop);
    tiny_server_free(fixture->server);
    free(fixture);
    return 0;
}

/* ---- The tests ---- */

TEST(a_session_is_opened_once_for_all_questions)
{
    struct fixture *fixture = *state;

    on_loop(fixture->loop, open_one, fixture);
    on_loop(fixture->loop, list, fixture);
    on_loop(fixture->loop, call, fixture);
    wait_for(&fixture->answered);
    wait_for(&fixture->answered);
    assert_int_equal(fixture->fault, MCP_FAULT_NONE);
    assert_int_equal(initialized, 1);
    assert_int_equal(notified, 1);
    assert_int_equal(listed, 1);
    assert_int_equal(called, 1);
    on_loop(fixture->loop, close_it, fixture);
    wait_for(&delete_came);
}

TEST(listing_returns_the_tools)
{
    struct fixture *fixture = *state;

    on_loop(fixture->loop, open_one, fixture);
    on_loop(fixture->loop, list, fixture);
    wait_for(&fixture->answered);
    assert_int_equal(fixture->tools, 1);
}

TEST(a_forgotten_session_is_opened_again_once)
{
    struct fixture *fixture = *state;

    forgets = 1;
    on_loop(fixture->loop, open_one, fixture);
    on_loop(fixture->loop, call, fixture);
    wait_for(&fixture->answered);
    assert_int_equal(fixture->fault, MCP_FAULT_NONE);
    assert_int_equal(initialized, 2);
    assert_int_equal(called, 2);

    forgets = 9;
    on_loop(fixture->loop, call, fixture);
    wait_for(&fixture->answered);
    assert_int_equal(fixture->fault, MCP_FAULT_SESSION);
    assert_int_equal(initialized, 3);
    assert_int_equal(called, 4);
}

TEST(a_cancelled_call_has_no_callback_and_the_server_is_notified)
{
    struct fixture *fixture = *state;

    fixture->tool = "stuck";
    on_loop(fixture->loop, open_one, fixture);
    on_loop(fixture->loop, call, fixture);
    wait_for(&call_came);
    on_loop(fixture->loop, cancel, fixture);
    wait_for(&cancel_came);
    assert_int_equal(fixture->answers, 0);
}

TEST(a_call_has_a_deadline)
{
    struct fixture *fixture = *state;

    fixture->tool = "stuck";
    fixture->call_seconds = 0.3;
    on_loop(fixture->loop, open_one, fixture);
    on_loop(fixture->loop, call, fixture);
    wait_for(&fixture->answered);
    assert_int_equal(fixture->fault, MCP_FAULT_HTTP);
    assert_string_equal(fixture->text, "did not answer within 0.3 s");
}

TEST(a_session_that_cannot_be_opened_fails_all_questions)
{
    struct fixture *fixture = *state;

    fixture->path = "/refuses";
    on_loop(fixture->loop, open_one, fixture);
    on_loop(fixture->loop, list, fixture);
    on_loop(fixture->loop, call, fixture);
    wait_for(&fixture->answered);
    wait_for(&fixture->answered);
    assert_int_equal(fixture->fault, MCP_FAULT_HTTP);
    assert_string_equal(fixture->text, "answered with HTTP status 403");
}

static void list_and_call(void *arg)
{
    list(arg);
    call(arg);
}

/* The second question ends with the session without an answer. */
TEST(a_callback_may_close_the_session)
{
    struct fixture *fixture = *state;

    fixture->path = "/refuses";
    fixture->close_when_answered = true;
    on_loop(fixture->loop, open_one, fixture);
    on_loop(fixture->loop, list_and_call, fixture);
    wait_for(&fixture->answered);
    on_loop(fixture->loop, close_it, fixture);
    assert_int_equal(fixture->answers, 1);
}

TEST(headers_that_this_client_sets_cannot_be_set)
{
    assert_true(mcp_header_name_is_free("X-Api-Key"));
    assert_true(mcp_header_name_is_free("authorization"));
    assert_false(mcp_header_name_is_free("Host"));
    assert_false(mcp_header_name_is_free("content-LENGTH"));
    assert_false(mcp_header_name_is_free("Mcp-Session-Id"));
    assert_false(mcp_header_name_is_free("Proxy-Authorization"));
    assert_false(mcp_header_name_is_free(""));
    assert_false(mcp_header_name_is_free("a b"));
    assert_false(mcp_header_name_is_free("a:b"));
    assert_false(mcp_header_name_is_free("a\r\nb"));
}

#define session_test(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        session_test(a_session_is_opened_once_for_all_questions),
        session_test(listing_returns_the_tools),
        session_test(a_forgotten_session_is_opened_again_once),
        session_test(a_cancelled_call_has_no_callback_and_the_server_is_notified),
        session_test(a_call_has_a_deadline),
        session_test(a_session_that_cannot_be_opened_fails_all_questions),
        session_test(a_callback_may_close_the_session),
        cmocka_unit_test(headers_that_this_client_sets_cannot_be_set),
    };

    return cmocka_run_group_tests(tests, start_http, end_http);
}
