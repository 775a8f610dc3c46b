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
        places->count = 0;
        places->generation++;
    }
    places->left += PROXY_CALL_BYTES;
    lock_release(&places->lock);
}
