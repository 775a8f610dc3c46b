/*
 * Requests to services of web search, and answers in the form that each documents.
 */

#include "core/web/provider.h"

#include <string.h>

#include "core/base/clock.h"
#include "core/base/compiler.h"
#include "core/base/mem.h"
#include "tests/support/quoted.h"
#include "tests/support/test.h"

static struct web_provider *provider_of(const char *entry)
{
    json_auto_t *read = quoted_json(entry);
    struct web_provider *provider = NULL;

    assert_int_equal(web_provider_new(read, "k3y", &provider, NULL), ERR_OK);
    return provider;
}

/* ---- Requests ---- */

static void expect_request(const char *entry, struct web_question question, const char *domains,
                           const char *url, const char *headers, const char *body)
{
    struct web_provider *provider = provider_of(entry);
    json_auto_t *list = domains ? quoted_json(domains) : NULL;
    AUTO_FREE char *wanted = body ? quoted(body) : NULL;
    AUTO_BUF lines = {0};
    struct web_request request;

    question.domains = list;
    web_provider_ask(provider, &question, &request);
    assert_string_equal(request.url, url);
    for (char **header = request.headers; *header; header++)
        buf_addf(&lines, "%s\n", *header);
    assert_string_equal(lines.data ? lines.data : "", headers);
    if (wanted)
        assert_string_equal(request.body, wanted);
    else
        assert_null(request.body);
    web_request_clear(&request);
    web_provider_free(provider);
}

TEST(searxng_is_asked_for_json)
{
    const char *entry = "{'provider':'searxng','url':'http://searx.internal:8888/'}";

    expect_request(
        entry, (struct web_question){.query = "caf\xC3\xA9 & cats", .count = 5}, NULL,
        "http://searx.internal:8888/search?q=caf%C3%A9%20%26%20cats&format=json", "", NULL);
    expect_request(
        entry, (struct web_question){.query = "a", .freshness = "week", .count = 5},
        "['x.org']",
        "http://searx.internal:8888/search?q=a%20site%3Ax.org&format=json&time_range="
        "week",
        "", NULL);
    expect_request(
        entry, (struct web_question){.query = "a", .count = 5}, "['x.org','y.org']",
        "http://searx.internal:8888/search?q=a%20%28site%3Ax.org%20OR%20site%3Ay.org%"
        "29&format=json",
        "", NULL);
    expect_request(entry, (struct web_question){.query = "a", .count = 5},
                   "['1.x','2.x','3.x','4.x','5.x','6.x','7.x','8.x','9.x']",
                   "http://searx.internal:8888/search?q=a&format=json", "", NULL);
}

TEST(brave_has_words_of_its_own_for_freshness)
{
    expect_request(
        "{'provider':'brave'}",
        (struct web_question){.query = "a", .freshness = "year", .country = "FR", .count = 20},
        NULL,
        "https://api.search.brave.com/res/v1/web/search?q=a&count=20&country=FR&"
        "freshness=py&text_decorations=false",
        "X-Subscription-Token: k3y\nAccept: application/json\n", NULL);
}

TEST(tavily_takes_domains)
{
    expect_request("{'provider':'tavily'}",
                   (struct web_question){.query = "a", .freshness = "day", .count = 10},
                   "['x.org','y.org']", "https://api.tavily.com/search",
                   "Authorization: Bearer k3y\nContent-Type: application/json\n",
                   "{'query':'a','max_results':10,'time_range':'day',"
                   "'include_domains':['x.org','y.org']}");
    expect_request("{'provider':'tavily','parameters':{'search_depth':'advanced'}}",
                   (struct web_question){.query = "a", .count = 10}, NULL,
                   "https://api.tavily.com/search",
                   "Authorization: Bearer k3y\nContent-Type: application/json\n",
                   "{'query':'a','max_results':10,'search_depth':'advanced'}");
}

/* All of a service that no table knows. */
#define OTHER                                                                              \
    "{'provider':'json','name':'intranet','url':'https://x.org/find?v=2','method':'POST'," \
    "'headers':{'X-Key':'{api_key}','X-Land':'{country}'},'timeout':'2.5',"                \
    "'parameters':{'ask':{'text':'about {query}','size':'{count}','deep':'true','n':'7'}," \
    "'only':['{freshness}','{unknown}','news']},'freshness':'d w m y',"                    \
    "'results':'data.pages.value','fields':{'url':'link.href','title':'name','text':'about'}}"

TEST(a_service_is_described)
{
    struct web_provider *provider = provider_of(OTHER);

    assert_string_equal(web_provider_name(provider), "intranet");
    assert_int_equal(web_provider_timeout_ns(provider), 5 * NS_PER_SECOND / 2);
    web_provider_free(provider);
    expect_request(OTHER, (struct web_question){.query = "a", .freshness = "month", .count = 3},
                   NULL, "https://x.org/find?v=2",
                   "X-Key: k3y\nContent-Type: application/json\n",
                   "{'ask':{'text':'about a','size':3,'deep':true,'n':7},'only':['m','news']}");
    expect_request("{'provider':'json','url':'https://x.org/find?v=2','results':'r',"
                   "'parameters':{'q':'{query}','in':'{domains}'},'fields':{'url':'u'}}",
                   (struct web_question){.query = "a", .count = 3}, "['x.org','y.org']",
                   "https://x.org/find?v=2&q=a&in=x.org%2Cy.org", "", NULL);
}

TEST(a_wrong_description_is_refused)
{
    static const struct {
        const char *entry, *why;
    } cases[] = {
        {"{'provider':'bing'}",
         "provider: expected searxng, brave, tavily or json, not 'bing'"},
        {"{'provider':'searxng'}", "'url' is missing"},
        {"{'provider':'searxng','url':'ftp://x.org'}", "url: "},
        {"{'provider':'brave'}", "'api_key_env' is missing"},
        {"{'provider':'searxng','url':'http://x.org','timeout':'0'}", "timeout: "},
        {"{'provider':'searxng','url':'http://x.org','timeout':'61'}", "timeout: "},
        {"{'provider':'searxng','url':'http://x.org','timeout':'long'}", "timeout: "},
        {"{'provider':'searxng','url':'http://x.org','method':'PUT'}", "method: "},
        {"{'provider':'searxng','url':'http://x.org','headers':['a']}", "headers: "},
        {"{'provider':'searxng','url':'http://x.org','parameters':{'a':{'b':'c'}}}",
         "parameters.a: "},
        {"{'provider':'json','url':'http://x.org'}", "'results' is missing"},
        {"{'provider':'json','url':'http://x.org','results':'a'}", "'fields.url' is missing"},
        {"{'provider':'json','url':'http://x.org','results':'a','fields':'url'}", "fields: "},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        json_auto_t *entry = quoted_json(cases[i].entry);
        struct web_provider *provider = NULL;
        struct err err;

        assert_int_equal(web_provider_new(entry, NULL, &provider, &err), ERR_INVALID);
        assert_ptr_equal(strstr(err.text, cases[i].why), err.text);
    }
}

/* ---- Answers ---- */

static void expect_results(const char *entry, const char *domains, size_t count,
                           const char *answer, const char *results)
{
    struct web_provider *provider = provider_of(entry);
    AUTO_FREE char *bytes = quoted(answer);
    AUTO_FREE char *wanted = quoted(results);
    json_auto_t *list = domains ? quoted_json(domains) : NULL;
    json_auto_t *found = NULL;
    AUTO_FREE char *text = NULL;

    assert_int_equal(
        web_provider_read(provider,
                          &(struct web_question){.query = "a", .domains = list, .count = count},
                          200, bytes, strlen(bytes), &found, NULL),
        ERR_OK);
    text = json_text(found);
    assert_string_equal(text, wanted);
    web_provider_free(provider);
}

#define SEARXNG "{'provider':'searxng','url':'http://x.org'}"

/* As SearXNG answers with format=json. */
TEST(an_answer_of_searxng_is_read)
{
    expect_results(
        SEARXNG, NULL, 5,
        "{'query':'cats','number_of_results':0,'results':["
        "{'url':'https://en.wikipedia.org/wiki/Cat','title':'Cat - Wikipedia','content':'The "
        "cat  (Felis catus) is ...','publishedDate':null,'thumbnail':'','engine':'wikipedia',"
        "'parsed_url':['https','en.wikipedia.org','/wiki/Cat','','',''],'template':"
        "'default.html','engines':['wikipedia','brave'],'positions':[1,2],'score':3.0,"
        "'category':'general'},"
        "{'url':'https://cats.org/news','title':'','content':'','publishedDate':"
        "'2026-05-02T00:00:00','engine':'bing','score':0.5}],"
        "'answers':[],'corrections':[],'infoboxes':[],'suggestions':['cats for sale'],"
        "'unresponsive_engines':[['google','CAPTCHA']]}",
        "[{'url':'https://en.wikipedia.org/wiki/Cat','title':'Cat - Wikipedia','text':'The cat "
        "(Felis catus) is ...'},"
        "{'url':'https://cats.org/news','title':'https://cats.org/news','text':'','date':"
        "'2026-05-02T00:00:00'}]");
}

/* As Brave's web search answers. Without a page that fits there is no "web". */
TEST(an_answer_of_brave_is_read)
{
    expect_results(
        "{'provider':'brave'}", NULL, 1,
        "{'type':'search','query':{'original':'cats','more_results_available':true},"
        "'mixed':{'type':'mixed','main':[{'type':'web','index':0,'all':false}]},"
        "'web':{'type':'search','results':[{'title':'Cat &amp; dog','url':"
        "'https://en.wikipedia.org/wiki/Cat','is_source_local':false,'description':'The "
        "<strong>cat</strong> is a small mammal.','page_age':'2025-01-02T03:04:05','profile':"
        "{'name':'Wikipedia'},'language':'en','family_friendly':true,'age':'January 2, 2025'},"
        "{'title':'b','url':'https://b.org'}]}}",
        "[{'url':'https://en.wikipedia.org/wiki/Cat','title':'Cat & dog','text':'The cat is a "
        "small mammal.','date':'2025-01-02T03:04:05'}]");
    expect_results("{'provider':'brave'}", NULL, 5,
                   "{'type':'search','query':{'original':'qqqq'},'mixed':{}}", "[]");
}

/* As Tavily answers a basic search. */
TEST(an_answer_of_tavily_is_read)
{
    expect_results(
        "{'provider':'tavily'}", NULL, 5,
        "{'query':'cats','follow_up_questions':null,'answer':null,'images':[],"
        "'results':[{'title':'Cat','url':'https://cats.org/','content':'About cats.',"
        "'score':0.81,'raw_content':null}],'response_time':'1.67',"
        "'request_id':'123e4567'}",
        "[{'url':'https://cats.org/','title':'Cat','text':'About cats.'}]");
}

TEST(an_answer_that_is_described_is_read)
{
    expect_results(OTHER, NULL, 5,
                   "{'data':{'pages':{'value':[{'link':{'href':'https://x.org/1'},'name':'One',"
                   "'about':7},{'link':'https://x.org/2'},3,null]}}}",
                   "[{'url':'https://x.org/1','title':'One','text':''}]");
}

TEST(other_hosts_and_schemes_are_left_out)
{
    expect_results(
        SEARXNG, "['x.org','Wiki.net']", 5,
        "{'results':[{'url':'https://x.org/1'},{'url':'https://www.x.org/2'},"
        "{'url':'https://notx.org/3'},{'url':'https://x.org.evil.net/4'},"
        "{'url':'https://evil.net/x.org'},{'url':'https://en.wiki.net:8443/5'},"
        "{'url':'javascript:alert(1)'},{'url':'https://u:p@x.org/6'},{'url':''},{}]}",
        "[{'url':'https://x.org/1','title':'https://x.org/1','text':''},"
        "{'url':'https://www.x.org/2','title':'https://www.x.org/2','text':''},"
        "{'url':'https://en.wiki.net:8443/5','title':'https://en.wiki.net:8443/5',"
        "'text':''}]");
}

TEST(what_is_no_answer_says_why)
{
    static const struct {
        const char *entry;
        int status;
        const char *answer, *why;
    } cases[] = {
        {SEARXNG, 200, "", "the answer of searxng is not JSON"},
        {SEARXNG, 200, "<html>", "the answer of searxng is not JSON"},
        {SEARXNG, 200, "{}", "the answer of searxng has no list of results"},
        {SEARXNG, 200, "[]", "the answer of searxng has no list of results"},
        {SEARXNG, 200, "{'results':{}}", "the answer of searxng has no list of results"},
        {SEARXNG, 403, "", "searxng answered with status 403: its settings do not list json"},
        {SEARXNG, 500, "", "searxng answered with status 500"},
        {"{'provider':'brave'}", 200, "[]", "the answer of brave has no list of results"},
        {"{'provider':'brave'}", 200, "{'web':{}}",
         "the answer of brave has no list of results"},
        {"{'provider':'brave'}", 403, "", "brave answered with status 403"},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct web_provider *provider = provider_of(cases[i].entry);
        AUTO_FREE char *answer = quoted(cases[i].answer);
        json_t *results = NULL;
        struct err err;

        assert_int_equal(web_provider_read(provider, &(struct web_question){.count = 5},
                                           cases[i].status, answer, strlen(answer), &results,
                                           &err),
                         ERR_UPSTREAM);
        assert_ptr_equal(strstr(err.text, cases[i].why), err.text);
        web_provider_free(provider);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(searxng_is_asked_for_json),
        cmocka_unit_test(brave_has_words_of_its_own_for_freshness),
        cmocka_unit_test(tavily_takes_domains),
        cmocka_unit_test(a_service_is_described),
        cmocka_unit_test(a_wrong_description_is_refused),
        cmocka_unit_test(an_answer_of_searxng_is_read),
        cmocka_unit_test(an_answer_of_brave_is_read),
        cmocka_unit_test(an_answer_of_tavily_is_read),
        cmocka_unit_test(an_answer_that_is_described_is_read),
        cmocka_unit_test(other_hosts_and_schemes_are_left_out),
        cmocka_unit_test(what_is_no_answer_says_why),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
