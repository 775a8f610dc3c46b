/*
 * bundle.c -- hands a zip to a child, and takes its files.
 */

#include "core/document/bundle/bundle.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/document/bundle/bundle_record.h"
#include "core/document/document.h"
#include "core/document/reading.h"
#include "core/sandbox/compute.h"

void bundle_clear(struct bundle *bundle)
{
    for (size_t i = 0; i < bundle->count; i++) {
        free(bundle->list[i].path);
        buf_clear(&bundle->list[i].bytes);
    }
    free(bundle->list);
    *bundle = (struct bundle){.count = 0};
}

void bundle_add(struct bundle *bundle, const char *path, const void *bytes, size_t length)
{
    struct bundle_file *file;

    bundle->list = mem_resize(bundle->list, bundle->count + 1, sizeof(*bundle->list));
    file = &bundle->list[bundle->count++];
    *file = (struct bundle_file){.path = mem_strdup(path)};
    buf_add(&file->bytes, bytes, length);
}

/* ---- Paths ---- */

const char *bundle_path_problem(const char *path)
{
    const char *name = path;
    size_t depth = 0;

    if (*path == '/')
        return "is absolute";
    if (strlen(path) > BUNDLE_PATH_LIMIT)
        return "is longer than 256 bytes";
    for (const char *byte = path; *byte; byte++)
        if ((unsigned char)*byte < ' ' || *byte == 0x7F || *byte == '\\')
            return "has a backslash or a control character";
    do {
        size_t length = strcspn(name, "/");

        if (!length)
            return "has an empty part";
        if (length <= 2 && strspn(name, ".") == length)
            return length == 2 ? "has a part '..'" : "has a part '.'";
        if (++depth > BUNDLE_DEPTH_LIMIT)
            return "is more than 16 folders deep";
        name += length + 1;
    } while (name[-1]);
    return NULL;
}

