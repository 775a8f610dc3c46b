/* In any answer of S3, what is found lies inside the text, and comes to an end. */

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/blob/s3_xml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct s3_span all = {(const char *)data, size};
    struct s3_span list = all, upload;
    char text[64];

    while (s3_xml_next(&list, "Upload", &upload)) {
        assert(upload.text > all.text && upload.text + upload.length < list.text);
        assert(list.text + list.length == all.text + all.length);
        if (s3_xml_text(upload, "UploadId", text, sizeof(text)))
            assert(strlen(text) < sizeof(text));
    }
    if (s3_xml_text(all, "Code", text, sizeof(text)))
        assert(strlen(text) < sizeof(text));
    return 0;
}
