/*
 * BingSearch, GoogleSearch, TavilySearch, BochaSearch -- searches of the web under names that models know.
 *
 * All of them search with the services of the configuration; their names do not choose one. They differ in the names of
 * their arguments: one face for each name, and one search behind them.
 *
 * An error is {"code", "message"}, as with the tools that read pages.
 */

#include <stdio.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "handlers/handlers.h"
#include "handlers/support/web/web_results.h"

#define PAGE_SIZE    ((json_int_t)10)
#define TAVILY_SHOWN 6000
#define BOCHA_SHOWN  7000

/* What the arguments of one of the tools mean. */
struct wanted {
    const char *freshness; /* or NULL */
    json_int_t count;      /* of all results that are asked for */
    json_int_t skip;       /* the first of them, which are not shown */
};

static enum err_code fail(struct tool_result *result, enum err_code rc)
{
    json_auto_t *problem =
        json_build("{s:s, s:s}", "code", rc == ERR_TIMEOUT ? "TIMEOUT" : "API_ERROR", "message",
                   web_failure(rc));
    AUTO_FREE char *text = json_dumps(problem, JSON_INDENT(2));

    tool_result_add_text(result, text);
    tool_result_end(result, TOOL_ERROR, web_failure(rc));
    return ERR_OK;
}

/* The query, with the type of files that it is about. The caller frees. */
static char *query_text(const json_t *args)
{
    const char *query = json_get_string(args, "query", "");
    const char *type = json_get_string(args, "filetype", "");

    return *type ? mem_printf("%s filetype:%s", query, type) : mem_strdup(query);
}

static json_t *query_of(const json_t *args, const struct wanted *wanted)
{
    AUTO_FREE char *text = query_text(args);
    const char *site = json_get_string(args, "site", "");
    json_t *query = json_build("{s:[s], s:I}", "queries", text, "count", wanted->count);

    if (wanted->freshness)
        json_set_string(query, "freshness", wanted->freshness);
    if (*site)
        json_set(query, "domains", json_build("[s]", site));
    return query;
}

static enum err_code search(struct tool_call *call, const struct wanted *wanted,
                            struct tool_result *ret_result, struct err *err)
{
    json_auto_t *query = query_of(tool_call_args(call), wanted);
    json_auto_t *found = NULL;
    json_auto_t *results = NULL;
    AUTO_FREE char *text = NULL;
    AUTO_FREE char *title = NULL;
    enum err_code rc = tool_call_search_web(call, query, &found, err);

    if (rc == ERR_CANCELLED)
        return rc;
    if (rc)
        return fail(ret_result, rc);
    for (json_int_t i = 0; i < wanted->skip && json_array_size(found); i++)
        json_array_remove(found, 0);
    results = web_results(found, WEB_SNIPPET_LIMIT);
    text = web_results_text(results, (size_t)wanted->skip, "");
    title = mem_printf("Found %zu pages", json_array_size(results));
    tool_result_add_text(ret_result, text);
    tool_result_describe(ret_result, title, NULL);
    return ERR_OK;
}

/* ---- Bing and Google ---- */

static enum err_code run_pages(struct tool_call *call, struct tool_result *ret_result,
                               struct err *err)
{
    const json_t *args = tool_call_args(call);
    json_int_t page = json_get_int(args, "pageIdx", 1);
    const struct wanted wanted = {.freshness = json_get_string(args, "dateFilter", NULL),
                                  .count = page * PAGE_SIZE,
                                  .skip = (page - 1) * PAGE_SIZE};

    return search(call, &wanted, ret_result, err);
}

#define QUERY                                                                 \
    "\"query\": {\"type\": \"string\", \"minLength\": 1, \"maxLength\": 400," \
    "  \"description\": \"What to look for.\"}"
#define BEGIN                                                                            \
    "{\"type\": \"object\", \"additionalProperties\": false, \"required\": [\"query\"]," \
    " \"properties\": {" QUERY ","
#define PAGES(words)                                                                       \
    BEGIN                                                                                  \
    "\"site\": {\"type\": \"string\", \"maxLength\": 253,"                                 \
    "  \"description\": \"Only pages of this domain.\"},"                                  \
    "\"filetype\": {\"type\": \"string\", \"maxLength\": 10, \"description\": \"Such as "  \
    "pdf.\"},"                                                                             \
    "\"dateFilter\": {\"type\": \"string\", \"enum\": [" words "],"                        \
    "  \"description\": \"How old a page may be.\"},"                                      \
    "\"pageIdx\": {\"type\": \"integer\", \"minimum\": 1, \"maximum\": 2, \"default\": 1," \
    "  \"description\": \"Which ten results.\"}}}"

static const char *const tags[] = {"web", "search", NULL};

#define SEARCH(id, its_name, its_parameters, shown, its_run)                         \
    const struct tool_handler id##_handler = {                                       \
        .name = its_name,                                                            \
        .group = "web",                                                              \
        .description =                                                               \
            "Searches the web, and returns pages that fit, with a passage of each.", \
        .parameters = its_parameters,                                                \
        .flags = TOOL_IDEMPOTENT | TOOL_READ_ONLY | TOOL_NEEDS_WEB_SEARCH |          \
                 TOOL_WAITS_FOR_WEB | TOOL_FOREIGN,                                  \
        .shown_limit = shown,                                                        \
        .permission = {EXECUTION_ASK_ONCE, RESULT_NEVER},                            \
        .returns = {"string", "numbered results"},                                   \
        .tags = tags,                                                                \
        .run = its_run,                                                              \
    }

SEARCH(bing_search, "BingSearch", PAGES("\"day\", \"week\", \"month\""), 0, run_pages);
SEARCH(google_search, "GoogleSearch", PAGES("\"day\", \"week\", \"month\", \"year\""), 0,
       run_pages);

/* ---- Tavily ---- */

/* The shortest time that has so many days in it. */
static const char *freshness_of(json_int_t days)
{
    return days < 1      ? NULL
           : days <= 1   ? "day"
           : days <= 7   ? "week"
           : days <= 31  ? "month"
           : days <= 366 ? "year"
                         : NULL;
}

static enum err_code run_tavily(struct tool_call *call, struct tool_result *ret_result,
                                struct err *err)
{
    const json_t *args = tool_call_args(call);
    const struct wanted wanted = {
        .freshness =
            json_get_string(args, "time_range", freshness_of(json_get_int(args, "days", 0))),
        .count = json_get_int(args, "max_results", 5)};

    return search(call, &wanted, ret_result, err);
}

SEARCH(
    tavily_search, "TavilySearch",
    BEGIN
    "\"max_results\": {\"type\": \"integer\", \"minimum\": 1, \"maximum\": 20, \"default\": 5,"
    "  \"description\": \"How many results, at most.\"},"
    "\"time_range\": {\"type\": \"string\", \"enum\": [\"day\", \"week\", \"month\", \"year\"],"
    "  \"description\": \"How old a page may be.\"},"
    "\"days\": {\"type\": \"integer\", \"minimum\": 1,"
    "  \"description\": \"The same in days, about.\"}}}",
    TAVILY_SHOWN, run_tavily);

/* ---- Bocha ---- */

static enum err_code run_bocha(struct tool_call *call, struct tool_result *ret_result,
                               struct err *err)
{
    static const struct {
        const char *word, *freshness;
    } words[] = {
        {"oneDay", "day"}, {"oneWeek", "week"}, {"oneMonth", "month"}, {"oneYear", "year"}};
    const json_t *args = tool_call_args(call);
    const char *given = json_get_string(args, "freshness", "noLimit");
    struct wanted wanted = {.count = json_get_int(args, "count", 10)};

    for (size_t i = 0; i < COUNT_OF(words); i++) {
        if (strcmp(words[i].word, given) == 0)
            wanted.freshness = words[i].freshness;
    }
    return search(call, &wanted, ret_result, err);
}

SEARCH(bocha_search, "BochaSearch",
       BEGIN
       "\"freshness\": {\"type\": \"string\", \"default\": \"noLimit\", \"enum\": [\"oneDay\","
       "  \"oneWeek\", \"oneMonth\", \"oneYear\", \"noLimit\"],"
       "  \"description\": \"How old a page may be.\"},"
       "\"count\": {\"type\": \"integer\", \"minimum\": 1, \"maximum\": 20, \"default\": 10,"
       "  \"description\": \"How many results, at most.\"}}}",
       BOCHA_SHOWN, run_bocha);
