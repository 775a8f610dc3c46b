/* Paths of a workspace: what is accepted has no part that leaves it, is the same by each of its three names, and an
 * error about any bytes is one line. */

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/sandbox/workspace/workspace_path.h"

static void check_parts(const char *path)
{
    assert(*path && *path != '/' && path[strlen(path) - 1] != '/');
    for (const char *part = path; part; part = strchr(part, '/')) {
        size_t length;

        part += *part == '/';
        length = strcspn(part, "/");
        assert(length > 0);
        assert(length != 1 || *part != '.' || strcmp(path, ".") == 0);
        assert(length != 2 || memcmp(part, "..", 2) != 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_FREE char *text = mem_strndup((const char *)data, size);
    AUTO_FREE char *path = NULL, *again = NULL, *in_box = NULL;
    struct err err;

    if (workspace_path_parse(text, &path, &err) != ERR_OK) {
        assert(!strpbrk(err.text, "\n\r\t"));
        return 0;
    }
    check_parts(path);
    in_box = workspace_path_in_box(path);
    if (strlen(in_box) <= WORKSPACE_PATH_LIMIT) {
        assert(workspace_path_parse(in_box, &again, &err) == ERR_OK);
        assert(strcmp(again, path) == 0);
    }
    return 0;
}
