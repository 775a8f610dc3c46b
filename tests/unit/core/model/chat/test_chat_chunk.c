#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/model/chat/chat_chunk.h"
#include "tests/support/quoted.h"
#include "tests/support/test.h"

/* The scanner sees a copy that ends where the memory ends, so that a sanitizer sees a read beyond
 * its end. */
static bool scan(const char *chunk, size_t length, struct buf *scratch, char **ret_text)
{
    AUTO_FREE char *copy = mem_zeroed(length ? length : 1, 1);
    const char *text = NULL;
    size_t text_length = 0;

    memcpy(copy, chunk, length);
    if (!chat_chunk_scan(copy, length, scratch, &text, &text_length))
        return false;
    *ret_text = mem_strndup(text, text_length);
    return true;
}

#define OPENAI                                                                              \
    "{'id':'chatcmpl-1','object':'chat.completion.chunk','created':1700000000,'model':'m'," \
    "'service_tier':'default','system_fingerprint':'fp_1','choices':[{'index':0,'delta':"   \
    "{'content':'Hello'},'logprobs':null,'finish_reason':null}],'usage':null,"              \
    "'obfuscation':'abc'}"

#define WITH(content) "{'choices':[{'delta':{'content':'" content "'}}]}"

TEST(plain_deltas_are_read)
{
    /* clang-format off */
    static const char *const table[][2] = {
        {OPENAI, "Hello"},
        {WITH(""), ""},
        {WITH("0123456789 0123456789"), "0123456789 0123456789"},
        {"{'choices':[{'index':0,'delta':{'role':'assistant','content':'x','refusal':null}}]}", "x"},
        {"{'choices':[{'delta':{'content':'x','tool_calls':null,'reasoning_content':null}}]}", "x"},
        {"{'choices':[{'finish_reason':null,'index':0,'delta':{'role':null,'content':'x'}}],'id':7}", "x"},
        {" { \"choices\" :\t[ { 'delta' : { 'content' : 'x' } , 'index' : 0 } ] , 'created' : -5 }\r\n ", "x"},
        {WITH("a\\nb\\t\\\"c\\\\\\/\\b\\f\\r"), "a\nb\t\"c\\/\b\f\r"},
        {WITH("\\u0041\\u00e9\\u20ac\\ud83d\\uDE00"), "A\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80"},
        {WITH("\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80 and more text"), "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80 and more text"},
        {"{'model':'mod\xC3\xA8le','choices':[{'delta':{'content':'x'}}]}", "x"},
    };
    /* clang-format on */
    struct buf scratch = {0};

    for (size_t i = 0; i < COUNT_OF(table); i++) {
        AUTO_FREE char *chunk = quoted(table[i][0]);
        AUTO_FREE char *text = NULL;

        assert_true(scan(chunk, strlen(chunk), &scratch, &text));
        assert_string_equal(text, table[i][1]);
    }
    buf_clear(&scratch);
}

TEST(anything_else_is_left_to_jansson)
{
    /* clang-format off */
    static const char *const table[] = {
        "", "{", "null", "[]", "{}", "x", "'content'",
        "{'choices':[]}",
        "{'choices':null}",
        "{'choices':[{}]}",
        "{'choices':[{'delta':{}}]}",
        "{'choices':[{'delta':{'content':null}}]}",
        "{'choices':[{'delta':{'content':1}}]}",
        "{'choices':[{'delta':{'content':['x']}}]}",
        "{'choices':[{'delta':{'content':'x'}},{'delta':{'content':'y'}}]}",
        "{'choices':[{'index':1,'delta':{'content':'x'}}]}",
        "{'choices':[{'index':00,'delta':{'content':'x'}}]}",
        "{'choices':[{'index':0.0,'delta':{'content':'x'}}]}",
        "{'choices':[{'index':null,'delta':{'content':'x'}}]}",
        "{'choices':[{'delta':{'role':'tool','content':'x'}}]}",
        "{'choices':[{'delta':{'content':'x','refusal':'no'}}]}",
        "{'choices':[{'delta':{'content':'x','tool_calls':[]}}]}",
        "{'choices':[{'delta':{'content':'x','reasoning':'why'}}]}",
        "{'choices':[{'delta':{'content':'x','unknown':null}}]}",
        "{'choices':[{'delta':{'content':'x'},'finish_reason':'stop'}]}",
        "{'choices':[{'delta':{'content':'x'},'finish_reason':''}]}",
        "{'choices':[{'delta':{'content':'x'},'logprobs':{'content':[]}}]}",
        "{'choices':[{'delta':{'content':'x'}}],'usage':{'prompt_tokens':1}}",
        "{'choices':[{'delta':{'content':'x'}}],'error':null}",
        "{'error':{'message':'no'},'choices':[{'delta':{'content':'x'}}]}",
        /* the same key twice, in any spelling */
        "{'choices':[{'delta':{'content':'x','content':'y'}}]}",
        "{'choices':[{'delta':{'content':'x','cont\\u0065nt':'y'}}]}",
        "{'choices':[{'delta':{'content':'x'},'delta':{'content':'y'}}]}",
        "{'id':'a','id':'b','choices':[{'delta':{'content':'x'}}]}",
        /* not JSON */
        WITH("x") "x", WITH("x") ",", WITH("x") WITH("x"),
        "{'choices':[{'delta':{'content':'x'}}]",
        "{'choices':[{'delta':{'content':'x'},}]}",
        "{,'choices':[{'delta':{'content':'x'}}]}",
        "{'choices' [{'delta':{'content':'x'}}]}",
        "{'choices':[{'delta':{'content':'x'}}],'created':01}",
        "{'choices':[{'delta':{'content':'x'}}],'created':-}",
        "{'choices':[{'delta':{'content':'x'}}],'created':1.5}",
        "{'choices':[{'delta':{'content':'x'}}],'created':9999999999999999999}",
        "{'choices':[{'delta':{'content':'x'}}],'created':nul}",
        WITH("\n"), WITH("\x01"), WITH("\\x"), WITH("\\"), WITH("\\u12"), WITH("\\u12g4"),
        WITH("\\u0000"), WITH("\\ud83d"), WITH("\\ude00"), WITH("\\ud83d\\u0041"), WITH("\\ud83dx"),
        /* not UTF-8: bare, cut, too long a spelling, surrogate, too large */
        WITH("\x80"), WITH("\xC3"), WITH("\xC3x"), WITH("\xE2\x82"), WITH("\xC0\xAF"), WITH("\xE0\x80\xAF"),
        WITH("\xED\xA0\x80"), WITH("\xF0\x80\x80\xAF"), WITH("\xF4\x90\x80\x80"), WITH("\xF5\x80\x80\x80"),
        "{'id':'\xFF','choices':[{'delta':{'content':'x'}}]}",
    };
    /* clang-format on */
    struct buf scratch = {0};

    for (size_t i = 0; i < COUNT_OF(table); i++) {
        AUTO_FREE char *chunk = quoted(table[i]);
        AUTO_FREE char *text = NULL;

        if (scan(chunk, strlen(chunk), &scratch, &text))
            fail_msg("accepted: %s", chunk);
    }
    buf_clear(&scratch);
}

TEST(a_chunk_cut_anywhere_is_refused)
{
    AUTO_FREE char *chunk = quoted(OPENAI);
    struct buf scratch = {0};

    for (size_t length = 0; length < strlen(chunk); length++) {
        AUTO_FREE char *text = NULL;

        assert_false(scan(chunk, length, &scratch, &text));
    }
    buf_clear(&scratch);
}

/* Every byte of a good chunk replaced by every other: what is still accepted, jansson must
 * read, and read the same. */
TEST(jansson_reads_every_accepted_chunk_the_same)
{
    AUTO_FREE char *chunk = quoted("{'id':'a','choices':[{'index':0,'delta':{'content':"
                                   "'h\\n\\u00e9\xC3\xA9'},'finish_reason':null}]}");
    size_t length = strlen(chunk);
    struct buf scratch = {0};
    unsigned accepted = 0;

    for (size_t i = 0; i < length; i++) {
        char original = chunk[i];

        for (int byte = 0; byte < 256; byte++) {
            AUTO_FREE char *text = NULL;
            json_auto_t *value = NULL;
            const char *content = NULL;

            chunk[i] = (char)byte;
            if (!scan(chunk, length, &scratch, &text))
                continue;
            accepted++;
            assert_int_equal(json_parse(chunk, length, &value, NULL), ERR_OK);
            assert_int_equal(
                json_unpack(value, "{s:[{s:{s:s}}]}", "choices", "delta", "content", &content),
                0);
            assert_string_equal(text, content);
        }
        chunk[i] = original;
    }
    assert_true(accepted > length);
    buf_clear(&scratch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_deltas_are_read),
        cmocka_unit_test(anything_else_is_left_to_jansson),
        cmocka_unit_test(a_chunk_cut_anywhere_is_refused),
        cmocka_unit_test(jansson_reads_every_accepted_chunk_the_same),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
