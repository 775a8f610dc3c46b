/*
 * page_text.c -- the main text of pages, as the tools of the group `web` read it.
 *
 *   page_text FILE...
 *
 * Prints one line of JSON for each file: {"text": ..., "ms": ...}. Without the confined child, so the milliseconds are
 * those of reading alone.
 */

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/document/page/page.h"
#include "core/document/page/page_task.h"

static void read_file(const char *path, struct buf *bytes)
{
    FILE *file = fopen(path, "rb");
    char part[65536];
    size_t got;

    if (!file) {
        fprintf(stderr, "page_text: %s: %s\n", path, strerror(errno));
        exit(1);
    }
    while ((got = fread(part, 1, sizeof(part), file)) > 0)
        buf_add(bytes, part, got);
    if (ferror(file)) {
        fprintf(stderr, "page_text: %s: cannot be read\n", path);
        exit(1);
    }
    fclose(file);
}

int main(int argc, char **argv)
{
    json_auto_t *want = json_build("{s:i s:s s:s}", "view", PAGE_MARKDOWN, "content_type",
                                   "text/html", "url", "http://127.0.0.1/");

    for (int i = 1; i < argc; i++) {
        AUTO_BUF bytes = {0};
        json_auto_t *page = NULL;
        uint64_t began;

        read_file(argv[i], &bytes);
        began = clock_mono_ns();
        page = page_make(want, bytes.data ? bytes.data : "", bytes.length);
        json_set(page, "ms", json_real((double)(clock_mono_ns() - began) / (double)NS_PER_MS));
        if (json_dumpf(page, stdout, JSON_COMPACT) || putchar('\n') == EOF)
            return 1;
    }
    return 0;
}
