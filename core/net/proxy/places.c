#include "core/net/proxy/places.h"

#include <string.h>
#include <strings.h>

#include "core/base/json.h"

void places_init(struct places *places)
{
    lock_init(&places->lock, LOCK_PLACES);
}

void places_destroy(struct places *places)
{
    lock_destroy(&places->lock);
}

void places_begin(struct places *places)
{
    lock_acquire(&places->lock);
    if (!places->calls++) {
        places->left = 0;
        places->count = places->refused = 0;
        places->generation++;
    }
    places->left += PROXY_CALL_BYTES;
    lock_release(&places->lock);
}

static json_t *listed(const struct place *place)
{
    return json_build("{s:s, s:i, s:s, s:I, s:I}", "host", place->host, "port",
                      (int)place->port, "verdict", proxy_verdict_name(place->verdict),
                      "connections", (json_int_t)place->connections, "bytes",
                      (json_int_t)place->bytes);
}

json_t *places_end(struct places *places)
{
    json_t *list = NULL;

    lock_acquire(&places->lock);
    places->calls--;
    for (size_t i = 0; i < places->count; i++) {
        if (!list)
            list = json_array();
        json_array_append_new(list, listed(&places->list[i]));
    }
    lock_release(&places->lock);
    return list;
}

static size_t find_locked(const struct places *places, const char *host, unsigned port,
                          enum proxy_verdict verdict) REQUIRES(places->lock)
{
    size_t i = 0;

    while (i < places->count &&
           (places->list[i].port != port || places->list[i].verdict != verdict ||
            strcasecmp(places->list[i].host, host) != 0))
        i++;
    return i;
}

bool places_note(struct places *places, const char *host, unsigned port,
                 enum proxy_verdict verdict, struct place_mark *ret_mark)
{
    bool is_new;
    size_t i;

    lock_acquire(&places->lock);
    i = find_locked(places, host, port, verdict);
    is_new = i == places->count && i < PROXY_PLACES &&
             (verdict == PROXY_ALLOWED || places->refused < PROXY_REFUSED);
    if (is_new) {
        places->list[i] = (struct place){.port = port, .verdict = verdict};
        memcpy(places->list[i].host, host, strlen(host) + 1);
        places->count++;
        places->refused += verdict != PROXY_ALLOWED;
    }
    if (i < places->count)
        places->list[i].connections++;
    *ret_mark = (struct place_mark){.generation = places->generation, .index = i};
    lock_release(&places->lock);
    return is_new;
}

bool places_spend(struct places *places, const struct place_mark *mark, uint64_t bytes)
{
    bool fits;

    lock_acquire(&places->lock);
    fits = bytes <= places->left;
    places->left -= fits ? bytes : places->left;
    if (fits && mark->generation == places->generation && mark->index < places->count)
        places->list[mark->index].bytes += bytes;
    lock_release(&places->lock);
    return fits;
}

bool places_are_spent(struct places *places)
{
    bool spent;

    lock_acquire(&places->lock);
    spent = !places->left;
    lock_release(&places->lock);
    return spent;
}
