#include "core/ingest/model_rest.h"

bool model_rest_may_ask(struct model_rest *rest, uint64_t now_ns)
{
    uint64_t until = atomic_load(&rest->until_ns);

    if (!until)
        return true;
    return now_ns >= until &&
           atomic_compare_exchange_strong(&rest->until_ns, &until, now_ns + MODEL_REST_NS);
}

void model_rest_note(struct model_rest *rest, enum err_code rc, uint64_t pause_ns,
                     uint64_t now_ns)
{
    if (!rc || rc == ERR_INVALID)
        atomic_store(&rest->until_ns, 0);
    if (rc != ERR_UPSTREAM && rc != ERR_TIMEOUT && rc != ERR_LIMIT)
        return;
    if (pause_ns < MODEL_REST_NS)
        pause_ns = MODEL_REST_NS;
    if (pause_ns > MODEL_REST_LIMIT_NS)
        pause_ns = MODEL_REST_LIMIT_NS;
    atomic_store(&rest->until_ns, now_ns + pause_ns);
}
