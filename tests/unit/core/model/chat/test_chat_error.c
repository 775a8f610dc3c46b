#include <string.h>

#include "core/base/compiler.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/model/chat/chat_error.h"
#include "tests/support/quoted.h"
#include "tests/support/test.h"

struct refusal_case {
    int status;
    const char *body; /* with ' for " */
    enum err_code code;
    bool temporary;
    const char *api_code;
    const char *text; /* what it contains */
};

/* clang-format off */
static const struct refusal_case cases[] = {
    {400, "{'error':{'message':'Bad.','type':'invalid_request_error','param':'x','code':'invalid_value'}}", ERR_INVALID, false, "invalid_value", "Bad."},
    {400, "{'error':{'message':'Bad.','code':'a_code_of_their_own'}}", ERR_INVALID, false, NULL, "Bad."},
    {400, "{'error':{'message':'Too long.','code':'context_length_exceeded'}}", ERR_INVALID, false, "context_length_exceeded", "Too long."},
    {400, "{'object':'error','message':'maximum context length is 4096','code':400}", ERR_INVALID, false, "context_length_exceeded", "4096"},
    {400, "{'error':'Bad.'}", ERR_INVALID, false, NULL, "Bad."},
    {400, "[{'error':{'message':'Bad.','code':400}}]", ERR_INVALID, false, NULL, "Bad."},
    {404, "{'error':{'message':'No such model.','code':'model_not_found'}}", ERR_INVALID, false, "model_not_found", "No such model."},
    {404, "{'object':'error','message':'The model `x` does not exist.','type':'NotFoundError','param':null,'code':404}", ERR_INVALID, false, "model_not_found", "`x`"},
    {404, "{'error':\"model 'x' not found, try pulling it first\"}", ERR_INVALID, false, "model_not_found", "try pulling"},
    {404, "{'error':{'code':'DeploymentNotFound','message':'It does not exist.'}}", ERR_INVALID, false, "model_not_found", "exist"},
    {404, "{'error':{'code':404,'message':'No deployment called x'}}", ERR_INVALID, false, "model_not_found", "called"},
    {404, "{'detail':'Not Found'}", ERR_INVALID, false, NULL, "Not Found"},
    {404, "<html>nginx</html>", ERR_INVALID, false, NULL, "404"},
    {400, "{'error':{'message':'No such model.','code':'model_not_found'}}", ERR_INVALID, false, "model_not_found", "No such model."},
    {400, "{'error':{'message':'x is not a valid model ID','code':400}}", ERR_INVALID, false, "model_not_found", "not a valid"},
    {400, "{'error':{'message':'Model Not Exist','code':'invalid_request_error'}}", ERR_INVALID, false, "model_not_found", "Not Exist"},
    {400, "{'object':'error','message':'Unknown: x','type':'invalid_model','code':'1500'}", ERR_INVALID, false, "model_not_found", "Unknown: x"},
    {400, "{'error':{'message':'The model does not see images.'}}", ERR_INVALID, false, NULL, "images"},
    {529, "{'type':'error','error':{'type':'overloaded_error','message':'Overloaded'}}", ERR_UPSTREAM, true, NULL, "Overloaded"},
    {422, "{'detail':[{'loc':['body','top_k'],'msg':'not a number'}]}", ERR_INVALID, false, NULL, "not a number"},
    {422, "{'detail':'nothing to say'}", ERR_INVALID, false, NULL, "nothing to say"},
    {413, "", ERR_INVALID, false, NULL, "413"},
    {400, "plain words\nin lines", ERR_INVALID, false, NULL, "plain words in lines"},
    {400, "<html>nginx</html>", ERR_INVALID, false, NULL, "status 400"},
    {401, "{'error':{'message':'Incorrect API key provided: sk-secret'}}", ERR_UPSTREAM, false, NULL, "401"},
    {403, "{'error':{'message':'Pay.','code':'insufficient_quota'}}", ERR_LIMIT, false, "insufficient_quota", "Pay."},
    {403, "", ERR_UPSTREAM, false, NULL, "403"},
    {402, "{'error':{'message':'Pay.'}}", ERR_LIMIT, false, "insufficient_quota", "Pay."},
    {408, "", ERR_UPSTREAM, true, NULL, "408"},
    {409, "", ERR_UPSTREAM, true, NULL, "409"},
    {429, "{'error':{'message':'Slow.','type':'tokens','code':'rate_limit_exceeded'}}", ERR_LIMIT, true, "rate_limit_exceeded", "Slow."},
    {429, "", ERR_LIMIT, true, "rate_limit_exceeded", "limits"},
    {429, "{'error':{'message':'Pay.','type':'insufficient_quota'}}", ERR_LIMIT, false, "insufficient_quota", "Pay."},
    {429, "{'error':{'message':'Pay.','type':'exceeded_current_quota_error'}}", ERR_LIMIT, false, "insufficient_quota", "Pay."},
    {500, "{'error':{'message':'Oops.'}}", ERR_UPSTREAM, true, NULL, "Oops."},
    {503, "<html>", ERR_UPSTREAM, true, NULL, "503"},
    {307, "", ERR_UPSTREAM, false, NULL, "307"},
};
/* clang-format on */

TEST(each_refusal_becomes_one_error)
{
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        AUTO_FREE char *body = quoted(cases[i].body);
        struct chat_failure failure;
        enum err_code rc = chat_error_status(cases[i].status, body, strlen(body), &failure);

        if (rc != cases[i].code || failure.err.code != rc ||
            failure.temporary != cases[i].temporary || !strstr(failure.err.text, cases[i].text))
            fail_msg("%d %s became %d, %d: %s", cases[i].status, body, rc, failure.temporary,
                     failure.err.text);
        if (cases[i].api_code)
            assert_string_equal(failure.err.word, cases[i].api_code);
        else
            assert_null(failure.err.word);
        assert_int_equal(failure.err.reason == REASON_NO_MODEL,
                         cases[i].api_code &&
                             strcmp(cases[i].api_code, "model_not_found") == 0);
    }
}

TEST(what_an_upstream_says_of_our_key_stays_here)
{
    static const char body[] = "{\"error\":{\"message\":\"Incorrect API key: sk-secret\"}}";
    struct chat_failure failure;

    chat_error_status(401, body, strlen(body), &failure);
    assert_null(strstr(failure.err.text, "secret"));
}

/* For any answer of a server, the error is one line of UTF-8 that JSON can hold. */
TEST(an_error_is_one_line_of_valid_text)
{
    AUTO_BUF body = {0};

    buf_add_text(&body, "bad\x01\xFF\r\n");
    while (body.length < 5000)
        buf_add_text(&body, "\xE6\x88\xBF");
    for (size_t skip = 0; skip < 3; skip++) {
        struct chat_failure failure;

        chat_error_status(500, body.data + skip, body.length - skip, &failure);
        assert_true(json_valid_utf8(failure.err.text, strlen(failure.err.text)));
        assert_null(strpbrk(failure.err.text, "\r\n\x01"));
        assert_true(strlen(failure.err.text) > 500);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_refusal_becomes_one_error),
        cmocka_unit_test(what_an_upstream_says_of_our_key_stays_here),
        cmocka_unit_test(an_error_is_one_line_of_valid_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
