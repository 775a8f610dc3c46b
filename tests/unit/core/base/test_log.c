#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/json.h"
#include "core/base/log.h"
#include "tests/support/test.h"

#define THREADS 4
#define LINES   200

/* stderr as it was, and the pipe that replaces it during a test. */
static int stderr_before;

static void listen_to(int fd)
{
    (void)fflush(stderr);
    stderr_before = dup(STDERR_FILENO);
    dup2(fd, STDERR_FILENO);
}

static void stop_listening(void)
{
    dup2(stderr_before, STDERR_FILENO);
    close(stderr_before);
}

static int temporary_file(void)
{
    char path[] = "/tmp/test_log_XXXXXX";
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    unlink(path);
    return fd;
}

static void read_file(int fd, struct buf *text)
{
    ssize_t got;

    lseek(fd, 0, SEEK_SET);
    do {
        got = read(fd, buf_reserve(text, 4096), 4096);
        assert_true(got >= 0);
        buf_added(text, (size_t)got);
    } while (got);
    close(fd);
}

/* Checks the next line of `text` and steps over it; false at the end. */
static bool next_line(char **text, const char *level, json_t **ret_line)
{
    char *end = strchr(*text, '\n');

    if (!end)
        return false;
    assert_int_equal(json_parse(*text, (size_t)(end - *text), ret_line, NULL), ERR_OK);
    assert_string_equal(json_get_string(*ret_line, "level", ""), level);
    assert_int_equal(strlen(json_get_string(*ret_line, "time", "")),
                     strlen("2026-11-21T00:00:00.000Z"));
    *text = end + 1;
    return true;
}

TEST(a_line_is_json_for_every_message)
{
    AUTO_BUF text = {0};
    int fd = temporary_file();
    char *at;
    json_auto_t *line = NULL;

    listen_to(fd);
    log_warn("two\nlines, a \"quote\", \x1b[31m and \xFF: %d", 5);
    stop_listening();
    read_file(fd, &text);
    at = text.data;
    assert_true(next_line(&at, "warn", &line));
    assert_string_equal(json_get_string(line, "message", ""),
                        "two\nlines, a \"quote\", \x1b[31m and \xEF\xBF\xBD: 5");
    assert_string_equal(at, "");
}

TEST(lines_below_the_level_are_not_written)
{
    AUTO_BUF text = {0};
    int fd = temporary_file();
    char *at;
    json_t *line = NULL;

    listen_to(fd);
    log_debug("not by default");
    log_set_level(LOG_ERROR);
    log_warn("not now");
    log_error("now");
    log_set_level(LOG_OFF);
    log_error("never");
    log_line(LOG_OFF, "never");
    log_set_level(LOG_INFO);
    stop_listening();
    read_file(fd, &text);
    at = text.data;
    assert_true(next_line(&at, "error", &line));
    assert_string_equal(json_get_string(line, "message", ""), "now");
    assert_string_equal(at, "");
    json_decref(line);
}

static void *write_lines(void *arg)
{
    for (int i = 0; i < LINES; i++)
        log_info("%s %d", (const char *)arg, i);
    return NULL;
}

TEST(lines_of_several_threads_do_not_mix)
{
    char words[THREADS][300];
    pthread_t threads[THREADS];
    AUTO_BUF text = {0};
    int fd = temporary_file();
    int count = 0;
    char *at;
    json_t *line = NULL;

    listen_to(fd);
    for (int i = 0; i < THREADS; i++) {
        memset(words[i], 'a' + i, sizeof(words[i]));
        words[i][sizeof(words[i]) - 1] = '\0';
        pthread_create(&threads[i], NULL, write_lines, words[i]);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    stop_listening();
    read_file(fd, &text);
    at = text.data;
    while (next_line(&at, "info", &line)) {
        json_decref(line);
        count++;
    }
    assert_int_equal(count, THREADS * LINES);
}

TEST(a_terminal_gets_text_without_control_characters)
{
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    char line[512] = "";
    ssize_t got;
    int slave;

    if (master < 0 || grantpt(master) || unlockpt(master))
        skip();
    slave = open(ptsname(master), O_RDWR | O_NOCTTY);
    if (slave < 0)
        skip();
    listen_to(slave);
    log_info("clear \x1b[2J screen");
    stop_listening();
    got = read(master, line, sizeof(line) - 1);
    close(slave);
    close(master);
    assert_true(got > 0);
    assert_non_null(strstr(line, " info  clear \\x1b[2J screen"));
    assert_null(strchr(line, '\x1b'));
}

TEST(a_message_above_the_limit_is_cut)
{
    AUTO_BUF huge = {0};
    AUTO_BUF text = {0};
    int fd = temporary_file();
    char *at;
    json_auto_t *line = NULL;

    for (int i = 0; i < 100000; i++)
        buf_add_text(&huge, "\xC3\xA4");
    listen_to(fd);
    log_info("%s", huge.data);
    stop_listening();
    read_file(fd, &text);
    assert_true(text.length < 10000);
    at = text.data;
    assert_true(next_line(&at, "info", &line));
}

TEST(logging_leaves_errno_alone)
{
    int fd = open("/dev/null", O_WRONLY);

    listen_to(fd);
    errno = ERANGE;
    log_info("isatty() fails here");
    assert_int_equal(errno, ERANGE);
    stop_listening();
    close(fd);
}

TEST(levels_have_names)
{
    static const char *const words[] = {"debug", "info", "warn", "error", "off"};
    enum log_level level = LOG_OFF;

    for (int i = LOG_DEBUG; i <= LOG_OFF; i++) {
        assert_true(log_parse_level(words[i], &level));
        assert_int_equal(level, i);
    }
    assert_false(log_parse_level("loud", &level));
    assert_false(log_parse_level("", &level));
    assert_int_equal(level, LOG_OFF);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_is_json_for_every_message),
        cmocka_unit_test(lines_below_the_level_are_not_written),
        cmocka_unit_test(lines_of_several_threads_do_not_mix),
        cmocka_unit_test(a_terminal_gets_text_without_control_characters),
        cmocka_unit_test(a_message_above_the_limit_is_cut),
        cmocka_unit_test(logging_leaves_errno_alone),
        cmocka_unit_test(levels_have_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
