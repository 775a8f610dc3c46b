/*
 * run_links.c -- from links to annotations.
 *
 * Which pages a call has brought stands in its item, and the tool says where (tool_item.h). So nothing is noted beside
 * the item, and nothing is read before a text has a link: the history is read once then, and later only what the run
 * has made since. Newest first: of two titles of a page the newer one counts.
 *
 * Links are looked for when the part ends. They would be found in the pieces of a stream, too, but an annotation behind
 * the last delta is what clients know from OpenAI, and so the pieces may be cut anywhere.
 *
 * An upstream that searches itself sends annotations of its own. A part that has any gets no others.
 */

#include "core/run/turn/run_links.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/utf8.h"
#include "core/domain/withheld.h"
#include "core/run/citation/link.h"
#include "core/run/turn/run.h"
#include "core/tool/registry.h"

static const char kind[] = "url_citation";

struct run_links {
    json_t *titles;   /* by link_page() */
    size_t made;      /* items of this residency that were read */
    bool has_history; /* the history was read, too */
};

void run_links_free(struct run_links *links)
{
    if (!links)
        return;
    json_decref(links->titles);
    free(links);
}

/* ---- Which pages there are ---- */

/* `newer` wins over what is there. */
static void put_page(struct run_links *links, const json_t *page, bool newer)
{
    const char *url = json_get_string(page, "url", "");
    AUTO_FREE char *key = link_page(url, strlen(url));
    bool known = json_object_get(links->titles, key);

    if (!*key || (known && !newer) ||
        (!known && json_object_size(links->titles) >= LINK_PAGES_LIMIT))
        return;
    json_set_string(links->titles, key, json_get_string(page, "title", url));
}

/* A result that waits for an approval shows no pages yet. */
static void put_pages(struct run_links *links, const struct item_row *row, bool newer)
{
    const struct tool_item *item = item_type_kind(row->type) == ITEM_KIND_HOSTED_CALL
                                       ? tool_registry_item(item_type_name(row->type))
                                       : NULL;
    json_auto_t *body = item && item->pages && row->body ? json_parse_own(row->body) : NULL;
    const json_t *pages;
    size_t i;
    json_t *page;

    if (!body || withheld_is(body))
        return;
    pages = item->pages(body);
    json_array_foreach (pages, i, page)
        put_page(links, page, newer);
}

static void gather(struct run *run)
{
    struct run_links *links = run->links;

    if (!links) {
        links = run->links = mem_new(struct run_links);
        links->titles = json_object();
    }
    for (; links->made < run->items.count && !run->items.list[links->made]->open; links->made++)
        put_pages(links, &run->items.list[links->made]->row, true);
    for (size_t i = links->has_history ? 0 : run->history_count; i-- > 0;)
        put_pages(links, &run->history[i], false);
    links->has_history = true;
}

/* ---- Links ---- */

static bool is_cited(const struct part *part)
{
    size_t i;
    json_t *annotation;

    json_array_foreach (part->annotations, i, annotation) {
        if (strcmp(json_get_string(annotation, "type", ""), kind) == 0)
            return true;
    }
    return false;
}

/* Characters are counted from the last place on, so the text is counted once. */
struct place {
    const char *at;
    json_int_t points;
};

static json_int_t count_to(struct place *place, const char *at)
{
    place->points += (json_int_t)utf8_count(place->at, (size_t)(at - place->at));
    place->at = at;
    return place->points;
}

static void cite(struct run *run, const struct link *link, struct place *place)
{
    AUTO_FREE char *key = link_page(link->url, link->url_length);
    const char *title = json_get_string(run->links->titles, key, NULL);
    json_int_t from;

    if (!title)
        return;
    from = count_to(place, link->begin);
    run_annotate(run, json_build("{s:s, s:I, s:I, s:s%, s:s}", "type", kind, "start_index",
                                 from, "end_index", count_to(place, link->end), "url",
                                 link->url, link->url_length, "title", title));
}

void run_cite_links(struct run *run)
{
    const struct item *item = run->items.open;
    const struct part *part = &item->parts[item->part_count - 1];
    struct place place = {.at = part->text.data};
    const char *at = part->text.data;
    struct link link;

    if (run_is_assistants(run) || part->kind != PART_TEXT || !part->text.length ||
        is_cited(part) || !link_find(at, &link))
        return;
    gather(run);
    if (!json_object_size(run->links->titles))
        return;
    for (unsigned i = 0; i < LINKS_LIMIT && link_find(at, &link); i++) {
        cite(run, &link, &place);
        at = link.end;
    }
}
