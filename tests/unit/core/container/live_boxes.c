#include "tests/unit/core/container/live_boxes.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "tests/support/boxes.h"
#include "tests/support/patience.h"
#include "tests/support/test.h"

#define CONTAINERS 4

struct boxes *live_boxes;
struct boxes_options live_options;

static char folder[] = "/tmp/runnel-live-XXXXXX";
static struct workspaces *workspaces;
static struct workspace *open_ones[CONTAINERS];

static int remove_one(const char *path, const struct stat *found, int kind, struct FTW *at)
{
    (void)found, (void)kind, (void)at;
    return remove(path);
}

static int remove_folder(const char *path)
{
    return nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

int live_start(void **state)
{
    struct workspaces_options options = {
        .data_dir = folder, .bytes = LIVE_DISK, .files = 10000};

    if (boxes_start(state) || !mkdtemp(folder) || chmod(folder, 0711) != 0)
        return -1;
    return workspaces_open(&options, &workspaces, NULL) == ERR_OK ? 0 : -1;
}

int live_stop(void **state)
{
    workspaces_close(workspaces);
    return remove_folder(folder) == 0 ? boxes_stop(state) : -1;
}

int live_set_up(void **state)
{
    (void)state;
    live_options = (struct boxes_options){
        .count = 3,
        .memory = 3 * LIVE_MEMORY,
        .calls = 4,
        .idle_ns = patience_ns(600),
        .queue_ns = patience_ns(30),
        .user = box_user(),
        .limits = {.temporary = 16 << 20, .file = 32 << 20, .processes = 64, .cpus = 1},
    };
    live_boxes = boxes_new(&live_options);
    return 0;
}

int live_tear_down(void **state)
{
    int rc = 0;

    (void)state;
    boxes_drain(live_boxes);
    boxes_kill(live_boxes);
    boxes_free(TAKE(live_boxes));
    for (size_t i = 0; i < CONTAINERS && open_ones[i]; i++) {
        rc = rc ? rc : remove_folder(workspace_folder(open_ones[i]));
        workspace_close(TAKE(open_ones[i]));
    }
    assert_no_box_is_left();
    return rc;
}

struct workspace *live_workspace(const char *container)
{
    AUTO_FREE char *end = mem_printf("/%s/data", container);
    struct err err = {0};
    size_t i = 0;

    while (open_ones[i] && !strstr(workspace_folder(open_ones[i]), end))
        i++;
    assert_true(i < CONTAINERS);
    if (!open_ones[i] &&
        workspace_make(workspaces, "proj_1", container, box_user(), &open_ones[i], &err))
        fail_msg("%s", err.text);
    return open_ones[i];
}

struct boxes_request live_request(const char *container, enum boxes_use use)
{
    return (struct boxes_request){.container = container,
                                  .workspace = live_workspace(container),
                                  .memory = LIVE_MEMORY,
                                  .use = use,
                                  .cancel = -1};
}

struct boxes_hold *live_take(const char *container, enum boxes_use use)
{
    struct boxes_request request = live_request(container, use);
    struct boxes_hold *hold = NULL;
    struct err err = {0};

    if (boxes_take(live_boxes, &request, &hold, &err))
        fail_msg("%s", err.text);
    return hold;
}

/* ---- Cells ---- */

static bool keep_text(void *argument, const char *bytes, size_t size)
{
    buf_add(&((struct shown *)argument)->text, bytes, size);
    return true;
}

static bool keep_figure(void *argument, const char *path, const char *png, size_t size)
{
    assert_true(size > 8);
    assert_memory_equal(png, "\x89PNG\r\n\x1a\n", 8);
    buf_addf(&((struct shown *)argument)->text, "<%s>", path);
    return true;
}

struct python_cell live_cell(const char *container, const char *code, struct shown *shown)
{
    return (struct python_cell){.code = code,
                                .code_size = strlen(code),
                                .workspace = live_workspace(container),
                                .timeout_ms = BOX_LONG_MS,
                                .cancel = -1,
                                .take_output = keep_text,
                                .take_figure = keep_figure,
                                .argument = shown};
}

void live_run(const char *container, const struct python_cell *cell, struct shown *shown)
{
    struct boxes_hold *hold = live_take(container, BOXES_PYTHON);
    struct err err = {0};

    if (python_run(boxes_python(hold), cell, &shown->result, &err))
        fail_msg("%s", err.text);
    boxes_give(hold);
}

void assert_shows(const char *code, const char *expected)
{
    struct shown shown = {0};
    struct python_cell cell = live_cell("a", code, &shown);

    live_run("a", &cell, &shown);
    assert_string_equal(shown.text.data ? shown.text.data : "", expected);
    assert_int_equal(shown.result.end, PYTHON_DONE);
    assert_string_equal(shown.result.notice, "");
    buf_clear(&shown.text);
}
