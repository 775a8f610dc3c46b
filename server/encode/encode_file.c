#include "core/base/json.h"
#include "server/encode/encode.h"
#include "server/encode/encode_field.h"

/* A file is ready for everything as soon as it is there. `status` and `status_details` are deprecated, and SDKs
 * wait for the first. */
json_t *encode_file(const struct file_row *row)
{
    json_t *object = encode_new(row->id, "file", row->created_at);

    json_set_int(object, "bytes", (json_int_t)row->bytes);
    field_set_time(object, "expires_at", row->expires_at);
    json_set_string(object, "filename", row->filename);
    json_set_string(object, "purpose", row->purpose);
    json_set_string(object, "status", "processed");
    json_object_set_new(object, "status_details", json_null());
    return object;
}
