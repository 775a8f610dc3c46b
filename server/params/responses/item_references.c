#include "server/params/responses/item_references.h"

#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/domain/item_type.h"
#include "core/domain/tenant.h"
#include "core/store/tables/threads/item_find.h"

/*
 * An item reference saves a client from sending an item again. Looking up each one when it is decoded
 * would be one query an item, with a list of up to ten thousand. So the references are collected first,
 * with each id once, and fetched with one query; decoding then finds them in memory.
 *
 * Most references point into the context of the request: a client continues a conversation and names
 * its items in the order that it wants. Those are known already, and the store is not asked. A
 * reference to such an item adds nothing to the context (response_input.c).
 *
 * Both look-ups go through a JSON object as a hash table, because a linear search would make ten
 * thousand references quadratic.
 *
 * A list that is too long is not looked up at all: response_input.c refuses it a moment later.
 */

/* A call of a hosted tool that has an id and nothing else: OpenAI's guide to pictures sends them so. */
static bool is_bare_call(const json_t *item, const char *type)
{
    return json_object_size(item) == 2 && json_is_string(json_object_get(item, "id")) &&
           item_type_kind(item_type_parse(type)) == ITEM_KIND_HOSTED_CALL;
}

/* OpenAI's schema makes `type` optional here, also as null: an object with an id alone is a reference. */
bool item_is_reference(const json_t *item)
{
    const json_t *type = json_object_get(item, "type");

    if (json_is_string(type))
        return strcmp(json_string_value(type), "item_reference") == 0 ||
               is_bare_call(item, json_string_value(type));
    return json_absent(type) && json_object_size(item) == (type ? 2u : 1u) &&
           json_is_string(json_object_get(item, "id"));
}

/* The ids that are not in the context, as the keys of an object. */
static json_t *wanted_ids(const json_t *input, const struct item_references *references)
{
    json_t *wanted = json_object();
    size_t i;
    json_t *item;

    json_array_foreach (input, i, item) {
        const char *id = json_get_string(item, "id", NULL);

        if (id && item_is_reference(item) && !item_references_in_context(references, id))
            json_object_set_new(wanted, id, json_true());
    }
    return wanted;
}

static enum err_code find_rows(struct store *store, const struct tenant *tenant, json_t *wanted,
                               struct item_references *references, struct err *err)
{
    AUTO_FREE const char **ids = mem_new_array(const char *, json_object_size(wanted));
    const char *id;
    json_t *value;
    size_t count = 0;

    json_object_foreach (wanted, id, value)
        ids[count++] = id;
    return store_items_find(store, tenant, ids, count, &references->rows, &references->count,
                            err);
}

static bool has_reference(const json_t *input)
{
    size_t i;
    json_t *item;

    json_array_foreach (input, i, item) {
        if (item_is_reference(item))
            return true;
    }
    return false;
}

enum err_code item_references_load(struct store *store, const struct tenant *tenant,
                                   const json_t *input, const struct item_row *context,
                                   size_t context_count, struct item_references *ret_references,
                                   struct err *err)
{
    struct item_references references = {0};
    json_auto_t *wanted = NULL;
    enum err_code rc = ERR_OK;

    *ret_references = references;
    if (json_array_size(input) > ITEM_REFERENCES_LIMIT || !has_reference(input))
        return ERR_OK;
    references.context = json_object();
    references.places = json_object();
    for (size_t i = 0; i < context_count; i++)
        json_object_set_new(references.context, context[i].id, json_true());
    wanted = wanted_ids(input, &references);
    if (json_object_size(wanted))
        rc = find_rows(store, tenant, wanted, &references, err);
    for (size_t i = 0; i < references.count; i++)
        json_set_int(references.places, references.rows[i].id, (json_int_t)i);
    *ret_references = references;
    return rc;
}

void item_references_clear(struct item_references *references)
{
    json_decref(references->context);
    json_decref(references->places);
    item_rows_free(references->rows, references->count);
    *references = (struct item_references){0};
}

bool item_references_in_context(const struct item_references *references, const char *id)
{
    return json_object_get(references->context, id);
}

const struct item_row *item_references_find(const struct item_references *references,
                                            const char *id)
{
    json_int_t place = json_get_int(references->places, id, -1);

    return place < 0 ? NULL : &references->rows[place];
}
