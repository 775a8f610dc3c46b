#include "tests/support/boxes.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/sandbox/compute.h"
#include "core/sandbox/policy.h"
#include "core/sandbox/tree.h"
#include "tests/support/patience.h"
#include "tests/support/test.h"

uint32_t box_user(void)
{
    return geteuid() == 0 ? 1900000000 : 0;
}

/* With the program itself, not with what is tested. */
static bool has_namespaces(void)
{
    const char *bwrap;
    int status = 0;
    pid_t child;

    if (policy_bwrap(&bwrap, NULL))
        return false;
    child = fork();
    if (child == 0) {
        uint32_t user = box_user();

        if (user && (setresgid(user, user, user) || setresuid(user, user, user)))
            _exit(1);
        execl(bwrap, bwrap, "--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc",
              "/usr/bin/true", (char *)NULL);
        _exit(1);
    }
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

static bool has_boxes(void)
{
    static int known; /* 0: not yet */

    if (!known)
        known = has_namespaces() ? 1 : -1;
    return known > 0;
}

static bool are_boxes_required(void)
{
    const char *required = getenv("RUNNEL_REQUIRE_SANDBOX");

    return required && strcmp(required, "1") == 0;
}

void skip_without_boxes(void)
{
    static int skipped;

    if (has_boxes())
        return;
    if (are_boxes_required())
        fail_msg("RUNNEL_REQUIRE_SANDBOX=1, and there are no user namespaces");
    printf("SKIPPED %d (no user namespaces)\n", ++skipped);
    skip();
}

int run_in_boxes(const struct CMUnitTest *tests, size_t count, int (*start)(void **state),
                 int (*stop)(void **state))
{
    if (has_boxes())
        return _cmocka_run_group_tests("tests", tests, count, start, stop);
    for (size_t i = 0; i < count; i++)
        printf("%s:\nSKIPPED %zu (no user namespaces)\n", tests[i].name, i + 1);
    return are_boxes_required() ? 1 : 0;
}

/* ---- A box and scripts in it ---- */

struct box *test_box;

static const char *const environment[] = {"PATH=/usr/bin:/bin", NULL};

struct box *open_test_box(uint64_t memory, uint32_t processes)
{
    struct box_plan plan = {.limits = {.memory = memory,
                                       .temporary = 16 << 20,
                                       .file = 1 << 20,
                                       .processes = processes,
                                       .cpus = 1},
                            .user = box_user()};
    struct box *made = NULL;
    struct err err = {0};

    if (box_open(&plan, &made, &err))
        fail_msg("%s", err.text);
    return made;
}

bool keep_output(void *argument, enum box_stream stream, const char *bytes, size_t size)
{
    buf_add(&((struct printed *)argument)->texts[stream], bytes, size);
    return true;
}

void forget_output(struct printed *printed)
{
    buf_clear(&printed->texts[BOX_STDOUT]);
    buf_clear(&printed->texts[BOX_STDERR]);
}

const char *printed_on(const struct printed *printed, enum box_stream stream)
{
    return printed->texts[stream].data ? printed->texts[stream].data : "";
}

struct box_run script(const char **arguments, const char *text)
{
    arguments[0] = "bash";
    arguments[1] = "-c";
    arguments[2] = text;
    arguments[3] = NULL;
    return (struct box_run){
        .command = {.folder = "/tmp", .arguments = arguments, .environment = environment},
        .input = -1,
        .timeout_ms = BOX_LONG_MS,
        .cancel = -1};
}

struct box_result run(struct box_run plan)
{
    struct box_result result = {.why = BOX_GONE};
    struct err err = {0};

    if (box_run(test_box, &plan, &result, &err))
        fail_msg("%s", err.text);
    return result;
}

struct box_result run_script(const char *text)
{
    const char *arguments[4];

    return run(script(arguments, text));
}

void assert_prints(const char *text, const char *expected)
{
    const char *arguments[4];
    struct box_run plan = script(arguments, text);
    struct printed printed = {0};
    struct box_result result;

    plan.take_output = keep_output;
    plan.argument = &printed;
    result = run(plan);
    assert_string_equal(printed_on(&printed, BOX_STDERR), "");
    assert_string_equal(printed_on(&printed, BOX_STDOUT), expected);
    assert_int_equal(result.why, BOX_EXITED);
    assert_int_equal(result.status, 0);
    forget_output(&printed);
}

void assert_box_is_empty(void)
{
    assert_prints("set -- /proc/[0-9]*; echo $(($# - 2))", "1\n");
}

int box_set_up(void **state)
{
    (void)state;
    test_box = open_test_box((uint64_t)1 << 30, 256);
    return 0;
}

/* This process gets all orphans of its family, so it sees who is left: itself, the zygote, the spawner. */
void assert_no_box_is_left(void)
{
    uint64_t deadline = clock_mono_ns() + patience_ns(20);
    struct tree tree;

    do {
        while (waitpid(-1, NULL, WNOHANG) > 0)
            ;
        tree_measure(getpid(), 0, &tree);
    } while (tree.processes > 3 && clock_mono_ns() < deadline);
    assert_true(tree.processes <= 3);
}

int box_tear_down(void **state)
{
    (void)state;
    box_close(test_box);
    test_box = NULL;
    assert_no_box_is_left();
    return 0;
}

int boxes_start(void **state)
{
    struct err err;

    (void)state;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    return compute_start(NULL, 0, &err) == ERR_OK ? 0 : -1;
}

int boxes_stop(void **state)
{
    (void)state;
    compute_stop();
    return 0;
}
