/* The Python of a container: what a cell shows, what stays, how it is ended, and what a hostile one can do. In real
 * boxes, so skipped where a machine has no user namespaces. */

#include "core/container/python.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/boxes.h"
#include "tests/support/patience.h"
#include "tests/support/test.h"
#include "tests/unit/core/container/live_boxes.h"

static struct shown shown; /* of the last cell that a test has looked at by itself */

static const char *text(void)
{
    return shown.text.data ? shown.text.data : "";
}

/* Runs a cell of container "a" with so much time. */
static void run_for(const char *code, uint32_t timeout_ms)
{
    struct python_cell cell = live_cell("a", code, &shown);

    buf_reset(&shown.text);
    cell.timeout_ms = timeout_ms;
    live_run("a", &cell, &shown);
}

static void run_code(const char *code)
{
    run_for(code, BOX_LONG_MS);
}

static int tear_down(void **state)
{
    buf_clear(&shown.text);
    return live_tear_down(state);
}

static void assert_contains(const char *part)
{
    if (!strstr(text(), part))
        fail_msg("\"%s\" is not in: %s", part, text());
}

/* ---- What a cell shows ---- */

TEST(names_stay_from_one_cell_to_the_next)
{
    assert_shows("import math\nx = 41\ndef f(): return x + 1", "");
    assert_shows("f()", "42\n");
    assert_shows("math.floor(2.5) + _", "44\n");
    assert_shows("__name__", "'__main__'\n");
}

TEST(the_value_of_a_last_expression_is_printed)
{
    assert_shows("'a\\n'", "'a\\n'\n");
    assert_shows("None", "");
    assert_shows("7;", "");
    assert_shows("1\n2", "2\n");
    assert_shows("x = 7", "");
    assert_shows("", "");
    assert_shows("# nothing", "");
    assert_shows("display('text', [1])", "text\n[1]\n");
}

TEST(output_comes_in_the_order_in_which_it_was_printed)
{
    assert_shows("import os, sys\nprint(1)\nprint(2, file=sys.stderr)\nos.write(1, b'3\\n')\n"
                 "sys.stdout.write('4')\nos.system('echo 5 >&2; echo 6');",
                 "1\n2\n3\n45\n6\n");
}

TEST(an_error_is_shown_from_the_cell_on)
{
    run_code("def f():\n    return 1 / 0\nf()");
    assert_int_equal(shown.result.end, PYTHON_RAISED);
    assert_true(shown.result.alive);
    assert_int_equal(strncmp(text(),
                             "Traceback (most recent call last):\n  File \"<cell 1>\", line 3, "
                             "in <module>\n    f()\n",
                             80),
                     0);
    assert_contains("line 2, in f\n    return 1 / 0\n");
    assert_contains("\nZeroDivisionError: division by zero\n");
    assert_null(strstr(text(), "/proc/"));
    run_code("try:\n    1 / 0\nexcept Exception:\n    raise KeyError(1)");
    assert_contains("During handling of the above exception");
    assert_null(strstr(text(), "/proc/"));
    run_code("x = (");
    assert_contains("SyntaxError");
    assert_null(strstr(text(), "/proc/"));
    run_code("f()"); /* a function of an earlier cell */
    assert_contains("File \"<cell 1>\", line 2, in f\n    return 1 / 0\n");
}

TEST(a_line_that_begins_with_an_exclamation_mark_is_a_command)
{
    assert_shows("!pwd", "/mnt/data\n");
    assert_shows("for i in range(2):\n    !echo it\\'s here\nprint('''\n!no''')",
                 "it's here\nit's here\n\n!no\n");
    assert_shows("%matplotlib inline\nx = 7\nx", "7\n");
}

TEST(cells_may_await)
{
    assert_shows("import asyncio\nawait asyncio.sleep(0)\nawait asyncio.sleep(0, 'done')",
                 "'done'\n");
}

TEST(input_is_empty_and_leaving_is_no_end)
{
    run_code("input()");
    assert_contains("EOFError");
    assert_shows("x = 7\nexit()", "");
    assert_shows("x", "7\n");
}

TEST(the_workspace_is_the_folder_of_the_code_and_has_its_modules)
{
    assert_shows("open('helper.py', 'w').write('value = 7')\nimport helper\nhelper.value",
                 "7\n");
    assert_int_equal(
        workspace_stat(live_workspace("a"), "helper.py", &(struct workspace_stat){0}, NULL),
        ERR_OK);
}

/* ---- Figures ---- */

/* An object with a picture: a signature, and no more of a PNG than the server looks at. */
#define PICTURE        \
    "class Picture:\n" \
    "    def _repr_png_(self): return b'\\x89PNG\\r\\n\\x1a\\n' + b'x' * 100\n"

TEST(figures_come_where_they_were_made)
{
    assert_shows(PICTURE "print('one')\ndisplay(Picture())\nprint('two')\nPicture()",
                 "one\n<.figures/1.png>two\n<.figures/2.png>");
    /* Files of an earlier process stay. */
    run_code("import os; os._exit(0)");
    run_code(PICTURE "Picture()");
    assert_string_equal(text(), "<.figures/3.png>");
}

TEST(every_figure_of_matplotlib_is_shown)
{
    if (access("/usr/lib/python3/dist-packages/matplotlib", F_OK) != 0)
        skip();
    assert_shows(
        "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()\nprint('between')\n"
        "plt.figure(); plt.figure();",
        "<.figures/1.png>between\n<.figures/2.png><.figures/3.png>");
    assert_shows("plt.get_fignums()", "[]\n");
    assert_shows("figure = plt.figure()\ndisplay(figure)", "<.figures/4.png>");
}

/* ---- The end of a cell ---- */

TEST(a_cell_whose_time_is_over_is_interrupted_and_variables_stay)
{
    run_code("x = 7");
    run_for("x = 8\nwhile True: pass", 50);
    assert_int_equal(shown.result.end, PYTHON_TIMED_OUT);
    assert_true(shown.result.alive);
    assert_contains("KeyboardInterrupt");
    assert_shows("x", "8\n");
    run_for("!sleep 99", 50);
    assert_int_equal(shown.result.end, PYTHON_TIMED_OUT);
    assert_shows("x", "8\n");
}

TEST(a_cell_that_does_not_stop_is_killed)
{
    run_code("x = 6");
    run_for("import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass",
            50);
    assert_int_equal(shown.result.end, PYTHON_TIMED_OUT);
    assert_false(shown.result.alive);
    assert_string_equal(shown.result.notice,
                        "The Python process was ended (it did not stop). Variables are gone, "
                        "files are there.");
    run_code("x");
    assert_contains("NameError");
    assert_string_equal(shown.result.notice, "");
}

static void *write_to(void *argument)
{
    (void)eventfd_write(*(int *)argument, 1);
    return NULL;
}

TEST(a_cell_is_cancelled_by_a_descriptor)
{
    struct python_cell cell = live_cell("a", "x = 7\nwhile True: pass", &shown);
    int cancel = eventfd(0, EFD_CLOEXEC);
    pthread_t thread;

    cell.cancel = cancel;
    assert_int_equal(pthread_create(&thread, NULL, write_to, &cancel), 0);
    live_run("a", &cell, &shown);
    pthread_join(thread, NULL);
    close(cancel);
    assert_int_equal(shown.result.end, PYTHON_CANCELLED);
    assert_true(shown.result.alive);
}

TEST(code_can_end_its_process_and_the_next_one_is_new)
{
    static const struct {
        const char *code, *why;
    } ends[] = {
        {"import os; os._exit(3)", "exit status 3"},
        {"import os; os.kill(os.getpid(), 9)", "signal 9"},
        {"import os; os.abort()", "signal 6"},
        /* The driver cannot go on without its channel. */
        {"import os; os.closerange(3, 100)", "exit status 1"},
        {"import os, socket; socket.socket(fileno=os.dup(3)).send(b'')", "exit status 1"},
    };

    for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
        char notice[200];

        run_code(ends[i].code);
        assert_int_equal(shown.result.end, PYTHON_ENDED);
        assert_false(shown.result.alive);
        (void)snprintf(
            notice, sizeof(notice),
            "The Python process was ended (%s). Variables are gone, files are there.",
            ends[i].why);
        assert_string_equal(shown.result.notice, notice);
    }
    assert_shows("'new'", "'new'\n");
}

TEST(a_process_that_ends_between_cells_is_missed_by_the_next_one)
{
    struct boxes_hold *hold = live_take("a", BOXES_COMMAND);

    run_code("import os; open('pid', 'w').write(str(os.getpid()));");
    assert_string_equal(shown.result.notice, "");
    test_box = boxes_box(hold);
    assert_int_equal(run_script("kill -9 $(cat /mnt/data/pid)").status, 0);
    test_box = NULL;
    boxes_give(hold);
    /* Whether it had ended before this cell or in it: */
    run_code("x = 7");
    assert_string_equal(
        shown.result.notice,
        "The Python process was ended (signal 9). Variables are gone, files are there.");
    run_code("x = 7");
    assert_string_equal(shown.result.notice, "");
}

TEST(a_box_over_its_memory_ends_and_the_model_can_know)
{
    run_code("x = bytearray(3 << 30)");
    assert_contains("MemoryError");
    assert_true(shown.result.alive);
    run_code(
        "import os, time\nfor i in range(3):\n    if os.fork() == 0:\n"
        "        x = bytearray(b'x' * (120 << 20))\n        time.sleep(60)\ntime.sleep(60)");
    assert_int_equal(shown.result.end, PYTHON_ENDED);
    assert_string_equal(shown.result.notice,
                        "The Python process was ended (more than 256 MiB of memory). Variables "
                        "are gone, files are there.");
    assert_shows("'new'", "'new'\n");
}

/* ---- Output without end ---- */

static bool count_some(void *argument, const char *bytes, size_t size)
{
    (void)bytes;
    *(size_t *)argument += size;
    return *(size_t *)argument < 1 << 20;
}

TEST(endless_output_ends_when_the_caller_wants_no_more)
{
    struct python_cell cell = live_cell("a", "while True: print('y' * 999)", NULL);
    size_t taken = 0;

    cell.take_output = count_some;
    cell.argument = &taken;
    live_run("a", &cell, &shown);
    assert_int_equal(shown.result.end, PYTHON_UNWANTED);
    assert_true(shown.result.alive);
    /* The piece that was refused is the last one. */
    assert_true(taken >= 1 << 20 && taken < (1 << 20) + (64 << 10));
}

/* The reader takes nothing for a while, and the cell's time is over meanwhile. */
static bool sleep_once(void *argument, const char *bytes, size_t size)
{
    (void)bytes;
    if (*(size_t *)argument == 0) {
        struct timespec time = {.tv_nsec = 200000000};

        nanosleep(&time, NULL); /* it is the slow reader, and waits for nothing */
    }
    *(size_t *)argument += size;
    return true;
}

TEST(a_reader_that_does_not_read_makes_the_cell_wait)
{
    struct python_cell cell = live_cell("a",
                                        "begin = time.process_time()\n"
                                        "while True: os.write(1, b'y' * 999)",
                                        NULL);
    size_t taken = 0;

    run_code("import os, time");
    cell.take_output = sleep_once;
    cell.argument = &taken;
    cell.timeout_ms = 100;
    live_run("a", &cell, &shown);
    assert_int_equal(shown.result.end, PYTHON_TIMED_OUT);
    assert_true(taken > 0);
    run_code("print(time.process_time() - begin < 0.15)");
    assert_string_equal(text(), "True\n");
}

TEST(all_that_a_cell_has_printed_belongs_to_it)
{
    struct python_cell cell =
        live_cell("a",
                  "import fcntl, os\nfcntl.fcntl(1, fcntl.F_SETPIPE_SZ, 1 << 20)\n"
                  "os.write(1, b'x' * 300000);",
                  NULL);
    size_t taken = 0;

    /* While the reader sleeps, the cell ends, and leaves more in the pipe than is read at once. */
    cell.take_output = sleep_once;
    cell.argument = &taken;
    live_run("a", &cell, &shown);
    assert_int_equal(shown.result.end, PYTHON_DONE);
    assert_int_equal(taken, 300000);
}

/* ---- Hostile code ---- */

/* Its own way to the server: the driver's channel. */
#define CHANNEL                                   \
    "import os, socket\n"                         \
    "channel = socket.socket(fileno=os.dup(3))\n" \
    "os.makedirs('.figures', exist_ok=True)\n"    \
    "PNG = b'\\x89PNG\\r\\n\\x1a\\n' + b'x' * 100\n"

TEST(garbage_on_the_channel_is_left_out)
{
    run_code(CHANNEL
             "channel.send(b'E')\nchannel.send(b'E' * 10)\n"
             "channel.send(b'x' * 60000)\nchannel.send(b'F' * 60000)\n"
             "channel.send(b'f')\nchannel.send(b'f\\0.png')\nchannel.send(bytes(range(256)))\n"
             "channel.send(b'E' + (99).to_bytes(8, 'little') + b'd')\nprint('here')");
    assert_int_equal(shown.result.end, PYTHON_DONE);
    assert_string_equal(text(), "here\n");
    assert_int_equal(shown.result.figures, 0);
    assert_shows("'there'", "'there'\n");
}

TEST(names_that_the_driver_does_not_make_are_no_figures)
{
    run_code(
        CHANNEL
        "open('/mnt/data/out.png', 'wb').write(PNG)\n"
        "for name in (b'../out.png', b'/mnt/data/out.png', b'a/b.png', b'.png', b'x.jpg',\n"
        "             b'..', b'', b'x' * 100 + b'.png', b'missing.png', b'\\xff.png'):\n"
        "    channel.send(b'f' + name)");
    assert_int_equal(shown.result.end, PYTHON_DONE);
    assert_string_equal(text(), "");
    assert_int_equal(shown.result.figures, 0);
    assert_int_equal(shown.result.other_figures, 10);
}

TEST(figures_that_are_not_plain_pictures_are_left_out)
{
    run_code(CHANNEL "os.symlink('/etc/passwd', '.figures/link.png')\n"
                     "os.symlink('/proc/self/root/etc/passwd', '.figures/root.png')\n"
                     "os.mkfifo('.figures/fifo.png')\n"
                     "os.mkdir('.figures/folder.png')\n"
                     "open('.figures/text.png', 'w').write('text' * 100)\n"
                     "open('.figures/empty.png', 'w').close()\n"
                     "open('.figures/large.png', 'wb').write(PNG)\n"
                     "os.truncate('.figures/large.png', 17 << 20)\n"
                     "for name in os.listdir('.figures'):\n"
                     "    channel.send(b'f' + name.encode())");
    assert_int_equal(shown.result.end, PYTHON_DONE);
    assert_string_equal(text(), "");
    assert_int_equal(shown.result.other_figures, 7);
    /* The folder itself leads out. */
    run_code("import shutil\nshutil.rmtree('.figures')\nos.symlink('/etc', '.figures')\n"
             "channel.send(b'fpasswd.png')");
    assert_int_equal(shown.result.other_figures, 1);
}

TEST(a_cell_has_a_limit_of_figures)
{
    run_code(PICTURE "for i in range(40): display(Picture())");
    assert_int_equal(shown.result.figures, PYTHON_FIGURES);
    assert_int_equal(shown.result.other_figures, 40 - PYTHON_FIGURES);
}

TEST(a_cell_that_lies_about_its_end_harms_only_its_own)
{
    run_code(CHANNEL "channel.send(b'E' + (1).to_bytes(8, 'little') + b'd')\n"
                     "import time\ntime.sleep(0.05)\nprint('late')");
    assert_int_equal(shown.result.end, PYTHON_DONE);
    /* What it did after that is a part of the next one. */
    run_code("print('next')");
    assert_int_equal(shown.result.end, PYTHON_DONE);
    assert_contains("next\n");
}

TEST(a_child_of_the_code_is_no_second_python)
{
    assert_shows("import os\nif os.fork() == 0:\n    print('child')\nelse:\n    os.wait()\n"
                 "    print('parent')",
                 "child\nparent\n");
    assert_shows("'one'", "'one'\n");
}

TEST(streams_that_a_cell_has_closed_are_there_again)
{
    run_code("import sys\nsys.stdout.close()\nsys.stderr.close()");
    assert_int_equal(shown.result.end, PYTHON_DONE);
    assert_shows("print('here')\nprint('there', file=sys.stderr)", "here\nthere\n");
}

/* A listener of the host on its loopback. Its port goes into *ret_port. */
static int listen_on_loopback(int *ret_port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(bind(fd, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(fd, 8), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    *ret_port = ntohs(address.sin_port);
    return fd;
}

/* test_escape.c has the table's tries by themselves, with a host that is compared afterwards. */
TEST(what_a_command_tries_in_vain_a_cell_tries_in_vain)
{
    struct workspace_target target = {.path = "tries"};
    int program = open(BOX_TRIES, O_RDONLY | O_CLOEXEC), port;
    int listener = listen_on_loopback(&port);
    char code[500];

    assert_int_equal(
        workspace_import(live_workspace("a"), &target, program, 16 << 20, NULL, NULL), ERR_OK);
    /* Its own processes are more than those of a command: row 47 counts them. */
    (void)snprintf(
        code, sizeof(code),
        "import os, subprocess\nos.chmod('tries', 0o700)\n"
        "rows = subprocess.run(['./tries', '/etc/hostname', '%d', 'none', '/run/none'],\n"
        "    capture_output=True, text=True).stdout.splitlines()\n"
        "print(len(rows) >= 40)\n"
        "[row for row in rows if ': refused' not in row and row[:3] != '47 ']",
        port);
    run_code(code);
    assert_string_equal(text(), "True\n[]\n");
    close(program);
    close(listener);
}

TEST(a_fork_bomb_ends_with_its_box)
{
    run_for("import os\nwhile True:\n    try:\n        os.fork()\n    except OSError: pass",
            50);
    assert_int_equal(shown.result.end, PYTHON_TIMED_OUT);
    boxes_end(live_boxes, "a");
    assert_no_box_is_left();
    assert_shows("'new'", "'new'\n");
}

int main(void)
{
#define CELLS(test) cmocka_unit_test_setup_teardown(test, live_set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CELLS(names_stay_from_one_cell_to_the_next),
        CELLS(the_value_of_a_last_expression_is_printed),
        CELLS(output_comes_in_the_order_in_which_it_was_printed),
        CELLS(an_error_is_shown_from_the_cell_on),
        CELLS(a_line_that_begins_with_an_exclamation_mark_is_a_command),
        CELLS(cells_may_await),
        CELLS(input_is_empty_and_leaving_is_no_end),
        CELLS(the_workspace_is_the_folder_of_the_code_and_has_its_modules),
        CELLS(figures_come_where_they_were_made),
        CELLS(every_figure_of_matplotlib_is_shown),
        CELLS(a_cell_whose_time_is_over_is_interrupted_and_variables_stay),
        CELLS(a_cell_that_does_not_stop_is_killed),
        CELLS(a_cell_is_cancelled_by_a_descriptor),
        CELLS(code_can_end_its_process_and_the_next_one_is_new),
        CELLS(a_process_that_ends_between_cells_is_missed_by_the_next_one),
        CELLS(a_box_over_its_memory_ends_and_the_model_can_know),
        CELLS(endless_output_ends_when_the_caller_wants_no_more),
        CELLS(a_reader_that_does_not_read_makes_the_cell_wait),
        CELLS(all_that_a_cell_has_printed_belongs_to_it),
        CELLS(garbage_on_the_channel_is_left_out),
        CELLS(names_that_the_driver_does_not_make_are_no_figures),
        CELLS(figures_that_are_not_plain_pictures_are_left_out),
        CELLS(a_cell_has_a_limit_of_figures),
        CELLS(a_cell_that_lies_about_its_end_harms_only_its_own),
        CELLS(a_child_of_the_code_is_no_second_python),
        CELLS(streams_that_a_cell_has_closed_are_there_again),
        CELLS(what_a_command_tries_in_vain_a_cell_tries_in_vain),
        CELLS(a_fork_bomb_ends_with_its_box),
    };

    return run_in_boxes(tests, sizeof(tests) / sizeof(*tests), live_start, live_stop);
}
