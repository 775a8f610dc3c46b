/*
 * Vector stores as objects.
 *
 * All keys are always there: SDKs with strict types refuse `file_counts` without one of its five numbers, and null for
 * the name of a store without one.
 */

#include "server/encode/encode_vector_store.h"

#include "core/base/json.h"
#include "server/encode/encode.h"
#include "server/encode/encode_field.h"

static json_t *counts_of(const uint64_t counts[STORE_FILE_STATUS_COUNT])
{
    json_t *object = json_object();
    uint64_t total = 0;

    for (int i = 0; i < STORE_FILE_STATUS_COUNT; i++) {
        json_set_int(object, store_file_status_names[i], (json_int_t)counts[i]);
        total += counts[i];
    }
    json_set_int(object, "total", (json_int_t)total);
    return object;
}

static const char *status_of(const struct vector_store_row *row)
{
    if (row->expired)
        return "expired";
    return row->counts[STORE_FILE_IN_PROGRESS] ? "in_progress" : "completed";
}

json_t *encode_vector_store(const struct vector_store_row *row)
{
    json_t *object = encode_new(row->id, "vector_store", row->created_at);

    json_set_string(object, "name", row->name);
    json_object_set_new(object, "description",
                        row->description ? json_string(row->description) : json_null());
    json_set_int(object, "usage_bytes", (json_int_t)row->usage_bytes);
    json_object_set_new(object, "file_counts", counts_of(row->counts));
    json_set_string(object, "status", status_of(row));
    json_object_set_new(object, "expires_after",
                        row->expires_days ? json_build("{s:s, s:i}", "anchor", "last_active_at",
                                                       "days", row->expires_days)
                                          : json_null());
    field_set_time(object, "expires_at", row->expires_at);
    field_set_time(object, "last_active_at", row->last_active_at);
    field_set_own(object, "metadata", row->metadata, "{}");
    return object;
}

/* How far a file is, as far as that is known. */
static json_t *progress_of(const struct store_file_row *row)
{
    return json_build("{s:I, s:I}", "pages", (json_int_t)row->pages, "chunks",
                      (json_int_t)row->chunks);
}

json_t *encode_store_file(const struct store_file_row *row)
{
    json_t *object = encode_new(row->file_id, "vector_store.file", row->created_at);

    json_set_string(object, "vector_store_id", row->store_id);
    json_set_int(object, "usage_bytes", (json_int_t)row->usage_bytes);
    json_set_string(object, "status", store_file_status_name(row->status));
    json_object_set_new(object, "last_error",
                        row->error_code ? json_build("{s:s, s:s}", "code", row->error_code,
                                                     "message", row->error_message)
                                        : json_null());
    json_object_set_new(object, "chunking_strategy",
                        json_build("{s:s, s:{s:i, s:i}}", "type", "static", "static",
                                   "max_chunk_size_tokens", row->chunk_tokens,
                                   "chunk_overlap_tokens", row->overlap_tokens));
    field_set_own(object, "attributes", row->attributes, "{}");
    json_object_set_new(object, "runnel", progress_of(row));
    return object;
}

static const char *batch_status(const struct file_batch_row *row)
{
    uint64_t others = row->counts[STORE_FILE_COMPLETED] + row->counts[STORE_FILE_CANCELLED];

    if (row->counts[STORE_FILE_IN_PROGRESS])
        return "in_progress";
    if (row->cancelled)
        return "cancelled";
    return row->counts[STORE_FILE_FAILED] && !others ? "failed" : "completed";
}

json_t *encode_file_batch(const struct file_batch_row *row)
{
    json_t *object = encode_new(row->id, "vector_store.file_batch", row->created_at);

    json_set_string(object, "vector_store_id", row->store_id);
    json_set_string(object, "status", batch_status(row));
    json_object_set_new(object, "file_counts", counts_of(row->counts));
    return object;
}

/* ---- What was found ---- */

static json_t *hit_object(const struct search_hit *hit)
{
    json_t *object = json_build("{s:s, s:s, s:f, s:[{s:s, s:s}]}", "file_id", hit->file_id,
                                "filename", hit->filename, "score", hit->score, "content",
                                "type", "text", "text", hit->text);
    json_t *place =
        json_build("{s:s, s:I}", "heading", hit->heading, "chunk", (json_int_t)hit->chunk);

    field_set_own(object, "attributes", hit->attributes, "{}");
    json_object_set_new(place, "page",
                        hit->page ? json_integer((json_int_t)hit->page) : json_null());
    json_object_set_new(object, "runnel", place);
    return object;
}

json_t *encode_search_page(json_t *queries, const struct search_result *result)
{
    json_t *data = json_array();
    json_t *notes = json_build("{s:s, s:b}", "mode", search_mode_name(result->mode), "reranked",
                               result->reranked);

    for (size_t i = 0; i < result->count; i++)
        json_array_append_new(data, hit_object(&result->hits[i]));
    if (result->degraded)
        json_set_string(notes, "degraded", "embeddings");
    return json_build("{s:s, s:o, s:o, s:b, s:n, s:o}", "object",
                      "vector_store.search_results.page", "search_query", queries, "data", data,
                      "has_more", 0, "next_page", "runnel", notes);
}
