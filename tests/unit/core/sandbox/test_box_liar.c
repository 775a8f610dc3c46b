/* A box whose first process has been taken over can lie about itself, and harms nothing else. */

#include "core/sandbox/box_program.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/compiler.h"
#include "core/sandbox/box.h"
#include "tests/support/box_lies.h"
#include "tests/support/boxes.h"
#include "tests/support/test.h"

/* Instead of the library's: boxes of this program begin with the liar. */
int box_program(struct err *err)
{
    int from = open(BOX_LIAR, O_RDONLY | O_CLOEXEC),
        program = memfd_create("liar", MFD_CLOEXEC);
    struct stat found;

    (void)err;
    assert_int_equal(fstat(from, &found), 0);
    assert_int_equal(sendfile(program, from, NULL, (size_t)found.st_size), found.st_size);
    assert_int_equal(fchmod(program, 0555), 0);
    close(from);
    return program;
}

static enum err_code open_liar(enum box_lie lie, struct box **ret_box)
{
    struct box_plan plan = {
        .limits = {.memory = 1 << 26, .temporary = 1 << 20, .processes = lie},
        .user = box_user()};

    return box_open(&plan, ret_box, NULL);
}

static int lowest_descriptor(void)
{
    int fd = memfd_create("lowest", MFD_CLOEXEC);

    close(fd);
    return fd;
}

TEST(a_box_that_is_not_itself_at_its_start_is_no_box)
{
    static const enum box_lie lies[] = {LIE_AT_START, LIE_ABOUT_VERSION};
    int before = lowest_descriptor();
    struct box *box = NULL;

    for (size_t i = 0; i < COUNT_OF(lies); i++)
        assert_int_equal(open_liar(lies[i], &box), ERR_INTERNAL);
    assert_null(box);
    assert_int_equal(lowest_descriptor(), before);
    assert_no_box_is_left();
}

/* Runs a command in it. */
static struct box_result result_of(enum box_lie lie)
{
    const char *arguments[4];
    struct box_result result;
    int before = lowest_descriptor();

    assert_int_equal(open_liar(lie, &test_box), ERR_OK);
    result = run(script(arguments, "true"));
    box_close(test_box);
    test_box = NULL;
    assert_int_equal(lowest_descriptor(), before);
    assert_no_box_is_left();
    return result;
}

TEST(a_box_that_answers_with_noise_is_gone)
{
    static const enum box_lie lies[] = {LIE_SHORT, LIE_LONG, LIE_FLOOD, LIE_SILENCE};

    for (size_t i = 0; i < COUNT_OF(lies); i++)
        assert_int_equal(result_of(lies[i]).why, BOX_GONE);
}

TEST(a_box_can_lie_about_its_command_only)
{
    assert_int_equal(result_of(LIE_STRANGE).why, BOX_SIGNALLED);
    assert_int_equal(result_of(LIE_TWICE).why, BOX_EXITED);
    assert_int_equal(result_of(LIE_ENDLESS).why, BOX_EXITED);
}

/* More than its socket holds. */
TEST(a_box_that_reads_nothing_is_gone)
{
    static char large[60000];
    const char *arguments[] = {large, NULL}, *environment[] = {NULL};
    struct box_command command = {.arguments = arguments, .environment = environment};
    struct box_process *processes[16];
    struct box_result result;
    size_t count = 0;

    memset(large, 'a', sizeof(large) - 1);
    assert_int_equal(open_liar(LIE_DEAF, &test_box), ERR_OK);
    while (count < COUNT_OF(processes) && box_start(test_box, &command, (int[]){0, 1, 2}, 3,
                                                    &processes[count], NULL) == ERR_OK)
        count++;
    assert_in_range(count, 1, COUNT_OF(processes) - 1);
    while (count) {
        box_stop(processes[--count], &result);
        assert_int_equal(result.why, BOX_GONE);
    }
    assert_false(box_is_alive(test_box));
    box_close(test_box);
    test_box = NULL;
    assert_no_box_is_left();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_box_that_is_not_itself_at_its_start_is_no_box),
        cmocka_unit_test(a_box_that_answers_with_noise_is_gone),
        cmocka_unit_test(a_box_can_lie_about_its_command_only),
        cmocka_unit_test(a_box_that_reads_nothing_is_gone),
    };

    return run_in_boxes(tests, COUNT_OF(tests), boxes_start, boxes_stop);
}
