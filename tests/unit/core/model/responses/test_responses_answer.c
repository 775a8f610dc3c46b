#include <string.h>

#include "core/base/mem.h"
#include "core/model/answer.h"
#include "tests/support/test.h"
#include "tests/unit/core/model/answer_story.h"

#define EVENT(type, rest) "event: " type "\ndata: {'type':'" type "'" rest "}\n\n"
#define CREATED \
    EVENT("response.created", ",'response':{'status':'in_progress','output':[],'error':null}")
#define ADDED(i, item) \
    EVENT("response.output_item.added", ",'output_index':" #i ",'item':{" item "}")
#define DONE(i, item) \
    EVENT("response.output_item.done", ",'output_index':" #i ",'item':{" item "}")
#define GROW(type, i, rest) EVENT("response." type, ",'output_index':" #i "," rest)
#define TEXT(i, text) \
    GROW("output_text.delta", i, "'content_index':0,'delta':'" text "','logprobs':[]")
#define TEXT_DONE(i, text) GROW("output_text.done", i, "'content_index':0,'text':'" text "'")
#define ARGS(i, text)      GROW("function_call_arguments.delta", i, "'delta':'" text "'")
#define INPUT(i, text)     GROW("custom_tool_call_input.delta", i, "'delta':'" text "'")
#define SUMMARY(i, n, text) \
    GROW("reasoning_summary_text.delta", i, "'summary_index':" #n ",'delta':'" text "'")
#define ENDED(status, output, rest) \
    EVENT("response." status,       \
          ",'response':{'status':'" status "','error':null,'output':[" output "]" rest "}")
#define COMPLETED ENDED("completed", "", "")

#define MESSAGE(text)                                                                       \
    "'type':'message','id':'msg_1','status':'completed','content':[{'type':'output_text','" \
    "text':'" text "'}]"
#define CUT(text)                                                                            \
    "'type':'message','id':'msg_1','status':'incomplete','content':[{'type':'output_text','" \
    "text':'" text "'}]"
#define FUNCTION(id, args) \
    "'type':'function_call','call_id':'" id "','name':'f','arguments':'" args "'"
#define CUSTOM(input) "'type':'custom_tool_call','call_id':'c1','name':'f','input':'" input "'"
#define NEW_MESSAGE   "'type':'message','id':'msg_1','status':'in_progress','content':[]"
#define SEARCHING     "'type':'web_search_call','id':'ws_1','status':'in_progress'"
#define SEARCH \
    "'type':'web_search_call','id':'ws_1','status':'completed','action':{'type':'search'}"
#define NEW_REASONING "'type':'reasoning','id':'rs_1','summary':[]"

#define SMILE "\xF0\x9F\x98\x80"
#define NONE  "\xEF\xBF\xBD" /* where there is no character */

#define END       "done(stop)"
#define CALLS_END "done(tool_calls)"

/* clang-format off */
static const struct script scripts[] = {
    /* --- calls that the upstream executes --- */
    {"a search", SSE, CREATED ADDED(0, SEARCHING) GROW("web_search_call.in_progress", 0, "'item_id':'ws_1'")
     GROW("web_search_call.searching", 0, "'item_id':'ws_1'") GROW("web_search_call.completed", 0, "'item_id':'ws_1'")
     DONE(0, SEARCH) ADDED(1, NEW_MESSAGE) TEXT(1, "So") DONE(1, MESSAGE("So")) COMPLETED,
     "hosted(web_search_call) stage(in_progress) stage(searching) stage(completed) hosted_end(ws_1) text(So)"
     " item(message) done(stop)"},
    {"a search without stages", SSE, CREATED DONE(0, SEARCH) COMPLETED,
     "hosted(web_search_call) hosted_end(ws_1) done(stop)"},
    {"a search that does not end", SSE, CREATED ADDED(0, SEARCHING) COMPLETED,
     "hosted(web_search_call) hosted_end(-) done(stop)"},
    {"a search in the last event alone", SSE, CREATED ENDED("completed", "{" SEARCH "}", ""),
     "hosted(web_search_call) hosted_end(ws_1) done(stop)"},
    {"stages of another item", SSE, CREATED ADDED(0, SEARCHING) GROW("web_search_call.searching", 3, "'item_id':'x'")
     GROW("image_generation_call.generating", 0, "'item_id':'x'") GROW("web_search_call", 0, "'a':1") DONE(0, SEARCH)
     COMPLETED, "hosted(web_search_call) hosted_end(ws_1) done(stop)"},
    {"a search within a text waits", SSE, CREATED ADDED(0, NEW_MESSAGE) ADDED(1, SEARCHING)
     GROW("web_search_call.searching", 1, "'item_id':'ws_1'") DONE(1, SEARCH) TEXT(0, "So") DONE(0, MESSAGE("So"))
     COMPLETED, "text(So) item(message) hosted(web_search_call) hosted_end(ws_1) done(stop)"},
    /* --- text --- */
    {"plain text", SSE,
     CREATED EVENT("response.in_progress", ",'response':{}") ADDED(0, NEW_MESSAGE)
     GROW("content_part.added", 0, "'content_index':0,'part':{'type':'output_text','text':''}")
     TEXT(0, "Hel") TEXT(0, "lo") TEXT_DONE(0, "Hello")
     GROW("content_part.done", 0, "'content_index':0,'part':{'type':'output_text','text':'Hello','annotations':[]}")
     DONE(0, MESSAGE("Hello"))
     ENDED("completed", "{" MESSAGE("Hello") "}", ",'usage':{'input_tokens':7,'input_tokens_details':{'cached_tokens':3},"
           "'output_tokens':5,'output_tokens_details':{'reasoning_tokens':2}}"),
     "text(Hel) text(lo) item(message) done(stop in 7 cached 3 out 5 reasoning 2)"},
    {"probabilities", SSE, CREATED ADDED(0, NEW_MESSAGE)
     GROW("output_text.delta", 0, "'content_index':0,'delta':'a','logprobs':[{'token':'a','logprob':-1}]")
     DONE(0, MESSAGE("a")) COMPLETED,
     "logprobs([{'token':'a','logprob':-1,'bytes':[97],'top_logprobs':[]}]) text(a) item(message) " END},
    {"no deltas", SSE, CREATED ADDED(0, NEW_MESSAGE) TEXT_DONE(0, "Hello") DONE(0, MESSAGE("Hello")) COMPLETED,
     "text(Hello) item(message) " END},
    {"nothing but items that are done", SSE, DONE(0, MESSAGE("a")) DONE(1, MESSAGE("b")) COMPLETED,
     "text(a) item(message) text(b) item(message) " END},
    {"nothing but the response", SSE, ENDED("completed", "{" MESSAGE("a") "},{" FUNCTION("c1", "{}") "}", ""),
     "text(a) item(message) begin(0 c1 f) args(0 {}) end(0) " CALLS_END},
    {"the response has an item without an event", SSE, ADDED(0, NEW_MESSAGE) TEXT(0, "a") DONE(0, MESSAGE("a"))
     ENDED("completed", "{" MESSAGE("a") "},{" FUNCTION("c1", "{}") "}", ""),
     "text(a) item(message) begin(0 c1 f) args(0 {}) end(0) " CALLS_END},
    {"an item that nobody said was done", SSE, ADDED(0, NEW_MESSAGE) TEXT(0, "a") COMPLETED, "text(a) item(message) " END},
    {"its end stands in the response", SSE, ADDED(0, NEW_MESSAGE) ENDED("completed", "{" MESSAGE("a") "}", ""),
     "text(a) item(message) " END},
    {"no output_index", SSE, "data: {'type':'response.output_item.added','item':{" NEW_MESSAGE "}}\n\n"
     "data: {'type':'response.output_text.delta','delta':'a'}\n\n"
     "data: {'type':'response.output_item.done','item':{" MESSAGE("a") "}}\n\n" ENDED("completed", "{" MESSAGE("a") "}", ""),
     "text(a) item(message) " END},
    {"no event names", SSE, "data: {'type':'response.output_item.added','output_index':0,'item':{" NEW_MESSAGE "}}\n\n"
     "data: {'type':'response.output_text.delta','output_index':0,'delta':'a'}\n\n"
     "data: {'type':'response.completed','response':{'status':'completed'}}\n\ndata: [DONE]\n\n",
     "text(a) item(message) " END},
    {"two parts", SSE, ADDED(0, NEW_MESSAGE) TEXT(0, "a")
     GROW("output_text.delta", 0, "'content_index':1,'delta':'b'")
     DONE(0, "'type':'message','content':[{'type':'output_text','text':'a'},{'type':'output_text','text':'b'},{'type':'refusal','refusal':'c'}]") COMPLETED,
     "text(a) part() text(b) part() refusal(c) item(message) " END},
    {"a part that is over says nothing more", SSE, ADDED(0, NEW_MESSAGE)
     GROW("output_text.delta", 0, "'content_index':1,'delta':'b'") TEXT(0, "a") COMPLETED,
     "text(b) item(message) " END},
    {"a pair cut in two", SSE, ADDED(0, NEW_MESSAGE) TEXT(0, "a\\ud83d") TEXT(0, "\\ude00b") TEXT_DONE(0, "a" SMILE "b") DONE(0, MESSAGE("a" SMILE "b")) COMPLETED,
     "text(a) text(" SMILE ") text(b) item(message) " END},
    {"half a pair at the end of an item", SSE, ADDED(0, NEW_MESSAGE) TEXT(0, "a\\ud83d") DONE(0, MESSAGE("a")) COMPLETED,
     "text(a) text(" NONE ") item(message) " END},
    {"half a pair at the end of a part", SSE, ADDED(0, NEW_REASONING) SUMMARY(0, 0, "a\\ud83d") SUMMARY(0, 1, "\\ude00") DONE(0, NEW_REASONING) COMPLETED,
     "summary(a) summary(" NONE ") part() summary(" NONE ") item(reasoning) " END},
    {"arguments cut in two", SSE, ADDED(0, FUNCTION("c1", "")) ARGS(0, "{\\'a\\':\\'\\ud83d") ARGS(0, "\\ude00\\'}") DONE(0, FUNCTION("c1", "")) COMPLETED,
     "begin(0 c1 f) args(0 {'a':') args(0 " SMILE ") args(0 '}) end(0) " CALLS_END},
    {"the input of a custom tool, cut in two", SSE, ADDED(0, CUSTOM("")) INPUT(0, "\\ud83d") INPUT(0, "\\ude00") INPUT(0, "\\ud83d") DONE(0, CUSTOM("")) COMPLETED,
     "begin(0 c1 f) args(0 {'input':') args(0 " SMILE ") args(0 " NONE ") args(0 '}) end(0) " CALLS_END},
    {"escapes", SSE, ADDED(0, NEW_MESSAGE) TEXT(0, "a\\n\\ud83d\\ude00b") COMPLETED, "text(a\n\xF0\x9F\x98\x80" "b) item(message) " END},
    {"refusal", SSE, ADDED(0, NEW_MESSAGE) GROW("refusal.delta", 0, "'content_index':0,'delta':'I can'")
     GROW("refusal.delta", 0, "'content_index':0,'delta':'not'") GROW("refusal.done", 0, "'content_index':0,'refusal':'I cannot'")
     DONE(0, "'type':'message','content':[{'type':'refusal','refusal':'I cannot'}]") COMPLETED,
     "refusal(I can) refusal(not) item(message) " END},
    {"citations", SSE, ADDED(0, NEW_MESSAGE) TEXT(0, "a")
     GROW("output_text.annotation.added", 0, "'content_index':0,'annotation_index':0,'annotation':"
          "{'type':'url_citation','url':'u','title':'t','start_index':0,'end_index':1}")
     DONE(0, "'type':'message','content':[{'type':'output_text','text':'a','annotations':["
          "{'type':'url_citation','url':'u','title':'t','start_index':0,'end_index':1},{'type':'file_path','file_id':'f','index':3}]}]") COMPLETED,
     "text(a) annotation({'type':'url_citation','url':'u','title':'t','start_index':0,'end_index':1}) "
     "annotation({'type':'file_path','file_id':'f','index':3}) item(message) " END},
    {"a citation before its text", SSE, ADDED(0, NEW_MESSAGE)
     GROW("output_text.annotation.added", 0, "'content_index':0,'annotation':{'type':'file_citation','file_id':'f','filename':'n','index':1}")
     TEXT(0, "a") COMPLETED,
     "annotation({'type':'file_citation','file_id':'f','filename':'n','index':1}) text(a) item(message) " END},

    /* --- reasoning --- */
    {"hidden", SSE, ADDED(0, NEW_REASONING) DONE(0, "'type':'reasoning','id':'rs_1','summary':[],'encrypted_content':'gA'")
     ADDED(1, NEW_MESSAGE) TEXT(1, "a") DONE(1, MESSAGE("a")) COMPLETED,
     "item(reasoning rs_1 gA) text(a) item(message) " END},
    {"summaries", SSE, ADDED(0, NEW_REASONING)
     GROW("reasoning_summary_part.added", 0, "'summary_index':0,'part':{'type':'summary_text','text':''}")
     SUMMARY(0, 0, "a") SUMMARY(0, 0, "b") GROW("reasoning_summary_text.done", 0, "'summary_index':0,'text':'ab'")
     SUMMARY(0, 1, "c")
     DONE(0, "'type':'reasoning','summary':[{'type':'summary_text','text':'ab'},{'type':'summary_text','text':'c'},{'type':'summary_text','text':'d'}]")
     COMPLETED, "summary(a) summary(b) part() summary(c) part() summary(d) item(reasoning) " END},
    {"raw", SSE, ADDED(0, NEW_REASONING) GROW("reasoning_text.delta", 0, "'content_index':0,'delta':'hm'")
     DONE(0, "'type':'reasoning','summary':[],'content':[{'type':'reasoning_text','text':'hm'}]") COMPLETED,
     "reasoning(hm) item(reasoning) " END},
    {"raw, as in Open Responses", SSE, ADDED(0, NEW_REASONING) GROW("reasoning.delta", 0, "'content_index':0,'delta':'hm'")
     COMPLETED, "reasoning(hm) item(reasoning) " END},
    {"summary and raw, at once", SSE,
     DONE(0, "'type':'reasoning','content':[{'type':'reasoning_text','text':'hm'}],'summary':[{'type':'summary_text','text':'s'}]") COMPLETED,
     "summary(s) reasoning(hm) item(reasoning) " END},

    /* --- calls --- */
    {"OpenAI's way", SSE, ADDED(0, FUNCTION("call_a", "")) ARGS(0, "{\\'a\\'") ARGS(0, ":1}")
     GROW("function_call_arguments.done", 0, "'arguments':'{\\'a\\':1}'") DONE(0, FUNCTION("call_a", "{\\'a\\':1}"))
     ADDED(1, FUNCTION("call_b", "")) ARGS(1, "{}") DONE(1, FUNCTION("call_b", "{}")) COMPLETED,
     "begin(0 call_a f) args(0 {'a') args(0 :1}) end(0) begin(1 call_b f) args(1 {}) end(1) " CALLS_END},
    {"whole arguments", SSE, ADDED(0, FUNCTION("c1", "")) GROW("function_call_arguments.done", 0, "'arguments':'{}'")
     DONE(0, FUNCTION("c1", "{}")) COMPLETED, "begin(0 c1 f) args(0 {}) end(0) " CALLS_END},
    {"no id", SSE, DONE(0, FUNCTION("", "{}")) COMPLETED, "begin(0 made f) args(0 {}) end(0) " CALLS_END},
    {"the same id twice", SSE, DONE(0, FUNCTION("c1", "{}")) DONE(1, FUNCTION("c1", "{}")) COMPLETED,
     "begin(0 c1 f) args(0 {}) end(0) begin(1 made f) args(1 {}) end(1) " CALLS_END},
    {"no name", SSE, ADDED(0, "'type':'function_call','call_id':'c1'") COMPLETED, "failed(upstream)"},
    {"a custom tool", SSE, ADDED(0, CUSTOM("")) INPUT(0, "select ") INPUT(0, "\\'\\n") DONE(0, CUSTOM("")) COMPLETED,
     "begin(0 c1 f) args(0 {'input':') args(0 select ) args(0 \\'\\n) args(0 '}) end(0) " CALLS_END},
    {"a custom tool, whole", SSE, DONE(0, CUSTOM("x")) COMPLETED,
     "begin(0 c1 f) args(0 {'input':') args(0 x) args(0 '}) end(0) " CALLS_END},
    {"interleaved calls leave one after the other", SSE, ADDED(0, FUNCTION("c1", "")) ADDED(1, FUNCTION("c2", ""))
     ARGS(1, "{}") ARGS(0, "{") DONE(1, FUNCTION("c2", "{}")) ARGS(0, "}") DONE(0, FUNCTION("c1", "{}")) COMPLETED,
     "begin(0 c1 f) args(0 {) args(0 }) end(0) begin(1 c2 f) args(1 {}) end(1) " CALLS_END},
    {"an item said to be done twice", SSE, DONE(0, FUNCTION("c1", "{}")) DONE(0, FUNCTION("c1", "{}")) COMPLETED,
     "begin(0 c1 f) args(0 {}) end(0) " CALLS_END},
    {"items that are not ours", SSE, ADDED(0, "'type':'web_search_call','id':'ws_1'") GROW("web_search_call.searching", 0, "'item_id':'ws_1'")
     DONE(0, "'type':'web_search_call','id':'ws_1'") DONE(1, MESSAGE("a")) COMPLETED, "hosted(web_search_call) stage(searching) hosted_end(ws_1) text(a) item(message) " END},

    /* --- how it ends --- */
    {"incomplete", SSE, ADDED(0, NEW_MESSAGE) TEXT(0, "a") DONE(0, CUT("a"))
     ENDED("incomplete", "{" CUT("a") "}", ",'incomplete_details':{'reason':'max_output_tokens'}"), "text(a) done(length)"},
    {"incomplete, whole", SSE, DONE(0, CUT("a")) ENDED("incomplete", "", ""), "text(a) done(length)"},
    {"filtered", SSE, ADDED(0, NEW_MESSAGE) TEXT(0, "a")
     ENDED("incomplete", "", ",'incomplete_details':{'reason':'content_filter'}"), "text(a) done(content_filter)"},
    {"a call that was cut", SSE, ADDED(0, FUNCTION("c1", "")) ARGS(0, "{") ENDED("incomplete", "", ""),
     "begin(0 c1 f) args(0 {) done(length)"},
    {"failed", SSE, CREATED ADDED(0, NEW_MESSAGE) TEXT(0, "a")
     EVENT("response.failed", ",'response':{'status':'failed','error':{'code':'server_error','message':'broken'}}"),
     "text(a) failed(upstream again: broken)"},
    {"failed, too many", SSE, EVENT("response.failed", ",'response':{'status':'failed','error':{'code':'rate_limit_exceeded','message':'slow'}}"),
     "failed(limit again rate_limit_exceeded: slow)"},
    {"failed, the request", SSE, EVENT("response.failed", ",'response':{'status':'failed','error':{'code':'invalid_prompt','message':'no'}}"),
     "failed(invalid invalid_prompt: no)"},
    {"failed, with usage", SSE, EVENT("response.failed", ",'response':{'status':'failed','usage':{'input_tokens':3,'output_tokens':4},'error':{'code':'context_length_exceeded','message':'full'}}"),
     "failed(invalid context_length_exceeded in 3 cached 0 out 4 reasoning 0: full)"},
    {"JSON, failed, with usage", JSON, "{'status':'failed','usage':{'input_tokens':3,'output_tokens':4},'error':{'code':'insufficient_quota','message':'pay'}}",
     "failed(limit insufficient_quota in 3 cached 0 out 4 reasoning 0: pay)"},
    {"marks of a template behind a name", SSE, DONE(0, "'type':'function_call','call_id':'c1','name':'f<|channel|>commentary','arguments':'{}'") COMPLETED,
     "begin(0 c1 f) args(0 {}) end(0) done(tool_calls)"},
    {"failed without a reason", SSE, EVENT("response.failed", ",'response':{'status':'failed','error':null}"), "failed(upstream again)"},
    {"cancelled", SSE, EVENT("response.cancelled", ",'response':{'status':'cancelled'}"), "failed(upstream again)"},
    {"an error, nested", SSE, EVENT("error", ",'error':{'type':'server_error','code':null,'message':'broken'}"), "failed(upstream again: broken)"},
    {"an error, flat", SSE, EVENT("error", ",'code':'rate_limit_exceeded','message':'slow','param':null"),
     "failed(limit again rate_limit_exceeded: slow)"},
    {"an error without a name", SSE, "data: {'type':'error','code':'server_error','message':'broken'}\n\n", "failed(upstream again: broken)"},
    {"an error of a proxy", SSE, "data: {'error':{'message':'broken'}}\n\n", "failed(upstream again: broken)"},
    {"nothing after the end counts", SSE, COMPLETED DONE(0, MESSAGE("a")), END},
    {"[DONE] is no end", SSE, ADDED(0, NEW_MESSAGE) TEXT(0, "a") "data: [DONE]\n\n", "text(a) failed(upstream again)"},
    {"cut", SSE, ADDED(0, NEW_MESSAGE) TEXT(0, "a"), "text(a) failed(upstream again)"},
    {"cut inside an event", SSE, ADDED(0, NEW_MESSAGE) TEXT(0, "a") "data: {'type':'resp", "text(a) failed(upstream again)"},
    {"garbage", SSE, ADDED(0, NEW_MESSAGE) TEXT(0, "a") "data: {nonsense\n\n", "text(a) failed(upstream)"},
    {"empty body", SSE, "", "failed(upstream again)"},
    {"words of other types", SSE, EVENT("response.output_text.delta", ",'output_index':'x','delta':7") ADDED(0, "'type':3")
     GROW("content_part.done", 0, "'part':[]") DONE(0, "'content':{},'summary':7") "data: {'type':'response.output_item.added','item':[]}\n\n"
     ENDED("completed", "7,null,'x'", ",'usage':[]"), END},

    /* --- an answer that is not streamed --- */
    {"JSON", JSON, "{'status':'completed','error':null,'output':[{" MESSAGE("a") "},{" FUNCTION("c1", "{}") "}],'usage':{'input_tokens':1,'output_tokens':2}}",
     "text(a) item(message) begin(0 c1 f) args(0 {}) end(0) done(tool_calls in 1 cached 0 out 2 reasoning 0)"},
    {"JSON, incomplete", JSON, "{'status':'incomplete','output':[{" CUT("a") "}],'incomplete_details':{'reason':'max_output_tokens'}}",
     "text(a) done(length)"},
    {"JSON, failed", JSON, "{'status':'failed','error':{'code':'server_error','message':'broken'},'output':[]}", "failed(upstream again: broken)"},
    {"JSON, an error", JSON, "{'error':{'message':'broken'}}", "failed(upstream again: broken)"},
    {"JSON of something else", JSON, "{'status':'ok'}", "failed(upstream)"},
    {"JSON, cut", JSON, "{'output':[{'type'", "failed(upstream again)"},
    {"a page", "text/html; charset=utf-8", "<html>404</html>", "failed(upstream)"},
};
/* clang-format on */

static const struct scripts table = {MODEL_DIALECT_RESPONSES, scripts, COUNT_OF(scripts)};

TEST(a_broken_connection_is_the_reason_only_when_something_is_missing)
{
    static const struct script whole = {"whole", SSE,
                                        ADDED(0, NEW_MESSAGE) TEXT(0, "a") COMPLETED,
                                        "text(a) item(message) " END};
    static const struct script cut = {"cut", SSE, ADDED(0, NEW_MESSAGE) TEXT(0, "a"),
                                      "text(a) failed(timeout: "
                                      "The model's answer ended early: too slow)"};
    struct err broken;

    err_set(&broken, ERR_TIMEOUT, "too slow");
    story_breaks(MODEL_DIALECT_RESPONSES, &whole, &broken);
    story_breaks(MODEL_DIALECT_RESPONSES, &cut, &broken);
}

/* --- limits --- */

static void ignore_text(void *arg, const char *text, size_t length)
{
    (void)text;
    *(size_t *)arg += length;
}

static void ignore_begin(void *arg, unsigned call, const char *id, const char *name)
{
    (void)arg, (void)call, (void)id, (void)name;
}

static void ignore_arguments(void *arg, unsigned call, const char *text, size_t length)
{
    (void)call;
    ignore_text(arg, text, length);
}

static void ignore_end(void *arg, unsigned call)
{
    (void)arg, (void)call;
}

static void ignore_part_end(void *arg)
{
    (void)arg;
}

static void ignore_item_end(void *arg, const struct model_item *item)
{
    (void)arg, (void)item;
}

static const struct model_events counting = {
    .text = ignore_text,
    .reasoning = ignore_text,
    .refusal = ignore_text,
    .summary = ignore_text,
    .part_end = ignore_part_end,
    .item_end = ignore_item_end,
    .call_begin = ignore_begin,
    .call_arguments = ignore_arguments,
    .call_end = ignore_end,
};

/* Feeds `event` with a number in it, until it is refused; says how often it was not. */
static unsigned flood(const char *before, const char *event, const char *filling,
                      unsigned times, struct chat_failure *failure)
{
    struct answer answer;
    size_t bytes = 0;
    unsigned taken = 0;
    enum err_code rc;

    answer_init(&answer, MODEL_DIALECT_RESPONSES, &counting, &bytes);
    rc = answer_feed(&answer, before, strlen(before), failure);
    for (; !rc && taken < times; taken += rc == ERR_OK) {
        AUTO_FREE char *start = mem_printf("data: {\"output_index\":%u,%s", taken + 1, event);

        rc = answer_feed(&answer, start, strlen(start), failure);
        if (!rc)
            rc = answer_feed(&answer, filling, strlen(filling), failure);
        if (!rc)
            rc = answer_feed(&answer, "\"}}\n\n", 5, failure);
    }
    assert_true(bytes <= MODEL_TURN_LIMIT);
    answer_clear(&answer);
    return taken;
}

TEST(items_are_limited_even_those_that_wait)
{
    static const char open_item[] = "data: {\"type\":\"response.output_item.added\","
                                    "\"output_index\":0,\"item\":{\"type\":\"message\"}}\n\n";
    static const char *const events[] = {
        "\"type\":\"response.output_item.done\",\"item\":{\"type\":\"message\",\"x\":\"",
        "\"type\":\"response.output_item.done\",\"item\":{\"type\":\"reasoning\","
        "\"encrypted_content\":\"",
    };
    AUTO_FREE char *filling = mem_zeroed(1, ((size_t)1 << 20) + 1);

    memset(filling, 'x', (size_t)1 << 20);
    for (size_t i = 0; i < COUNT_OF(events); i++) {
        struct chat_failure failure;

        assert_true(flood(open_item, events[i], filling, 100, &failure) < 17);
        assert_non_null(strstr(failure.err.text, "larger"));
    }
    {
        struct chat_failure failure;

        assert_true(flood("", events[1], filling, 100, &failure) < 17);
        assert_true(flood("", events[0], "", 1000000, &failure) < 1000000);
    }
}

TEST(an_answer_has_at_most_the_limit_of_calls)
{
    struct chat_failure failure;

    assert_int_equal(flood("",
                           "\"type\":\"response.output_item.done\",\"item\":{\"type\":"
                           "\"function_call\",\"name\":\"f\",\"arguments\":\"",
                           "", 1000, &failure),
                     MODEL_CALL_LIMIT);
    assert_non_null(strstr(failure.err.text, "tool calls"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORY_TESTS(table),
        cmocka_unit_test(a_broken_connection_is_the_reason_only_when_something_is_missing),
        cmocka_unit_test(items_are_limited_even_those_that_wait),
        cmocka_unit_test(an_answer_has_at_most_the_limit_of_calls),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
