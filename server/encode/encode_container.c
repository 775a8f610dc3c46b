#include <stdio.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "server/encode/encode.h"
#include "server/encode/encode_field.h"

/* Seconds as whole minutes, of which a container has at least one. */
static json_int_t minutes(int64_t seconds)
{
    return (json_int_t)((seconds + 59) / 60);
}

/* As it was given. */
static json_t *network_policy(const struct container_row *row)
{
    json_t *domains = json_parse_own(row->domains);

    if (json_array_size(domains))
        return json_build("{s:s, s:o}", "type", "allowlist", "allowed_domains", domains);
    json_decref(domains);
    return json_build("{s:s}", "type", "disabled");
}

json_t *encode_container(const struct container_row *row)
{
    json_t *object = encode_new(row->id, "container", row->created_at);
    char memory[16];

    (void)snprintf(memory, sizeof(memory), "%dg", row->memory_gib);
    json_set_string(object, "name", row->name);
    json_set_string(object, "status", container_status_name(row->status));
    json_set(object, "expires_after",
             json_build("{s:s, s:I}", "anchor", "last_active_at", "minutes",
                        minutes(row->idle_seconds)));
    field_set_time(object, "last_active_at", row->last_active_at);
    json_set_string(object, "memory_limit", memory);
    json_set(object, "network_policy", network_policy(row));
    json_set(object, "runnel", json_build("{s:s}", "node", row->node_id));
    return object;
}

json_t *encode_container_file(const struct container_file_row *row)
{
    json_t *object = encode_new(row->id, "container.file", row->created_at);
    AUTO_FREE char *path = mem_printf("/mnt/data/%s", row->path);

    json_set_int(object, "bytes", (json_int_t)row->bytes);
    json_set_string(object, "container_id", row->container_id);
    json_set_string(object, "path", path);
    json_set_string(object, "source", container_source_name(row->source));
    return object;
}
