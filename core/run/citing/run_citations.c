/*
 * run_citations.c -- from marks to annotations.
 *
 *   run_model.c: text ─▶ citation_feed() ─┬─ text ─▶ run_add_text()
 *                                         └─ mark ─▶ its source ─▶ run_annotate() or run_add_mark()
 *
 * A search has a number in its context, from 1. It stands in the notes of the call's item with the list of
 * sources, so a later request that has the search in its history knows it by the same number. The first number that
 * is free is the one behind the greatest of the history.
 *
 * What was shown is read from the text that the model has received (source.h). A result that was cut, or that
 * waits for an approval, shows less than its list says.
 *
 * A part without any citation is looked at once more when it ends, for paragraphs that were written from one
 * passage. Only what this residency has searched is compared, newest first, and only so much of it: this is the
 * loop.
 *
 * Places are counted in code points. Counting begins where the last citation stood, so each text is counted
 * once, and text without citations never.
 */

#include "core/run/turn/run_citations.h"

#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/utf8.h"
#include "core/domain/notes.h"
#include "core/domain/withheld.h"
#include "core/run/citation/citation.h"
#include "core/run/citation/overlap.h"
#include "core/run/context/past_calls.h"
#include "core/run/turn/engine_options.h"
#include "core/run/turn/run.h"
#include "core/tool/executor.h"
#include "core/tool/registry.h"
#include "core/tool/source.h"
#include "core/tool/tool_item.h"

/* What a search has shown. */
struct shown_search {
    unsigned number;
    json_t *sources; /* a list; null where something was not shown */
    char *text;      /* as the model received it, for a search of this residency; else NULL */
};

struct run_citations {
    struct citation_parser parser;
    struct shown_search *searches;
    size_t count;
    unsigned last; /* number of the last search */

    /* Of the open part. */
    size_t counted;    /* bytes of its text */
    json_int_t points; /* code points in these */
    bool cited;        /* it has a citation */
};

/* ---- Sources ---- */

static void add_search(struct run_citations *citations, unsigned number, const json_t *sources,
                       const char *text)
{
    size_t count = json_array_size(sources);
    AUTO_FREE struct source_passage *passages =
        mem_new_array(struct source_passage, count ? count : 1);
    struct shown_search *search;

    source_passages(text, number, passages, count);
    citations->searches =
        mem_resize(citations->searches, citations->count + 1, sizeof(*citations->searches));
    search = &citations->searches[citations->count++];
    *search = (struct shown_search){.number = number, .sources = json_array()};
    for (size_t i = 0; i < count; i++)
        json_array_append_new(search->sources, passages[i].shown
                                                   ? json_deep_copy(json_array_get(sources, i))
                                                   : json_null());
    if (number > citations->last)
        citations->last = number;
}

/* A call of the history. Of a result that the model was not shown only the number counts. */
static void add_past(struct run_citations *citations, const struct item_row *row)
{
    json_auto_t *body = json_parse_own(row->body);
    const json_t *notes = notes_of(body);
    const json_t *sources = json_object_get(notes, NOTE_SOURCES);
    json_int_t number = json_get_int(notes, NOTE_SEARCH, 0);
    const char *text = withheld_is(body) ? "" : past_own_output(row->type, body);

    if (json_is_array(sources) && number > 0 && number <= SEARCH_NUMBER_LIMIT)
        add_search(citations, (unsigned)number, sources, text ? text : "");
}

/* Cheap for all other items: most are messages. */
static bool may_have_sources(const struct item_row *row)
{
    return item_type_kind(row->type) == ITEM_KIND_HOSTED_CALL && row->body &&
           strstr(row->body, "\"" NOTE_SOURCES "\"");
}

/* ---- Searches that a client sends ---- */

static const struct tool_item *retold_as(const struct item_row *row)
{
    const struct tool_item *item = NULL;

    if (item_type_kind(row->type) == ITEM_KIND_HOSTED_CALL && row->input && row->body)
        item = tool_registry_item(item_type_name(row->type));
    return item && item->retell ? item : NULL;
}

/* Writes into the notes what a call of this server has there. */
static void note_retold(json_t *body, const json_t *args, const char *text)
{
    json_t *notes = notes_make(body);
    AUTO_FREE char *arguments = json_text(args);

    if (!json_object_get(notes, "arguments"))
        json_set_string(notes, "arguments", arguments);
    json_set_string(notes, "output", text);
}

static void note_search(json_t *body, unsigned search, json_t *sources)
{
    json_t *notes = notes_make(body);

    json_set_int(notes, NOTE_SEARCH, search);
    json_set(notes, NOTE_SOURCES, sources);
}

/* A call without results would be a call without an output: it is not one that the model reads. */
static void retell(struct item_row *row, const struct tool_item *item, unsigned *last)
{
    json_auto_t *body = json_parse_own(row->body);
    json_t *notes = notes_of(body);
    json_int_t given = json_get_int(notes, NOTE_SEARCH, 0);
    unsigned search = given > 0 && given <= SEARCH_NUMBER_LIMIT ? (unsigned)given : *last + 1;
    json_auto_t *args = NULL;
    json_t *sources = NULL;
    AUTO_FREE char *text = item->retell(body, search, &args, &sources);

    if (text)
        note_retold(body, args, text);
    else
        json_object_del(notes, "arguments");
    if (sources) {
        note_search(body, search, sources);
        *last = search > *last ? search : *last;
    }
    free(row->body);
    row->body = json_text(body);
}

/* The number of a search of this server; 0: it is none. Items of other tools have members of the same name. */
static unsigned number_of(const struct item_row *row)
{
    json_auto_t *body = json_parse_own(row->body);
    json_int_t number = json_get_int(notes_of(body), NOTE_SEARCH, 0);
    bool has_sources = json_is_array(json_object_get(notes_of(body), NOTE_SOURCES));

    return has_sources && number > 0 && number <= SEARCH_NUMBER_LIMIT ? (unsigned)number : 0;
}

void run_retell_searches(struct run *run)
{
    unsigned last = 0;

    for (size_t i = 0; i < run->history_count; i++) {
        struct item_row *row = &run->history[i];
        unsigned number = may_have_sources(row) ? number_of(row) : 0;
        const struct tool_item *item = number ? NULL : retold_as(row);

        if (item)
            retell(row, item, &last);
        else if (number > last)
            last = number;
    }
}

/* ---- Whether there is anything to cite ---- */

static bool has_cited_tool(const struct tool_set *set)
{
    for (size_t i = 0; i < set->count; i++) {
        if (set->uses[i].handler->flags & TOOL_CITED)
            return true;
    }
    return false;
}

static bool history_has_sources(const struct run *run)
{
    for (size_t i = 0; i < run->history_count; i++) {
        if (may_have_sources(&run->history[i]))
            return true;
    }
    return false;
}

static void make_citations(struct run *run)
{
    run->citations = mem_new(struct run_citations);
    for (size_t i = 0; i < run->history_count; i++) {
        if (may_have_sources(&run->history[i]))
            add_past(run->citations, &run->history[i]);
    }
}

void run_open_citations(struct run *run)
{
    if (run->citations)
        return;
    if (has_cited_tool(&run->tools) || history_has_sources(run))
        make_citations(run);
}

void run_citations_free(struct run_citations *citations)
{
    if (!citations)
        return;
    for (size_t i = 0; i < citations->count; i++) {
        json_decref(citations->searches[i].sources);
        free(citations->searches[i].text);
    }
    free(citations->searches);
    free(citations);
}

unsigned run_next_search(struct run *run)
{
    if (!run->citations)
        make_citations(run);
    return ++run->citations->last;
}

/* A quarter of what the model can read: the conversation needs room, and there may be several searches. */
size_t run_passage_tokens(const struct run *run)
{
    const struct tool_finder *finder = engine_options(run->engine)->finder;
    size_t limit = finder ? finder->passage_tokens : 0;
    int64_t room = run->turn.upstream ? run->turn.upstream->context_tokens / 4 : 0;

    return room > 0 && (size_t)room < limit ? (size_t)room : limit;
}

void run_add_sources(struct run *run, unsigned search, const json_t *sources, const char *text)
{
    if (!run->citations)
        make_citations(run);
    add_search(run->citations, search, sources, text);
    run->citations->searches[run->citations->count - 1].text = mem_strdup(text);
}

/* The source that a pair names; NULL: no such passage was shown. A search may be there twice, in the history
 * that a client sends. The later one counts. */
static const json_t *find_source(const struct run_citations *citations,
                                 const struct citation_pair *pair)
{
    for (size_t i = citations->count; i-- > 0;) {
        const struct shown_search *search = &citations->searches[i];

        if (search->number == pair->search) {
            const json_t *source = json_array_get(search->sources, pair->passage);

            return json_is_object(source) ? source : NULL;
        }
    }
    return NULL;
}

/* ---- Marks ---- */

/* The place behind the text of the open part so far. */
static json_int_t place_in_part(struct run *run)
{
    struct run_citations *citations = run->citations;
    const struct item *item = run->items.open;
    const struct buf *text = &item->parts[item->part_count - 1].text;

    if (text->length > citations->counted)
        citations->points += (json_int_t)utf8_count(text->data + citations->counted,
                                                    text->length - citations->counted);
    citations->counted = text->length;
    return citations->points;
}

static bool wants(const struct run *run, enum run_citing way)
{
    enum run_citing citing = run->settings.citing;

    if (citing == RUN_CITING_UNSET)
        citing = run_is_assistants(run) ? RUN_CITING_MARKS : RUN_CITING_OVERLAP;
    return citing >= way;
}

static void cite(struct run *run, const json_t *source, const struct citation_pair *pair)
{
    json_t *annotation = json_deep_copy(source);
    char mark[SOURCE_MARK_SIZE];

    json_set_int(annotation, "index", place_in_part(run));
    if (!run_is_assistants(run)) {
        run_annotate(run, annotation);
        return;
    }
    source_mark(pair->search, pair->passage, mark);
    run_add_mark(run, mark, annotation);
}

static bool is_repeated(const struct citation_mark *mark, unsigned at)
{
    for (unsigned i = 0; i < at; i++) {
        if (mark->pairs[i].search == mark->pairs[at].search &&
            mark->pairs[i].passage == mark->pairs[at].passage)
            return true;
    }
    return false;
}

static void take_text(void *arg, const char *text, size_t length)
{
    run_add_text(arg, text, length);
}

static void take_mark(void *arg, const struct citation_mark *mark)
{
    struct run *run = arg;
    bool known = false;

    for (unsigned i = 0; i < mark->count; i++) {
        const json_t *source = find_source(run->citations, &mark->pairs[i]);

        if (!source || is_repeated(mark, i) || !wants(run, RUN_CITING_MARKS))
            continue;
        cite(run, source, &mark->pairs[i]);
        known = run->citations->cited = true;
    }
    if (!known && run_is_assistants(run))
        run_add_text(run, mark->text, mark->length);
}

static const struct citation_events events = {.text = take_text, .mark = take_mark};

void run_add_cited_text(struct run *run, const char *text, size_t length)
{
    citation_feed(&run->citations->parser, text, length, &events, run);
}

/* ---- Models that do not cite ---- */

/* What the paragraphs of a part are compared with. */
struct candidates {
    struct overlap_passage *passages;
    struct citation_pair *pairs; /* what each is called */
    size_t count;
};

static void add_candidates(struct candidates *candidates, const struct shown_search *search)
{
    size_t count = json_array_size(search->sources);
    AUTO_FREE struct source_passage *found =
        mem_new_array(struct source_passage, count ? count : 1);

    source_passages(search->text, search->number, found, count);
    candidates->passages = mem_resize(candidates->passages, candidates->count + count + 1,
                                      sizeof(*candidates->passages));
    candidates->pairs = mem_resize(candidates->pairs, candidates->count + count + 1,
                                   sizeof(*candidates->pairs));
    for (size_t i = 0; i < count; i++) {
        if (!found[i].shown)
            continue;
        candidates->passages[candidates->count] =
            (struct overlap_passage){.text = found[i].text, .length = found[i].length};
        candidates->pairs[candidates->count++] =
            (struct citation_pair){.search = search->number, .passage = (unsigned)i};
    }
}

static struct candidates find_candidates(const struct run_citations *citations)
{
    struct candidates candidates = {0};
    size_t room = OVERLAP_TEXT_LIMIT;

    for (size_t i = citations->count; i-- > 0 && citations->searches[i].text;) {
        size_t length = strlen(citations->searches[i].text);

        if (length > room)
            break;
        room -= length;
        add_candidates(&candidates, &citations->searches[i]);
    }
    return candidates;
}

/* In a response the citation stands at the end of its paragraph, which was sent before. A mark can only follow the
 * text of a message. */
static void cite_overlap(struct run *run, const struct overlap *found,
                         const struct citation_pair *pair, const char *text)
{
    const json_t *source = find_source(run->citations, pair);
    json_t *annotation;

    if (run_is_assistants(run)) {
        cite(run, source, pair);
        return;
    }
    annotation = json_deep_copy(source);
    json_set_int(annotation, "index", (json_int_t)utf8_count(text, found->end));
    run_annotate(run, annotation);
}

/* `text` is a copy: a mark makes the part's text grow. */
static void cite_paragraphs(struct run *run)
{
    const struct item *item = run->items.open;
    const struct buf *said = &item->parts[item->part_count - 1].text;
    AUTO_FREE char *text = mem_strndup(said->data ? said->data : "", said->length);
    struct candidates candidates = find_candidates(run->citations);
    size_t count = 0;
    AUTO_FREE struct overlap *found =
        overlap_find(text, strlen(text), candidates.passages, candidates.count, &count);

    for (size_t i = 0; i < count; i++)
        cite_overlap(run, &found[i], &candidates.pairs[found[i].passage], text);
    free(candidates.passages);
    free(candidates.pairs);
}

static bool is_of_model(const struct run *run)
{
    const struct item *item = run->items.open;

    return item->parts[item->part_count - 1].kind == PART_TEXT && !run->calls.channel;
}

void run_end_cited_text(struct run *run)
{
    struct run_citations *citations = run->citations;

    if (!citations)
        return;
    citation_end(&citations->parser, &events, run);
    if (!citations->cited && is_of_model(run) && wants(run, RUN_CITING_OVERLAP))
        cite_paragraphs(run);
    citations->counted = 0;
    citations->points = 0;
    citations->cited = false;
}
