#include <string.h>

#include "core/base/mem.h"
#include "core/model/answer.h"
#include "tests/support/quoted.h"
#include "tests/support/test.h"
#include "tests/unit/core/model/answer_story.h"

#define EVENT(json)  "data: " json "\n\n"
#define CHOICE(rest) EVENT("{'choices':[{'index':0," rest "}]}")
#define DELTA(rest)  CHOICE("'delta':{" rest "}")
#define TEXT(text)   DELTA("'content':'" text "'")
#define CALL(rest)   DELTA("'tool_calls':[{" rest "}]")
#define FINISH(word) CHOICE("'delta':{},'finish_reason':'" word "'")
#define USAGE                                                               \
    EVENT("{'choices':[],'usage':{'prompt_tokens':7,'completion_tokens':5," \
          "'prompt_tokens_details':{'cached_tokens':3},"                    \
          "'completion_tokens_details':{'reasoning_tokens':2}}}")
#define DONE EVENT("[DONE]")
#define STOP FINISH("stop") DONE

#define SMILE "\xF0\x9F\x98\x80"
#define NONE  "\xEF\xBF\xBD" /* where there is no character */

#define END       "done(stop)"
#define CALLS_END "done(tool_calls)"

/* clang-format off */
static const struct script scripts[] = {
    /* --- text --- */
    {"plain text", SSE,
     DELTA("'role':'assistant','content':''") TEXT("Hel") TEXT("lo") STOP,
     "text(Hel) text(lo) " END},
    {"usage in a chunk of its own", SSE, TEXT("x") FINISH("stop") USAGE DONE,
     "text(x) done(stop in 7 cached 3 out 5 reasoning 2)"},
    {"usage null in every chunk, then beside the last choice", SSE,
     EVENT("{'choices':[{'delta':{'content':'x'}}],'usage':null}")
     EVENT("{'choices':[{'delta':{},'finish_reason':'stop'}],'usage':{'prompt_tokens':1,'completion_tokens':2}}") DONE,
     "text(x) done(stop in 1 cached 0 out 2 reasoning 0)"},
    {"usage that grows with every chunk", SSE,
     EVENT("{'choices':[{'delta':{'content':'x'}}],'usage':{'prompt_tokens':1,'completion_tokens':1}}")
     EVENT("{'choices':[{'delta':{'content':'y'},'finish_reason':'stop'}],'usage':{'prompt_tokens':1,'completion_tokens':2}}"),
     "text(x) text(y) done(stop in 1 cached 0 out 2 reasoning 0)"},
    {"usage of the choice", SSE,
     CHOICE("'delta':{},'finish_reason':'stop','usage':{'prompt_tokens':7,'completion_tokens':5,'cached_tokens':3}") DONE,
     "done(stop in 7 cached 3 out 5 reasoning 0)"},
    {"usage of the chunk before that of the choice", SSE,
     EVENT("{'choices':[{'delta':{},'finish_reason':'stop','usage':{}}],'usage':{'prompt_tokens':7,'completion_tokens':5}}") DONE,
     "done(stop in 7 cached 0 out 5 reasoning 0)"},
    {"usage of Groq's own", SSE,
     EVENT("{'choices':[{'delta':{},'finish_reason':'stop'}],'x_groq':{'id':'r','usage':{'prompt_tokens':7,'completion_tokens':5}}}") DONE,
     "done(stop in 7 cached 0 out 5 reasoning 0)"},
    {"cached tokens in DeepSeek's words", SSE, FINISH("stop")
     EVENT("{'choices':[],'usage':{'prompt_tokens':7,'completion_tokens':5,'prompt_cache_hit_tokens':4,'prompt_cache_miss_tokens':3}}") DONE,
     "done(stop in 7 cached 4 out 5 reasoning 0)"},
    {"no choices", SSE, EVENT("{'choices':null}") EVENT("{}") EVENT("{'choices':[null,7,{}]}") TEXT("x") STOP, "text(x) " END},
    {"Azure's filter results", SSE,
     EVENT("{'choices':[],'created':0,'id':'','model':'','object':'','prompt_filter_results':[{'prompt_index':0,'content_filter_results':{}}]}")
     CHOICE("'delta':{'content':'x'},'content_filter_results':{'hate':{'filtered':false,'severity':'safe'}},'logprobs':null,'finish_reason':null")
     CHOICE("'finish_reason':null,'content_filter_offsets':{'check_offset':1},'content_filter_results':{}") STOP, "text(x) " END},
    {"the role in every delta", SSE,
     DELTA("'role':'assistant','content':'x','tool_calls':null,'reasoning_content':null") DELTA("'role':'assistant','content':'y','tool_calls':[]") STOP,
     "text(x) text(y) " END},
    {"one answer in several choices", JSON,
     "{'choices':[{'message':{'content':'x','role':'assistant'},'finish_reason':'tool_calls'},"
     "{'message':{'tool_calls':[{'id':'c1','type':'function','function':{'name':'f','arguments':'{}'}}]},'finish_reason':'tool_calls'}]}",
     "text(x) begin(0 c1 f) args(0 {}) end(0) " CALLS_END},
    {"text beside the finish_reason", SSE, CHOICE("'delta':{'content':'x'},'finish_reason':'stop'"),
     "text(x) " END},
    {"chunks without choices", SSE,
     EVENT("{'choices':[],'prompt_filter_results':[]}") EVENT("{'type':'ping'}") TEXT("x") STOP, "text(x) " END},
    {"another choice is not ours", SSE,
     EVENT("{'choices':[{'index':1,'delta':{'content':'other'}},{'index':0,'delta':{'content':'x'}}]}") STOP,
     "text(x) " END},
    {"a null delta", SSE, CHOICE("'delta':null") TEXT("x") STOP, "text(x) " END},
    {"messages in a stream", SSE, CHOICE("'message':{'content':'x'}") STOP, "text(x) " END},
    {"content as a list of parts", SSE,
     DELTA("'content':[{'type':'thinking','thinking':[{'type':'text','text':'hm'},{'type':'text','text':'m'}]},"
           "{'type':'text','text':'a'},{'type':'refusal','refusal':'no'},{'type':'reference','ids':[1]},'b']") STOP,
     "reasoning(hm) reasoning(m) text(a) refusal(no) text(b) " END},
    {"reasoning in a part with summaries", SSE, /* Claude at Databricks */
     DELTA("'content':[{'type':'reasoning','summary':[{'type':'summary_text','text':'hm','signature':''}]}]")
     DELTA("'content':[{'type':'reasoning','summary':[{'type':'summary_text','text':'','signature':'Eq'}]}]") TEXT("a") STOP,
     "reasoning(hm) text(a) " END},
    {"probabilities", SSE,
     CHOICE("'delta':{'content':'ab'},'logprobs':{'content':[{'token':'a','logprob':-1,'bytes':[97],'x':1,"
            "'top_logprobs':[{'token':'a','logprob':-1,'bytes':[97]}]},{'token':'b','logprob':-2,'bytes':null}]}") STOP,
     "logprobs([{'token':'a','logprob':-1,'bytes':[97],'top_logprobs':[{'token':'a','logprob':-1,'bytes':[97]}]},"
     "{'token':'b','logprob':-2,'bytes':[98],'top_logprobs':[]}]) text(ab) " END},
    {"probabilities of nothing", SSE,
     CHOICE("'delta':{'content':'a'},'logprobs':{'content':[]}") CHOICE("'delta':{'content':'b'},'logprobs':null")
     CHOICE("'delta':{'content':'c'},'logprobs':{'content':[7,{'token':5},{'token':'c'}]}") STOP,
     "text(a) text(b) text(c) " END},
    {"escapes", SSE, TEXT("a\\n\\ud83d\\ude00b") STOP, "text(a\n\xF0\x9F\x98\x80" "b) " END},

    /* --- reasoning and refusal --- */
    {"reasoning_content", SSE, DELTA("'reasoning_content':'hm','content':null") TEXT("x") STOP, "as(reasoning_content) reasoning(hm) text(x) " END},
    {"reasoning", SSE, DELTA("'reasoning':'hm','content':''") DELTA("'reasoning':'m'") TEXT("x") STOP, "as(reasoning) reasoning(hm) reasoning(m) text(x) " END},
    {"both names for one text", SSE, DELTA("'reasoning':'hm','reasoning_content':'hm'") STOP, "as(reasoning_content) reasoning(hm) " END},
    {"an empty name and a full one", SSE, DELTA("'reasoning_content':'','reasoning':'hm'") STOP, "as(reasoning) reasoning(hm) " END},
    {"reasoning in details, too", SSE,
     DELTA("'reasoning':'hm','reasoning_details':[{'type':'reasoning.text','text':'hm','index':0}]") STOP,
     "as(reasoning) reasoning(hm) detail({'type':'reasoning.text','text':'hm','index':0}) " END},
    {"reasoning in details only", SSE,
     DELTA("'content':'','reasoning':null,'reasoning_details':[{'type':'reasoning.summary','summary':'h'},{'type':'reasoning.text','text':'m','signature':'s'},"
           "{'type':'reasoning.encrypted','data':'gAAA'},7]") STOP,
     "reasoning(h) reasoning(m) detail({'type':'reasoning.summary','summary':'h'}) detail({'type':'reasoning.text','text':'m','signature':'s'}) "
     "detail({'type':'reasoning.encrypted','data':'gAAA'}) " END},
    {"an entry of details in fragments", SSE, /* Anthropic by way of OpenRouter */
     DELTA("'content':'','reasoning_details':[{'type':'reasoning.text','text':'Let','format':'f','index':0,'signature':null}]")
     DELTA("'reasoning_details':[{'type':'reasoning.text','text':' me','format':'f','index':0}]")
     DELTA("'reasoning_details':[{'type':'reasoning.text','signature':'Et8','format':'f','index':0}]")
     DELTA("'reasoning_details':[{'type':'reasoning.text','text':'Next','format':'f','index':1}]") TEXT("x") TEXT("y") STOP,
     "reasoning(Let) reasoning( me) reasoning(Next) detail({'type':'reasoning.text','text':'Let me','format':'f','index':0,'signature':'Et8'}) "
     "detail({'type':'reasoning.text','text':'Next','format':'f','index':1}) text(x) text(y) " END},
    {"details sealed for calls", SSE, /* Gemini 3 by way of OpenRouter */
     DELTA("'reasoning_details':[{'type':'reasoning.encrypted','data':'A','id':'c1','index':0},{'type':'reasoning.encrypted','data':'B','id':'c2','index':0}],"
           "'tool_calls':[{'index':0,'id':'c1','function':{'name':'f','arguments':'{}'}}]") FINISH("tool_calls"),
     "detail({'type':'reasoning.encrypted','data':'A','id':'c1','index':0}) detail({'type':'reasoning.encrypted','data':'B','id':'c2','index':0}) "
     "begin(0 c1 f) args(0 {}) end(0) " CALLS_END},
    {"details behind a call", SSE,
     DELTA("'tool_calls':[{'index':0,'id':'c1','function':{'name':'f','arguments':'{}'}}]")
     DELTA("'reasoning_details':[{'type':'reasoning.encrypted','data':'A'}]") FINISH("tool_calls"),
     "begin(0 c1 f) detail({'type':'reasoning.encrypted','data':'A'}) args(0 {}) end(0) " CALLS_END},
    {"whole entries stay as they are", JSON,
     "{'choices':[{'message':{'content':'x','reasoning':'ab','reasoning_details':[{'type':'reasoning.text','text':'a'},{'type':'reasoning.text','text':'b'}]},"
     "'finish_reason':'stop'}]}",
     "as(reasoning) reasoning(ab) detail({'type':'reasoning.text','text':'a'}) detail({'type':'reasoning.text','text':'b'}) text(x) " END},
    {"thoughts in the text are text", SSE, TEXT("<think>hm</think>") TEXT("x") STOP, "text(<think>hm</think>) text(x) " END},
    {"reasoning beside text", SSE, DELTA("'content':'x','reasoning':'hm'") STOP, "as(reasoning) reasoning(hm) text(x) " END},
    {"refusal", SSE, DELTA("'refusal':'I can'") DELTA("'refusal':'not'") STOP, "refusal(I can) refusal(not) " END},

    {"citations", SSE, TEXT("x") DELTA("'annotations':[{'type':'url_citation','url_citation':{'url':'u','title':'t','start_index':0,'end_index':1,'content':'c'}}]") STOP,
     "text(x) annotation({'type':'url_citation','url':'u','title':'t','start_index':0,'end_index':1}) " END},
    {"citations of an unknown kind", SSE, TEXT("x") DELTA("'annotations':[{'type':'star'},7,{'url_citation':{}}]") STOP, "text(x) " END},

    /* --- how it ends --- */
    {"no [DONE]", SSE, TEXT("x") FINISH("stop"), "text(x) " END},
    {"no finish_reason", SSE, TEXT("x") DONE, "text(x) " END},
    {"nothing but [DONE]", SSE, DONE, END},
    {"nothing after [DONE] counts", SSE, TEXT("x") DONE TEXT("y") EVENT("garbage"), "text(x) " END},
    {"length", SSE, TEXT("x") FINISH("length") DONE, "text(x) done(length)"},
    {"content_filter", SSE, TEXT("x") FINISH("content_filter") DONE, "text(x) done(content_filter)"},
    {"a word of its own", SSE, TEXT("x") FINISH("eos") DONE, "text(x) " END},
    {"words in capitals", SSE, TEXT("x") FINISH("MAX_TOKENS") DONE, "text(x) done(length)"},
    {"filters of Gemini", SSE, TEXT("x") FINISH("PROHIBITED_CONTENT") DONE, "text(x) done(content_filter)"},
    {"filters with a reason", SSE, TEXT("x") FINISH("content_filter: SAFETY") DONE, "text(x) done(content_filter)"},
    {"filters of Zhipu", SSE, TEXT("x") FINISH("sensitive") DONE, "text(x) done(content_filter)"},
    {"filters of Bedrock", SSE, TEXT("x") FINISH("guardrail_intervened") DONE, "text(x) done(content_filter)"},
    {"refusal, as gateways to Claude say", SSE, TEXT("x") FINISH("refusal") DONE, "text(x) done(content_filter)"},
    {"end_turn, as gateways to Claude say", SSE, TEXT("x") FINISH("end_turn") DONE, "text(x) " END},
    {"a finish_reason called null", SSE, CHOICE("'delta':{'content':'x'},'finish_reason':'null'") STOP, "text(x) " END},
    {"a finish_reason called null is none", SSE, CHOICE("'delta':{'content':'x'},'finish_reason':'null'"), "text(x) failed(upstream again)"},
    {"text after the finish_reason", SSE, CHOICE("'delta':{'content':'x'},'finish_reason':'stop'") TEXT("y") DONE, "text(x) text(y) " END},
    {"empty deltas after the finish_reason", SSE, TEXT("x") FINISH("stop") DELTA("'role':'assistant','content':''") FINISH("stop") DONE, "text(x) " END},
    {"the first finish_reason counts", SSE, TEXT("x") FINISH("length") FINISH("stop") DONE, "text(x) done(length)"},
    {"an empty finish_reason is none", SSE, CHOICE("'delta':{'content':'x'},'finish_reason':''"),
     "text(x) failed(upstream again)"},
    {"tool_calls without calls", SSE, TEXT("x") FINISH("tool_calls") DONE, "text(x) " END},
    {"cut without finish_reason or [DONE]", SSE, TEXT("x") TEXT("y"), "text(x) text(y) failed(upstream again)"},
    {"cut inside a chunk", SSE, TEXT("x") "data: {'choices':[{'del", "text(x) failed(upstream again)"},
    {"cut inside [DONE]", SSE, TEXT("x") "data: [DON", "text(x) failed(upstream again)"},
    {"last empty line missing", SSE, TEXT("x") "data: [DONE]", "text(x) " END},
    {"last line is the finish_reason", SSE, TEXT("x") "data: {'choices':[{'delta':{},'finish_reason':'stop'}]}",
     "text(x) " END},
    {"empty body", SSE, "", "failed(upstream again)"},
    {"blank body", SSE, "\r\n\r\n  ", "failed(upstream again)"},
    {"only comments", SSE, ": processing\n\n: processing\n\n", "failed(upstream again)"},

    /* --- ways to write SSE --- */
    {"CRLF", SSE, "data: {'choices':[{'delta':{'content':'x'}}]}\r\n\r\ndata: [DONE]\r\n\r\n", "text(x) " END},
    {"CR", SSE, "data: {'choices':[{'delta':{'content':'x'}}]}\r\rdata: [DONE]\r\r", "text(x) " END},
    {"no blank after the colon", SSE, "data:{'choices':[{'delta':{'content':'x'}}]}\n\ndata:[DONE]\n\n", "text(x) " END},
    {"data on several lines", SSE,
     "data: {'choices':\ndata: [{'delta':\ndata: {'content':'x'}}]}\n\ndata: [DONE]\n\n", "text(x) " END},
    {"byte order mark, comments, names, ids", SSE,
     "\xEF\xBB\xBF: hello\nevent: chunk\nid: 1\nretry: 5\n" TEXT("x") "data:\n\n" ": ping\n\n" DONE, "text(x) " END},
    {"blanks around [DONE]", SSE, TEXT("x") "data:   [DONE] \n\n", "text(x) " END},
    {"lines that are no fields", SSE, "garbage\n\n" TEXT("x") "{}\n\n" DONE, "text(x) " END},
    {"no content type", "", TEXT("x") STOP, "text(x) " END},
    {"a stream called JSON", JSON, TEXT("x") STOP, "text(x) " END},

    /* --- tool calls --- */
    {"OpenAI's way", SSE,
     CALL("'index':0,'id':'call_a','type':'function','function':{'name':'f','arguments':''}")
     CALL("'index':0,'function':{'arguments':'{\\'a\\''}") CALL("'index':0,'function':{'arguments':':1}'}")
     CALL("'index':1,'id':'call_b','type':'function','function':{'name':'g','arguments':''}")
     CALL("'index':1,'function':{'arguments':'{}'}") FINISH("tool_calls") DONE,
     "begin(0 call_a f) args(0 {'a') args(0 :1}) end(0) begin(1 call_b g) args(1 {}) end(1) " CALLS_END},
    {"text before calls", SSE,
     TEXT("x") CALL("'index':0,'id':'c1','function':{'name':'f','arguments':'{}'}") FINISH("tool_calls"),
     "text(x) begin(0 c1 f) args(0 {}) end(0) " CALLS_END},
    {"stop instead of tool_calls", SSE, CALL("'index':0,'id':'c1','function':{'name':'f','arguments':'{}'}") STOP,
     "begin(0 c1 f) args(0 {}) end(0) " CALLS_END},
    {"length cuts a call", SSE, CALL("'index':0,'id':'c1','function':{'name':'f','arguments':'{\\'a'}") FINISH("length"),
     "begin(0 c1 f) args(0 {'a) done(length)"},
    {"no index", SSE,
     CALL("'id':'c1','function':{'name':'f','arguments':'{'}") CALL("'function':{'arguments':'}'}")
     CALL("'id':'c2','function':{'name':'g','arguments':'{'}") CALL("'function':{'arguments':'}'}") STOP,
     "begin(0 c1 f) args(0 {) args(0 }) end(0) begin(1 c2 g) args(1 {) args(1 }) end(1) " CALLS_END},
    {"no id", SSE,
     CALL("'index':0,'function':{'name':'f','arguments':'{'}") CALL("'index':0,'function':{'arguments':'}'}")
     CALL("'index':1,'function':{'name':'f','arguments':'{}'}") STOP,
     "begin(0 made f) args(0 {) args(0 }) end(0) begin(1 made f) args(1 {}) end(1) " CALLS_END},
    {"neither index nor id, whole calls", SSE,
     CALL("'function':{'name':'f','arguments':'{}'}") CALL("'function':{'name':'f','arguments':'{\\'a\\':1}'}") STOP,
     "begin(0 made f) args(0 {}) end(0) begin(1 made f) args(1 {'a':1}) end(1) " CALLS_END},
    {"neither index nor id, arguments in pieces", SSE,
     CALL("'function':{'name':'f','arguments':'{'}") CALL("'function':{'arguments':'}'}")
     CALL("'function':{'name':'g'}") CALL("'function':{'arguments':'{}'}") STOP,
     "begin(0 made f) args(0 {) args(0 }) end(0) begin(1 made g) args(1 {}) end(1) " CALLS_END},
    {"neither index nor id nor arguments", SSE,
     CALL("'function':{'name':'f'}") CALL("'function':{'name':'g','arguments':''}") STOP,
     "begin(0 made f) end(0) begin(1 made g) end(1) " CALLS_END},
    {"every index 0, whole calls", SSE,
     CALL("'index':0,'id':'c1','function':{'name':'f','arguments':'{}'}")
     CALL("'index':0,'id':'c2','function':{'name':'f','arguments':'{}'}") STOP,
     "begin(0 c1 f) args(0 {}) end(0) begin(1 c2 f) args(1 {}) end(1) " CALLS_END},
    {"every index 0, no ids", SSE,
     CALL("'index':0,'function':{'name':'f','arguments':'{}'}") CALL("'index':0,'function':{'name':'f','arguments':'{}'}") STOP,
     "begin(0 made f) args(0 {}) end(0) begin(1 made f) args(1 {}) end(1) " CALLS_END},
    {"every index 0, one tool twice, arguments later", SSE,
     CALL("'index':0,'id':'c1','function':{'name':'f','arguments':'{}'}") CALL("'index':0,'id':'c2','function':{'name':'f','arguments':''}")
     CALL("'index':0,'function':{'arguments':'{}'}") STOP,
     "begin(0 c1 f) args(0 {}) end(0) begin(1 c2 f) args(1 {}) end(1) " CALLS_END},
    {"several whole calls in one chunk", SSE,
     DELTA("'tool_calls':[{'index':0,'id':'c1','function':{'name':'f','arguments':'{}'}},"
           "{'index':1,'id':'c2','function':{'name':'g','arguments':'{}'}}]") STOP,
     "begin(0 c1 f) args(0 {}) end(0) begin(1 c2 g) args(1 {}) end(1) " CALLS_END},
    {"id and name in every delta", SSE,
     CALL("'index':0,'id':'c1','function':{'name':'f','arguments':'{'}") CALL("'index':0,'id':'c1','function':{'name':'f','arguments':'}'}")
     CALL("'index':0,'id':'c1','function':{'name':'f','arguments':''}") STOP,
     "begin(0 c1 f) args(0 {) args(0 }) end(0) " CALLS_END},
    {"id and name in every delta, and a blank after the arguments", SSE,
     CALL("'index':0,'id':'c1','function':{'name':'f','arguments':'{}'}") CALL("'index':0,'id':'c1','function':{'name':'f','arguments':' '}") STOP,
     "begin(0 c1 f) args(0 {} ) end(0) " CALLS_END},
    {"the name in every delta, no id", SSE,
     CALL("'index':0,'function':{'name':'f','arguments':'{'}") CALL("'index':0,'function':{'name':'f','arguments':'}'}") STOP,
     "begin(0 made f) args(0 {) args(0 }) end(0) " CALLS_END},
    {"an index only behind the first delta, which is said again without words", SSE,
     CALL("'id':'c1','function':{'name':'f','arguments':'{\\'a\\':1}'}") CALL("'index':0,'id':'c1','function':{'name':'','arguments':''}") STOP,
     "begin(0 c1 f) args(0 {'a':1}) end(0) " CALLS_END},
    {"an index only behind the first delta, with the arguments", SSE,
     CALL("'id':'c1','function':{'name':'f','arguments':''}") CALL("'index':0,'id':'c1','function':{'name':'','arguments':'{'}")
     CALL("'index':0,'function':{'arguments':'}'}") CALL("'id':'c2','function':{'name':'f','arguments':''}") CALL("'index':1,'function':{'arguments':'{}'}") STOP,
     "begin(0 c1 f) args(0 {) args(0 }) end(0) begin(1 c2 f) args(1 {}) end(1) " CALLS_END},
    {"index 0 behind the first deltas of two calls", SSE,
     CALL("'id':'c1','function':{'name':'f','arguments':'{}'}") CALL("'index':0,'id':'c1','function':{'name':'','arguments':''}")
     CALL("'id':'c2','function':{'name':'f','arguments':''}") CALL("'index':0,'id':'c2','function':{'name':'','arguments':'{}'}") STOP,
     "begin(0 c1 f) args(0 {}) end(0) begin(1 c2 f) args(1 {}) end(1) " CALLS_END},
    {"id in every delta, no index", SSE,
     CALL("'id':'c1','function':{'name':'f','arguments':'{'}") CALL("'id':'c1','function':{'arguments':'}'}") STOP,
     "begin(0 c1 f) args(0 {) args(0 }) end(0) " CALLS_END},
    {"a new id in every delta", SSE,
     CALL("'index':0,'id':'c1','function':{'name':'f','arguments':'{'}") CALL("'index':0,'id':'c2','function':{'arguments':'}'}") STOP,
     "begin(0 c1 f) args(0 {) args(0 }) end(0) " CALLS_END},
    {"empty words where there is nothing to say", SSE,
     CALL("'index':0,'id':'c1','function':{'name':'f','arguments':''}")
     CALL("'index':0,'id':'','function':{'name':'','arguments':'{}'}")
     CALL("'index':0,'id':null,'function':{'name':null,'arguments':null}") STOP,
     "begin(0 c1 f) args(0 {}) end(0) " CALLS_END},
    {"the same id for different calls", SSE,
     CALL("'index':0,'id':'c1','function':{'name':'f','arguments':'{}'}") CALL("'index':1,'id':'c1','function':{'name':'f','arguments':'{}'}") STOP,
     "begin(0 c1 f) args(0 {}) end(0) begin(1 made f) args(1 {}) end(1) " CALLS_END},
    {"the same id for different calls, no index", SSE,
     CALL("'id':'c1','function':{'name':'f','arguments':'{}'}") CALL("'id':'c1','function':{'name':'f','arguments':'{}'}") STOP,
     "begin(0 c1 f) args(0 {}) end(0) begin(1 made f) args(1 {}) end(1) " CALLS_END},
    {"an id that no client could send back", SSE,
     CALL("'id':'0123456789012345678901234567890123456789012345678901234567890123456789','function':{'name':'f','arguments':'{}'}") STOP,
     "begin(0 made f) args(0 {}) end(0) " CALLS_END},
    {"Gemini's signature, on the first of two calls", SSE,
     DELTA("'role':'assistant','tool_calls':[{'extra_content':{'google':{'thought_signature':'Eo=='}},'function':{'arguments':'{}','name':'f'},'id':'c1','type':'function'}]")
     DELTA("'role':'assistant','tool_calls':[{'function':{'arguments':'{}','name':'f'},'id':'c2','type':'function'}]") FINISH("tool_calls") DONE,
     "begin(0 c1 f) args(0 {}) extra(0 {'google':{'thought_signature':'Eo=='}}) end(0) begin(1 c2 f) args(1 {}) end(1) " CALLS_END},
    {"a signature in a delta of its own", SSE,
     CALL("'index':0,'id':'c1','function':{'name':'f','arguments':'{}'}") CALL("'index':0,'extra_content':{'a':'b'}") STOP,
     "begin(0 c1 f) args(0 {}) extra(0 {'a':'b'}) end(0) " CALLS_END},
    {"signatures of two calls whose deltas are mixed", SSE,
     CALL("'index':0,'id':'c1','extra_content':{'a':1},'function':{'name':'f','arguments':'{'}")
     CALL("'index':1,'id':'c2','extra_content':{'a':2},'function':{'name':'g','arguments':'{}'}") CALL("'index':0,'function':{'arguments':'}'}") STOP,
     "begin(0 c1 f) args(0 {) args(0 }) extra(0 {'a':1}) end(0) begin(1 c2 g) args(1 {}) extra(1 {'a':2}) end(1) " CALLS_END},
    {"JSON with a signature", JSON,
     "{'choices':[{'message':{'tool_calls':[{'extra_content':{'a':'b'},'id':'c1','function':{'name':'f','arguments':'{}'}}]},'finish_reason':'tool_calls'}]}",
     "begin(0 c1 f) args(0 {}) extra(0 {'a':'b'}) end(0) " CALLS_END},
    {"a signature that is none", SSE,
     CALL("'index':0,'id':'c1','extra_content':null,'function':{'name':'f','arguments':'{}'}") CALL("'index':0,'extra_content':'x'") CALL("'index':0,'extra_content':{}") STOP,
     "begin(0 c1 f) args(0 {}) end(0) " CALLS_END},
    {"a signature of no call", SSE, CALL("'extra_content':{'a':'b'}") TEXT("x") STOP, "text(x) " END},
    {"one call without a list around it", SSE,
     DELTA("'role':'assistant','tool_calls':{'index':0,'id':'','type':'function','function':{'name':'f','arguments':'{'}}")
     DELTA("'tool_calls':{'index':0,'id':'','type':'function','function':{'name':null,'arguments':'}'}}") FINISH("eos_token") DONE,
     "begin(0 made f) args(0 {) args(0 }) end(0) " CALLS_END},
    {"an index of null", SSE,
     CALL("'index':null,'id':'c1','function':{'name':'f','arguments':'{}'}") CALL("'index':null,'id':'c2','function':{'name':'f','arguments':'{}'}") STOP,
     "begin(0 c1 f) args(0 {}) end(0) begin(1 c2 f) args(1 {}) end(1) " CALLS_END},
    {"a new id and an empty name in every delta", SSE,
     CALL("'index':0,'id':'c1','function':{'name':'f','arguments':''}") CALL("'index':0,'id':'c2','function':{'name':'','arguments':'{'}")
     CALL("'index':0,'id':'c3','function':{'name':'','arguments':'}'}") STOP,
     "begin(0 c1 f) args(0 {) args(0 }) end(0) " CALLS_END},
    {"a name that comes late", SSE,
     CALL("'index':0,'id':'c1','function':{'name':'','arguments':''}") CALL("'index':0,'id':'c1','function':{'name':'f','arguments':'{}'}") STOP,
     "begin(0 c1 f) args(0 {}) end(0) " CALLS_END},
    {"an empty object before the arguments", SSE,
     CALL("'index':0,'id':'c1','function':{'name':'f','arguments':'{}'}") CALL("'index':0,'function':{'arguments':' {\\'a\\':'}") CALL("'index':0,'function':{'arguments':'1}'}")
     CALL("'index':1,'id':'c2','function':{'name':'g','arguments':{}}") CALL("'index':1,'function':{'arguments':'{\\'b\\':2}'}") STOP,
     "begin(0 c1 f) args(0  {'a':) args(0 1}) end(0) begin(1 c2 g) args(1 {'b':2}) end(1) " CALLS_END},
    {"an empty object that is all", SSE,
     CALL("'index':0,'id':'c1','function':{'name':'f','arguments':'{}'}") CALL("'index':0,'function':{'arguments':''}") TEXT("x") STOP,
     "begin(0 c1 f) text(x) args(0 {}) end(0) " CALLS_END},
    {"the function_call of old", SSE,
     DELTA("'role':'assistant','content':null,'function_call':{'name':'f','arguments':''}") DELTA("'function_call':{'arguments':'{\\'a\\''}")
     DELTA("'function_call':{'arguments':':1}'}") FINISH("function_call") DONE,
     "begin(0 made f) args(0 {'a') args(0 :1}) end(0) " CALLS_END},
    {"a whole function_call in one chunk", SSE, DELTA("'function_call':{'name':'f','arguments':'{\\'a\\':1}'}") FINISH("function_call") DONE,
     "begin(0 made f) args(0 {'a':1}) end(0) " CALLS_END},
    {"the name of a function_call in every delta", SSE,
     DELTA("'function_call':{'name':'f','arguments':'{'}") DELTA("'function_call':{'name':'f','arguments':'}'}") FINISH("function_call") DONE,
     "begin(0 made f) args(0 {) args(0 }) end(0) " CALLS_END},
    {"text before a function_call", SSE, TEXT("x") DELTA("'function_call':{'name':'f','arguments':'{}'}") FINISH("function_call") DONE,
     "text(x) begin(0 made f) args(0 {}) end(0) " CALLS_END},
    {"a function_call of null", SSE, DELTA("'content':'x','function_call':null,'tool_calls':null") STOP, "text(x) " END},
    {"a function_call without a name", SSE, DELTA("'function_call':{'arguments':'{}'}") FINISH("function_call") DONE, "failed(upstream)"},
    {"a call in both ways", SSE,
     DELTA("'tool_calls':[{'index':0,'id':'c1','function':{'name':'f','arguments':'{'}}],'function_call':{'name':'f','arguments':'{'}")
     DELTA("'tool_calls':[{'index':0,'function':{'arguments':'}'}}],'function_call':{'arguments':'}'}") STOP,
     "begin(0 c1 f) args(0 {) args(0 }) end(0) " CALLS_END},
    {"JSON with a function_call", JSON,
     "{'choices':[{'index':0,'message':{'role':'assistant','content':null,'function_call':{'name':'f','arguments':'{}'}},'finish_reason':'function_call'}]}",
     "begin(0 made f) args(0 {}) end(0) " CALLS_END},
    {"arguments as an object", SSE, CALL("'index':0,'id':'c1','function':{'name':'f','arguments':{'a':[1,'}']}}") STOP,
     "begin(0 c1 f) args(0 {'a':[1,'}']}) end(0) " CALLS_END},
    {"no function around name and arguments", SSE, CALL("'id':'c1','name':'f','arguments':'{}'") STOP,
     "begin(0 c1 f) args(0 {}) end(0) " CALLS_END},
    {"name after id and arguments", SSE,
     CALL("'index':0,'id':'c1','function':{'arguments':'{'}") CALL("'index':0,'function':{'name':'f','arguments':'}'}") STOP,
     "begin(0 c1 f) args(0 {}) end(0) " CALLS_END},
    {"an index that starts anywhere", SSE, CALL("'index':1,'id':'c1','function':{'name':'f','arguments':'{}'}") STOP,
     "begin(0 c1 f) args(0 {}) end(0) " CALLS_END},
    {"interleaved calls leave in order", SSE,
     CALL("'index':0,'id':'c1','function':{'name':'f','arguments':''}") CALL("'index':1,'id':'c2','function':{'name':'g','arguments':''}")
     CALL("'index':1,'function':{'arguments':'{\\'b\\':'}") CALL("'index':0,'function':{'arguments':'{\\'a\\':1}'}")
     CALL("'index':1,'function':{'arguments':'2}'}") STOP,
     "begin(0 c1 f) args(0 {'a':1}) end(0) begin(1 c2 g) args(1 {'b':) args(1 2}) end(1) " CALLS_END},
    {"arguments that are not JSON end with the turn", SSE,
     CALL("'index':0,'id':'c1','function':{'name':'f','arguments':'oops'}")
     CALL("'index':1,'id':'c2','function':{'name':'g','arguments':'{}'}") STOP,
     "begin(0 c1 f) args(0 oops) end(0) begin(1 c2 g) args(1 {}) end(1) " CALLS_END},
    {"braces in strings do not end a call", SSE,
     CALL("'index':0,'id':'c1','function':{'name':'f','arguments':'{\\'a\\':\\'}\\\\\\'}'}")
     CALL("'index':1,'id':'c2','function':{'name':'g','arguments':'{}'}")
     CALL("'index':0,'function':{'arguments':'\\'}'}") STOP,
     "begin(0 c1 f) args(0 {'a':'}\\'}) args(0 '}) end(0) begin(1 c2 g) args(1 {}) end(1) " CALLS_END},
    {"blanks after a call that ended", SSE,
     CALL("'index':0,'id':'c1','function':{'name':'f','arguments':'{}'}") CALL("'index':1,'id':'c2','function':{'name':'g','arguments':'{}'}")
     CALL("'index':0,'function':{'arguments':' \\n'}") STOP,
     "begin(0 c1 f) args(0 {}) end(0) begin(1 c2 g) args(1 {}) end(1) " CALLS_END},
    {"more after a call that ended", SSE,
     CALL("'index':0,'id':'c1','function':{'name':'f','arguments':'{}'}") CALL("'index':1,'id':'c2','function':{'name':'g','arguments':'{}'}")
     CALL("'index':0,'function':{'arguments':'{}'}") STOP,
     "begin(0 c1 f) args(0 {}) end(0) begin(1 c2 g) failed(upstream)"},
    {"marks of a template behind a name", SSE,
     CALL("'index':0,'id':'c1','function':{'name':'f<|channel|>commentary','arguments':'{}'}")
     CALL("'index':1,'id':'c2','function':{'name':'g<|constrain|>json<|message|>','arguments':'{}'}") STOP,
     "begin(0 c1 f) args(0 {}) end(0) begin(1 c2 g) args(1 {}) end(1) " CALLS_END},
    {"marks of a template behind a name that is repeated", SSE,
     CALL("'id':'c1','function':{'name':'f','arguments':'{\\'a\\':'}") CALL("'id':'c1','function':{'name':'f<|channel|>commentary','arguments':'1}'}") STOP,
     "begin(0 c1 f) args(0 {'a':) args(0 1}) end(0) " CALLS_END},
    {"nothing but marks", SSE, CALL("'index':0,'id':'c1','function':{'name':'<|channel|>','arguments':'{}'}") STOP,
     "begin(0 c1 <|channel|>) args(0 {}) end(0) " CALLS_END},
    {"a call without a name", SSE, CALL("'index':0,'id':'c1','function':{'arguments':'{}'}") STOP, "failed(upstream)"},
    {"empty deltas", SSE, DELTA("'tool_calls':[]") DELTA("'tool_calls':[null,{},{'index':0}]") TEXT("x") STOP, "text(x) " END},

    /* --- errors inside the stream --- */
    {"error object", SSE, TEXT("x") EVENT("{'error':{'message':'it broke','type':'server_error'}}"),
     "text(x) failed(upstream again: it broke)"},
    {"error as text", SSE, EVENT("{'error':'it broke'}") DONE, "failed(upstream again: it broke)"},
    {"error with a status", SSE, EVENT("{'error':{'message':'slow down','code':429}}"),
     "failed(limit again rate_limit_exceeded: slow down)"},
    {"error with a status in quotes", SSE, EVENT("{'error':{'message':'slow down','code':'429'}}"),
     "failed(limit again rate_limit_exceeded: slow down)"},
    {"no more quota", SSE, EVENT("{'error':{'message':'pay','code':'insufficient_quota'}}"), "failed(limit insufficient_quota: pay)"},
    {"full context", SSE, EVENT("{'error':{'message':'This is beyond the maximum context length.','code':400}}"),
     "failed(invalid context_length_exceeded: This is beyond the maximum context length.)"},
    {"object error", SSE, EVENT("{'object':'error','message':'it broke','code':500}"), "failed(upstream again: it broke)"},
    {"error event", SSE, TEXT("x") "event: error\n" EVENT("{'message':'it broke'}"), "text(x) failed(upstream again: it broke)"},
    {"error event in words", SSE, "event: error\n" EVENT("it broke"), "failed(upstream again: it broke)"},
    {"error in the choice", SSE, CHOICE("'delta':{},'finish_reason':'error','error':{'message':'it broke','code':502}"),
     "failed(upstream again: it broke)"},
    {"the server gave up", SSE, TEXT("x") FINISH("abort") DONE, "text(x) failed(upstream again)"},
    {"too busy to go on", SSE, FINISH("insufficient_system_resource") DONE, "failed(upstream again)"},
    {"a call that its server could not read", SSE, FINISH("function_call_filter: MALFORMED_FUNCTION_CALL") USAGE DONE, "failed(upstream again)"},
    {"an error in a field of its own", SSE, TEXT("x") "error: {'message':'it broke','code':'content_filter'}\n\n" DONE,
     "text(x) failed(invalid content_filter: it broke)"},
    {"an error in a field at the end of an event", SSE, "data: {'choices':[]}\nerror: {'message':'it broke'}\n", "failed(upstream again: it broke)"},
    {"a field for errors that is empty", SSE, "error:\n" TEXT("x") STOP, "text(x) " END},
    {"an image that cannot be fetched", SSE, EVENT("{'error':{'message':'no','code':'invalid_image_url'}}"), "failed(invalid invalid_image_url: no)"},
    {"an image of a kind that is not read", SSE, EVENT("{'error':{'message':'no','code':'invalid_image_format'}}"),
     "failed(invalid invalid_image_format: no)"},
    {"error with usage", SSE, TEXT("x") EVENT("{'choices':[],'error':{'message':'no','code':'content_filter'},'usage':{'prompt_tokens':3,'completion_tokens':4}}"),
     "text(x) failed(invalid content_filter in 3 cached 0 out 4 reasoning 0: no)"},
    {"error behind usage", SSE, USAGE EVENT("{'error':'it broke'}"), "failed(upstream again in 7 cached 3 out 5 reasoning 2: it broke)"},
    {"error event with usage", SSE, "event: error\n" EVENT("{'message':'it broke','usage':{'prompt_tokens':3,'completion_tokens':4}}"),
     "failed(upstream again in 3 cached 0 out 4 reasoning 0: it broke)"},
    {"error in the choice with usage", SSE, EVENT("{'choices':[{'index':0,'delta':{},'finish_reason':'error','usage':{'prompt_tokens':3,'completion_tokens':4}}]}"),
     "failed(upstream again in 3 cached 0 out 4 reasoning 0)"},
    {"error without text", SSE, EVENT("{'error':{}}") EVENT("{'error':'','choices':[]}") TEXT("x") STOP, "text(x) " END},
    {"error with a status beside the code", SSE,
     EVENT("{'error':{'message':'no such tool','type':'invalid_request_error','code':'tool_use_failed','status_code':400}}"), "failed(invalid: no such tool)"},
    {"error with a status of its own name", SSE, EVENT("{'error':{'message':'slow down','code':'too_fast','status_code':429}}"),
     "failed(limit again rate_limit_exceeded: slow down)"},
    {"error of an overloaded server", SSE, "event: error\n" EVENT("{'type':'error','error':{'type':'overloaded_error','message':'Overloaded'}}"),
     "failed(upstream again: Overloaded)"},
    {"finish_reason error", SSE, TEXT("x") FINISH("error") DONE, "text(x) failed(upstream again)"},
    {"no error at all", SSE, EVENT("{'error':null,'choices':[{'delta':{'content':'x'}}]}") EVENT("{'error':{},'choices':[]}") STOP,
     "text(x) " END},
    {"garbage as data", SSE, TEXT("x") EVENT("garbage") STOP, "text(x) failed(upstream)"},
    {"half an object as data", SSE, TEXT("x") EVENT("{'choices':[") STOP, "text(x) failed(upstream)"},
    {"an array as data", SSE, EVENT("[1]") STOP, "failed(upstream)"},

    /* --- text that is none --- */
    {"bytes that are not UTF-8", SSE, TEXT("a\xFF" "b\xE2\x82") STOP, "text(a\xEF\xBF\xBD" "b\xEF\xBF\xBD) " END},

    /* --- characters in two pieces --- */
    {"a pair cut in two", SSE, TEXT("a\\ud83d") TEXT("\\ude00b") STOP, "text(a) text(" SMILE ") text(b) " END},
    {"nothing but halves", SSE, TEXT("\\uD83D") TEXT("\\uDE00") TEXT("x") STOP, "text(" SMILE ") text(x) " END},
    {"pairs on end", SSE, TEXT("\\ud83d") TEXT("\\ude00\\ud83d") TEXT("\\ude01\\ude00") STOP,
     "text(" SMILE ") text(" "\xF0\x9F\x98\x81" ") text(" NONE ") " END},
    {"nothing between the halves", SSE, TEXT("\\ud83d") TEXT("") DELTA("'content':null") CHOICE("'delta':null") TEXT("\\ude00") STOP,
     "text(" SMILE ") " END},
    {"a first half before a quote", SSE, TEXT("\\'\\ud83d") TEXT("\\ude00\\'") STOP, "text(') text(" SMILE ") text(') " END},
    {"a second half behind a quote", SSE, TEXT("\\ud83d") TEXT("\\'\\ude00") STOP, "text(" NONE ") text('" NONE ") " END},
    {"a first half alone", SSE, TEXT("a\\ud83d") TEXT("b") STOP, "text(a) text(" NONE ") text(b) " END},
    {"a first half before an escape", SSE, TEXT("\\ud83d") TEXT("\\n") STOP, "text(" NONE ") text(\n) " END},
    {"two first halves", SSE, TEXT("\\ud83d") TEXT("\\ud83d") TEXT("\\ude00") STOP, "text(" NONE ") text(" SMILE ") " END},
    {"a second half alone", SSE, TEXT("a") TEXT("\\ude00b") STOP, "text(a) text(" NONE "b) " END},
    {"a first half at the end", SSE, TEXT("a\\ud83d") STOP, "text(a) text(" NONE ") " END},
    {"a first half at the token limit", SSE, TEXT("a\\ud83d") FINISH("length"), "text(a) text(" NONE ") done(length)"},
    {"a first half of an answer that breaks", SSE, TEXT("a\\ud83d"), "text(a) failed(upstream again)"},
    {"halves within a piece", SSE, TEXT("a\\ud83db") TEXT("c\\ude00d") STOP, "text(a" NONE "b) text(c" NONE "d) " END},
    {"a character of its own at the ends of cut pieces", SSE, TEXT(NONE "\\ud83d") TEXT("\\ude00" NONE) STOP,
     "text(" NONE ") text(" SMILE ") text(" NONE ") " END},
    {"a pair cut in two, with logprobs", SSE,
     CHOICE("'delta':{'content':'\\ud83d'},'logprobs':{'content':[{'token':'\\ud83d','logprob':-1,'bytes':[240,159]}]}")
     CHOICE("'delta':{'content':'\\ude00'},'logprobs':{'content':[{'token':'\\ude00','logprob':-1,'bytes':[152,128]}]}") STOP,
     "logprobs([{'token':'" NONE "','logprob':-1,'bytes':[240,159],'top_logprobs':[]}]) "
     "logprobs([{'token':'" NONE "','logprob':-1,'bytes':[152,128],'top_logprobs':[]}]) text(" SMILE ") " END},
    {"reasoning cut in two", SSE, DELTA("'reasoning':'\\ud83d'") DELTA("'reasoning':'\\ude00'") TEXT("x") STOP,
     "as(reasoning) reasoning(" SMILE ") text(x) " END},
    {"a refusal cut in two", SSE, DELTA("'refusal':'\\ud83d'") DELTA("'refusal':'\\ude00'") STOP, "refusal(" SMILE ") " END},
    {"halves of different texts", SSE, DELTA("'reasoning':'\\ud83d'") TEXT("\\ude00") STOP,
     "as(reasoning) reasoning(" NONE ") text(" NONE ") " END},
    {"halves on both sides of a call", SSE,
     TEXT("\\ud83d") CALL("'index':0,'id':'c1','function':{'name':'f','arguments':'{ }'}") TEXT("\\ude00") STOP,
     "text(" NONE ") begin(0 c1 f) args(0 { }) text(" NONE ") end(0) " CALLS_END},
    {"a half before a citation", SSE, TEXT("\\ud83d") DELTA("'annotations':[{'type':'url_citation','url_citation':{'url':'u','title':'t','start_index':0,'end_index':1}}]") STOP,
     "text(" NONE ") annotation({'type':'url_citation','url':'u','title':'t','start_index':0,'end_index':1}) " END},
    {"arguments cut in two", SSE,
     CALL("'index':0,'id':'c1','function':{'name':'f','arguments':'{\\'a\\':\\'\\ud83d'}") CALL("'index':0,'function':{'arguments':'\\ude00\\'}'}") STOP,
     "begin(0 c1 f) args(0 {'a':') args(0 " SMILE "'}) end(0) " CALLS_END},
    {"arguments of interleaved calls, cut in two", SSE,
     CALL("'index':0,'id':'c1','function':{'name':'f','arguments':'{\\'a\\':\\'\\ud83d'}") CALL("'index':1,'id':'c2','function':{'name':'g','arguments':'{\\'b\\':\\'\\ud83d'}")
     CALL("'index':0,'function':{'arguments':'\\ude00\\'}'}") CALL("'index':1,'function':{'arguments':'\\ude01\\'}'}") STOP,
     "begin(0 c1 f) args(0 {'a':') args(0 " SMILE "'}) end(0) begin(1 c2 g) args(1 {'b':') args(1 \xF0\x9F\x98\x81'}) end(1) " CALLS_END},
    {"arguments that end in a half", SSE, CALL("'index':0,'id':'c1','function':{'name':'f','arguments':'{\\'a\\':\\'\\ud83d'}") STOP,
     "begin(0 c1 f) args(0 {'a':') args(0 " NONE ") end(0) " CALLS_END},
    {"half a pair in JSON", JSON, "{'choices':[{'message':{'content':'a\\ud83d','refusal':'\\ude00'}}]}",
     "text(a) text(" NONE ") refusal(" NONE ") " END},
    {"UTF-8 cut in two is no JSON", SSE, TEXT("\xF0\x9F") TEXT("\x98\x80") STOP, "text(" NONE ") text(" NONE NONE ") " END},

    {"NUL", SSE, TEXT("a\\u0000b\\\\u0000") STOP, "text(a\xEF\xBF\xBD" "b\\u0000) " END},

    /* --- answers that are not streamed --- */
    {"JSON", JSON,
     "{'id':'x','choices':[{'index':0,'message':{'role':'assistant','content':'hello','reasoning_content':'hm'},"
     "'finish_reason':'stop'}],'usage':{'prompt_tokens':7,'completion_tokens':5}}",
     "as(reasoning_content) reasoning(hm) text(hello) done(stop in 7 cached 0 out 5 reasoning 0)"},
    {"JSON called a stream", SSE, "\xEF\xBB\xBF\n {'choices':[{'message':{'content':'hello'},'finish_reason':'length'}]}",
     "text(hello) done(length)"},
    {"JSON with parts and refusal", JSON,
     "{'choices':[{'message':{'content':[{'type':'text','text':'a'},{'type':'output_text','text':'b'}],'refusal':'no'},'finish_reason':'stop'}]}",
     "text(a) text(b) refusal(no) " END},
    {"JSON with tool calls", JSON,
     "{'choices':[{'message':{'content':null,'tool_calls':[{'id':'c1','type':'function','function':{'name':'f','arguments':'{}'}},"
     "{'id':'c2','type':'function','function':{'name':'f','arguments':{'a':1}}}]},'finish_reason':'tool_calls'}]}",
     "begin(0 c1 f) args(0 {}) end(0) begin(1 c2 f) args(1 {'a':1}) end(1) " CALLS_END},
    {"JSON without finish_reason", JSON, "{'choices':[{'message':{'content':'x'}}]}", "text(x) " END},
    {"JSON with an error", JSON, "{'error':{'message':'it broke'}}", "failed(upstream again: it broke)"},
    {"JSON without choices", JSON, "{'choices':[]}", "failed(upstream)"},
    {"JSON of something else", JSON, "{'status':'ok'}", "failed(upstream)"},
    {"JSON, cut", JSON, "{'choices':[{'message':{'content':'hel", "failed(upstream again)"},
    {"JSON with bytes that are not UTF-8", JSON, "{'choices':[{'message':{'content':'a\xFF'}}]}", "text(a\xEF\xBF\xBD) " END},
    {"a page", "text/html; charset=utf-8", "<html>404</html>", "failed(upstream)"},
    {"a page called JSON", JSON, "\n<!doctype html>", "failed(upstream)"},
    {"words", "text/plain", "Internal error", "failed(upstream again)"},
};
/* clang-format on */

static const struct scripts table = {MODEL_DIALECT_CHAT, scripts, COUNT_OF(scripts)};

/* --- tests --- */

TEST(a_broken_connection_is_the_reason_only_when_something_is_missing)
{
    static const struct script whole = {"whole", SSE, TEXT("x") FINISH("stop"), "text(x) " END};
    static const struct script cut = {"cut", SSE, TEXT("x"),
                                      "text(x) failed(timeout: "
                                      "The model's answer ended early: too slow)"};
    struct err broken;

    err_set(&broken, ERR_TIMEOUT, "too slow");
    story_breaks(MODEL_DIALECT_CHAT, &whole, &broken);
    story_breaks(MODEL_DIALECT_CHAT, &cut, &broken);
}

/* --- limits --- */

struct counter {
    size_t bytes;
    size_t extra;
    unsigned calls;
};

static void count_text(void *arg, const char *text, size_t length)
{
    (void)text;
    ((struct counter *)arg)->bytes += length;
}

static void count_member(void *arg, const char *member)
{
    (void)arg, (void)member;
}

static void count_detail(void *arg, const json_t *detail)
{
    ((struct counter *)arg)->bytes += json_dumpb(detail, NULL, 0, JSON_COMPACT);
}

static void count_begin(void *arg, unsigned call, const char *id, const char *name)
{
    (void)call, (void)id, (void)name;
    ((struct counter *)arg)->calls++;
}

static void count_arguments(void *arg, unsigned call, const char *text, size_t length)
{
    (void)call;
    count_text(arg, text, length);
}

static void count_extra(void *arg, unsigned call, const json_t *extra)
{
    (void)call;
    ((struct counter *)arg)->extra += json_dumpb(extra, NULL, 0, JSON_COMPACT);
}

static void ignore_end(void *arg, unsigned call)
{
    (void)arg, (void)call;
}

static const struct model_events counting = {
    .text = count_text,
    .reasoning = count_text,
    .reasoning_member = count_member,
    .reasoning_detail = count_detail,
    .refusal = count_text,
    .call_begin = count_begin,
    .call_arguments = count_arguments,
    .call_extra = count_extra,
    .call_end = ignore_end,
};

#define FILLING ((size_t)1 << 20)
#define FLOOD   100 /* times that, at most */

/* Feeds `head`, a MiB of letters and `tail`, until it is refused; says how often it was not. */
static unsigned flood(struct counter *counter, const char *head, const char *tail,
                      struct chat_failure *failure)
{
    AUTO_BUF chunk = {0};
    struct answer answer;
    enum err_code rc = ERR_OK;
    unsigned taken = 0;

    buf_add_text(&chunk, head);
    memset(buf_reserve(&chunk, FILLING), 'x', FILLING);
    buf_added(&chunk, FILLING);
    buf_add_text(&chunk, tail);
    quote(chunk.data);
    answer_init(&answer, MODEL_DIALECT_CHAT, &counting, counter);
    for (; !rc && taken < FLOOD; taken += rc == ERR_OK)
        rc = answer_feed(&answer, chunk.data, chunk.length, failure);
    answer_clear(&answer);
    return taken;
}

TEST(an_answer_is_at_most_the_turn_limit)
{
    /* clang-format off */
    static const char *const ends[][2] = {
        {"data: {'choices':[{'delta':{'content':'", "'}}]}\n\n"},
        {"data: {'choices':[{'delta':{'reasoning':'", "'}}]}\n\n"},
        {"data: {'choices':[{'delta':{'reasoning_details':[{'type':'reasoning.encrypted','data':'", "'}]}}]}\n\n"},
        {"data: {'choices':[{'delta':{'reasoning_details':[{'type':'reasoning.text','format':'", "'}]}}]}\n\n"},
        {"data: {'choices':[{'delta':{'tool_calls':[{'index':0,'function':{'name':'f','arguments':'", "'}}]}}]}\n\n"},
        /* the second of two calls waits in memory for the first */
        {"data: {'choices':[{'delta':{'tool_calls':[{'index':0,'function':{'name':'f'}},"
         "{'index':1,'function':{'name':'f','arguments':'", "'}}]}}]}\n\n"},
    };
    /* clang-format on */
    const unsigned fits = MODEL_TURN_LIMIT / FILLING - 1;

    for (size_t i = 0; i < COUNT_OF(ends); i++) {
        struct counter counter = {0};
        struct chat_failure failure = {0};

        assert_in_range(flood(&counter, ends[i][0], ends[i][1], &failure), fits, FLOOD - 1);
        assert_int_equal(failure.err.code, ERR_UPSTREAM);
        assert_true(counter.bytes <= MODEL_TURN_LIMIT);
        assert_non_null(strstr(failure.err.text, "larger"));
    }
}

TEST(a_json_answer_is_at_most_the_turn_limit)
{
    struct counter counter = {0};
    struct chat_failure failure = {0};

    assert_true(flood(&counter, "{", "", &failure) < FLOOD);
    assert_int_equal(failure.err.code, ERR_UPSTREAM);
    assert_non_null(strstr(failure.err.text, "larger"));
}

TEST(an_event_is_at_most_the_event_limit)
{
    struct counter counter = {0};
    struct chat_failure failure = {0};

    assert_true(flood(&counter, "data: ", "", &failure) < FLOOD);
    assert_int_equal(failure.err.code, ERR_UPSTREAM);
    assert_non_null(strstr(failure.err.text, "event larger"));
}

static enum err_code make_calls(struct counter *counter, unsigned count,
                                struct chat_failure *failure)
{
    struct answer answer;
    enum err_code rc = ERR_OK;

    answer_init(&answer, MODEL_DIALECT_CHAT, &counting, counter);
    for (unsigned i = 0; i < count && !rc; i++) {
        AUTO_FREE char *chunk =
            mem_printf("data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":%u,"
                       "\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]}}]}\n\n",
                       i);

        rc = answer_feed(&answer, chunk, strlen(chunk), failure);
    }
    answer_clear(&answer);
    return rc;
}

TEST(an_answer_has_at_most_the_limit_of_calls)
{
    struct counter counter = {0};
    struct chat_failure failure;

    assert_int_equal(make_calls(&counter, MODEL_CALL_LIMIT, &failure), ERR_OK);
    assert_int_equal(counter.calls, MODEL_CALL_LIMIT);
    assert_int_equal(make_calls(&counter, MODEL_CALL_LIMIT + 1, &failure), ERR_UPSTREAM);
    assert_non_null(strstr(failure.err.text, "tool calls"));
}

/* A call with a signature of that many bytes of JSON. */
static struct counter make_signed_call(size_t length)
{
    static const char frame[] = "{\"a\":\"\"}";
    AUTO_BUF letters = {0};
    AUTO_FREE char *chunk = NULL;
    struct counter counter = {0};
    struct chat_failure failure;
    struct answer answer;

    length -= strlen(frame);
    memset(buf_reserve(&letters, length), 'x', length);
    buf_added(&letters, length);
    chunk = mem_printf(
        "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"extra_content\":{\"a\":\"%s\"},"
        "\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]}}]}\n\ndata: [DONE]\n\n",
        letters.data);
    answer_init(&answer, MODEL_DIALECT_CHAT, &counting, &counter);
    assert_int_equal(answer_feed(&answer, chunk, strlen(chunk), &failure), ERR_OK);
    assert_int_equal(answer_end(&answer, NULL, &failure), ERR_OK);
    answer_clear(&answer);
    return counter;
}

TEST(a_signature_is_at_most_the_limit)
{
    struct counter counter = make_signed_call(MODEL_EXTRA_LIMIT);

    assert_int_equal(counter.extra, MODEL_EXTRA_LIMIT);
    counter = make_signed_call(MODEL_EXTRA_LIMIT + 1);
    assert_int_equal(counter.extra, 0);
    assert_int_equal(counter.calls, 1); /* it is a call all the same */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORY_TESTS(table),
        cmocka_unit_test(a_signature_is_at_most_the_limit),
        cmocka_unit_test(a_broken_connection_is_the_reason_only_when_something_is_missing),
        cmocka_unit_test(an_answer_is_at_most_the_turn_limit),
        cmocka_unit_test(a_json_answer_is_at_most_the_turn_limit),
        cmocka_unit_test(an_event_is_at_most_the_event_limit),
        cmocka_unit_test(an_answer_has_at_most_the_limit_of_calls),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
