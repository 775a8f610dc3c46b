/*
 * web_search -- OpenAI's hosted tool: the model searches the web, and cites what it finds.
 *
 * The call is an item of the type web_search_call. Its action says what was done: here a search with its queries. Tools
 * that read a page share the item, and bring an action of their own with their result.
 *
 * The item is stored with the results that the model has read. Clients see of them what they include: the sources are
 * the URLs of the results. Its text is made of the results alone (web_results.h). So a client that keeps its history
 * itself, and includes the results, can send the call back, and the model reads the same words again.
 *
 * The model cites a page by a link, and not by a mark as it cites files: readers of the text, and clients that know no
 * annotations, then have the link as well. core/run/citing/run_links.c makes the annotations.
 */

#include <string.h>

#include "core/base/buf.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/domain/notes.h"
#include "handlers/handlers.h"
#include "handlers/support/web/web_results.h"

/* ---- The item ---- */

/* `args` is NULL if the model wrote no JSON. */
static json_t *search_action(const json_t *args)
{
    json_t *queries = json_object_get(args, "queries");
    const char *first = json_string_value(json_array_get(queries, 0));
    json_t *action = json_build("{s:s, s:s}", "type", "search", "query",
                                first ? first : json_get_string(args, "query", ""));

    if (json_is_array(queries))
        json_set(action, "queries", json_deep_copy(queries));
    return action;
}

static void add_data(json_t *fields, const json_t *data)
{
    static const char *const keys[] = {"action", "results"};

    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        json_t *value = json_object_get(data, keys[i]);

        if (value)
            json_object_set(fields, keys[i], value);
    }
}

static void fill(json_t *fields, const json_t *args, const struct tool_result *result)
{
    if (args)
        json_set(fields, "action", search_action(args));
    add_data(fields, result->data);
}

static void fail(json_t *fields, const struct tool_result *result)
{
    add_data(fields, result->data);
}

static json_t *sources_of(const json_t *results)
{
    json_t *sources = json_array();
    size_t i;
    json_t *result;

    json_array_foreach (results, i, result)
        json_array_append_new(sources, json_build("{s:s, s:s}", "type", "url", "url",
                                                  json_get_string(result, "url", "")));
    return sources;
}

/* A copy: the action is stored without them. */
static json_t *with_sources(json_t *action, const json_t *results)
{
    json_t *with = json_copy(action);

    if (json_is_array(results) && strcmp(json_get_string(action, "type", ""), "search") == 0)
        json_set(with, "sources", sources_of(results));
    return with;
}

static bool is_passed(const json_t *body)
{
    return json_is_true(json_object_get(notes_of(body), NOTE_PASSED));
}

/* What the model has read is in the notes: clients see of it what they include. Sources that the item has itself were
 * sent by its client. */
static void show(json_t *object, unsigned include)
{
    json_t *results = json_object_get(object, "results");
    json_t *action = json_object_get(object, "action");

    json_object_del(notes_of(object), "output");
    if (!(include & RUN_INCLUDE_WEB_SOURCES) && is_passed(object))
        json_object_del(action, "sources");
    if (!json_is_array(results))
        return;
    if (include & RUN_INCLUDE_WEB_SOURCES)
        json_set(object, "action", with_sources(action, results));
    if (!(include & RUN_INCLUDE_WEB_RESULTS))
        json_object_del(object, "results");
}

#define CITING                                                                             \
    "Cite each page that you use by a link right behind the sentence, like ([example.com]" \
    "(https://example.com/page)), with its URL as it stands here. "

static char *retell(const json_t *body, unsigned search, json_t **ret_arguments,
                    json_t **ret_sources)
{
    const json_t *results = json_object_get(body, "results");
    const json_t *action = json_object_get(body, "action");
    json_t *queries = json_object_get(action, "queries");

    (void)search;
    (void)ret_sources;
    if (!json_is_array(results) || strcmp(json_get_string(action, "type", "search"), "search"))
        return NULL; /* of a page the item has no text */
    *ret_arguments = json_build("{s:O?}", "queries", queries);
    return web_results_text(results, 0, CITING);
}

/* A client that sends a call back may have included its sources alone. */
static const json_t *pages(const json_t *body)
{
    const json_t *results = json_object_get(body, "results");

    return json_is_array(results) ? results
                                  : json_object_get(json_object_get(body, "action"), "sources");
}

/* ---- Searches of the upstream ---- */

/* What is kept of an action that the upstream has written. */
#define QUERIES_LIMIT ((size_t)50)
#define SOURCES_LIMIT ((size_t)200)
#define WORDS_LIMIT   ((size_t)4000) /* bytes of one string */

/* clang-format off */
static const struct {
    const char *type;
    const char *keys[3]; /* strings; ends with NULL */
} actions[] = {
    {"search",       {"query"}},
    {"open_page",    {"url"}},
    {"find_in_page", {"url", "pattern"}},
};
/* clang-format on */

static const char *words_of(const json_t *value)
{
    return json_string_length(value) <= WORDS_LIMIT ? json_string_value(value) : NULL;
}

/* The strings of a list, or those under a key of its objects. */
static json_t *words_in(const json_t *list, const char *key, size_t limit)
{
    json_t *kept = json_array();
    size_t i;
    json_t *value;

    json_array_foreach (list, i, value) {
        const char *text = words_of(key ? json_object_get(value, key) : value);

        if (text && json_array_size(kept) < limit)
            json_array_append_new(kept, json_string(text));
    }
    return kept;
}

static json_t *passed_sources(const json_t *action)
{
    json_auto_t *urls = words_in(json_object_get(action, "sources"), "url", SOURCES_LIMIT);
    json_t *sources = json_array();
    size_t i;
    json_t *url;

    json_array_foreach (urls, i, url)
        json_array_append_new(sources, json_build("{s:s, s:O}", "type", "url", "url", url));
    return sources;
}

/* NULL: no action that a client knows. */
static json_t *passed_action(const json_t *given)
{
    const char *type = json_get_string(given, "type", "");
    json_t *action;
    size_t n = 0;

    while (n < COUNT_OF(actions) && strcmp(actions[n].type, type) != 0)
        n++;
    if (n == COUNT_OF(actions))
        return NULL;
    action = json_build("{s:s}", "type", type);
    for (const char *const *key = actions[n].keys; *key; key++) {
        const char *text = words_of(json_object_get(given, *key));

        json_set_string(action, *key, text ? text : "");
    }
    if (n > 0)
        return action;
    json_set(action, "queries",
             words_in(json_object_get(given, "queries"), NULL, QUERIES_LIMIT));
    if (json_is_array(json_object_get(given, "sources")))
        json_set(action, "sources", passed_sources(given));
    return action;
}

static json_t *passed_fields(const json_t *item)
{
    json_t *action = passed_action(json_object_get(item, "action"));

    return action ? json_build("{s:o}", "action", action) : NULL;
}

static json_t *passed_failed(const json_t *item)
{
    json_t *action = passed_action(json_object_get(item, "action"));

    return action ? json_build("{s:o}", "action", action) : json_object();
}

/* Sources are for clients; the upstream needs none of them again. */
static json_t *passed_sent(const json_t *body)
{
    json_t *action = json_copy(json_object_get(body, "action"));

    json_object_del(action, "sources");
    return json_build("{s:o}", "action", action);
}

static char *passed_arguments(const json_t *body)
{
    json_auto_t *arguments = json_copy(json_object_get(body, "action"));

    json_object_del(arguments, "sources");
    json_object_del(arguments, "type");
    return json_text(arguments);
}

/* Members that say something. */
static json_t *present(const json_t *object)
{
    json_t *kept = json_object();
    const char *key;
    json_t *value;

    json_object_foreach ((json_t *)(uintptr_t)object, key, value) {
        if (!json_absent(value))
            json_object_set(kept, key, value);
    }
    return kept;
}

static json_t *passed_entry(const json_t *entry)
{
    static const char *const own[] = {"runnel", "require_approval"};
    json_t *kept = present(entry);
    json_t *location = json_object_get(kept, "user_location");

    for (size_t i = 0; i < COUNT_OF(own); i++)
        json_object_del(kept, own[i]);
    if (!location)
        return kept;
    location = present(location);
    json_set(kept, "user_location", location);
    if (json_object_size(location) < 2) /* its type */
        json_object_del(kept, "user_location");
    return kept;
}

static const char *const passed_stages[] = {"searching", NULL};

static const struct item_passed passed = {
    .entry = passed_entry,
    .stages = passed_stages,
    .fields = passed_fields,
    .failed = passed_failed,
    .sent = passed_sent,
    .arguments = passed_arguments,
    .include = "web_search_call.action.sources",
    .included_for = RUN_INCLUDE_WEB_SOURCES,
};

/* A client's item may have no action. */
static json_t *step_notes(const json_t *body)
{
    json_t *action = json_object_get(body, "action");

    return action ? json_build("{s:o}", "action",
                               with_sources(action, json_object_get(body, "results")))
                  : NULL;
}

const struct tool_item web_search_item = {
    .type = "web_search_call",
    .fields = "{\"action\":{\"type\":\"search\",\"query\":\"\"}}",
    .fill = fill,
    .fail = fail,
    .show = show,
    .retell = retell,
    .pages = pages,
    .step_notes = step_notes,
    .passed = &passed,
};

/* ---- The search ---- */

/* What search_context_size means here. */
static const struct context_size {
    const char *name;
    size_t count;   /* results */
    size_t snippet; /* characters of each */
} sizes[] = {{"medium", 10, 500}, {"low", 5, 300}, {"high", 20, WEB_SNIPPET_LIMIT}};

static const struct context_size *size_of(const json_t *entry)
{
    const char *wanted = json_get_string(entry, "search_context_size", sizes[0].name);

    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        if (strcmp(sizes[i].name, wanted) == 0)
            return &sizes[i];
    }
    return &sizes[0];
}

static const json_t *domains_of(const json_t *entry)
{
    const json_t *domains =
        json_object_get(json_object_get(entry, "filters"), "allowed_domains");

    return json_array_size(domains) ? domains : NULL;
}

static json_t *query_of(const struct tool_call *call)
{
    const json_t *args = tool_call_args(call);
    const json_t *entry = tool_call_config(call);
    const char *country =
        json_get_string(json_object_get(entry, "user_location"), "country", NULL);
    const char *freshness = json_get_string(args, "freshness", NULL);
    const json_t *domains = domains_of(entry);
    json_t *query = json_build("{s:O, s:I}", "queries", json_object_get(args, "queries"),
                               "count", (json_int_t)size_of(entry)->count);

    if (country)
        json_set_string(query, "country", country);
    if (freshness)
        json_set_string(query, "freshness", freshness);
    if (domains)
        json_set(query, "domains", json_deep_copy(domains));
    return query;
}

static void show_failure(const struct tool_call *call, struct tool_result *result,
                         enum err_code rc)
{
    tool_result_add_text(result, web_failure(rc));
    tool_result_set_data(result,
                         json_build("{s:o}", "action", search_action(tool_call_args(call))));
    tool_result_end(result, TOOL_ERROR, web_failure(rc));
}

static enum err_code run(struct tool_call *call, struct tool_result *ret_result,
                         struct err *err)
{
    json_auto_t *query = query_of(call);
    json_auto_t *found = NULL;
    json_t *results;
    AUTO_FREE char *text = NULL;
    enum err_code rc = tool_call_emit_stage(call, "searching", NULL);

    if (!rc)
        rc = tool_call_search_web(call, query, &found, err);
    if (rc == ERR_CANCELLED)
        return rc;
    if (rc) {
        show_failure(call, ret_result, rc);
        return ERR_OK;
    }
    results = web_results(found, size_of(tool_call_config(call))->snippet);
    text = web_results_text(results, 0, CITING);
    tool_result_add_text(ret_result, text);
    tool_result_set_data(ret_result, json_build("{s:o}", "results", results));
    return ERR_OK;
}

/* ---- The words for the model ---- */

static const char about[] =
    "Searches the web, and returns pages that fit, with a passage of each. Use it for what may "
    "have changed since you were trained, and for what you do not know.";

static const char parameters[] =
    "{\"type\": \"object\", \"additionalProperties\": false, \"required\": [\"queries\"],"
    " \"properties\": {\"queries\": {\"type\": \"array\", \"minItems\": 1, \"maxItems\": 4,"
    "  \"items\": {\"type\": \"string\", \"minLength\": 1, \"maxLength\": 400},"
    "  \"description\": \"What to look for. Several queries search for the same in other "
    "words.\"},"
    " \"freshness\": {\"type\": \"string\", \"enum\": [\"day\", \"week\", \"month\", "
    "\"year\"],"
    "  \"description\": \"How old a page may be. Without it any page fits.\"}}}";

#define DOMAINS_NAMED ((size_t)20) /* in the description */

static void add_place(struct buf *out, const json_t *location)
{
    static const char *const keys[] = {"city", "region", "country", "timezone"};
    const char *before = "The user is in ";

    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        const char *text = json_get_string(location, keys[i], "");

        if (!*text)
            continue;
        buf_addf(out, "%s%s", before, text);
        before = ", ";
    }
    if (out->length)
        buf_add_char(out, '.');
}

static void add_domains(struct buf *out, const json_t *domains)
{
    size_t count = json_array_size(domains);
    size_t named = count < DOMAINS_NAMED ? count : DOMAINS_NAMED;

    if (!count)
        return;
    buf_addf(out, "%sOnly pages of these domains are found: ", out->length ? " " : "");
    for (size_t i = 0; i < named; i++)
        buf_addf(out, "%s%s", i ? ", " : "", json_string_value(json_array_get(domains, i)));
    if (count > named)
        buf_addf(out, " and %zu more", count - named);
    buf_add_char(out, '.');
}

/* Where the user is, and what the request has narrowed the search to. */
static json_t *init(const struct tool_context *context)
{
    AUTO_BUF note = {0};

    add_place(&note, json_object_get(context->entry, "user_location"));
    add_domains(&note, domains_of(context->entry));
    return note.length ? json_build("{s:s}", "note", note.data) : json_object();
}

static const char *const more_types[] = {"web_search_2025_08_26", "web_search_preview",
                                         "web_search_preview_2025_03_11", NULL};

const struct tool_handler web_search_handler = {
    .name = "web_search",
    .more_types = more_types,
    .group = "hosted",
    .description = about,
    .parameters = parameters,
    .flags = TOOL_IDEMPOTENT | TOOL_READ_ONLY | TOOL_HOSTED | TOOL_NEEDS_WEB_SEARCH |
             TOOL_WAITS_FOR_WEB | TOOL_FOREIGN,
    .item = &web_search_item,
    .init = init,
    .shown_limit = CUT_NO_LIMIT,
    .run = run,
};
