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

json_t *encode_upload(const struct upload_row *row, const struct file_row *file)
{
    json_t *object = encode_new(row->id, "upload", row->created_at);

    json_set_int(object, "bytes", (json_int_t)row->bytes);
    json_set_string(object, "filename", row->filename);
    json_set_string(object, "purpose", row->purpose);
    json_set_string(object, "status", upload_status_name(row->status));
    field_set_time(object, "expires_at", row->expires_at);
    json_object_set_new(object, "file", file ? encode_file(file) : json_null());
    return object;
}

json_t *encode_upload_part(const struct part_row *part)
{
    json_t *object = encode_new(part->id, "upload.part", part->created_at);

    json_set_string(object, "upload_id", part->upload_id);
    return object;
}
