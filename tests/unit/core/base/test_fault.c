#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* Fault points as a release is built: nothing. */
#ifdef RUNNEL_FAULTS
#undef RUNNEL_FAULTS
#endif
#include "core/base/fault.h"

static bool release_says(void)
{
    return FAULT("any.point");
}

/* And as a test server is built, whatever this build is. */
#undef FAULT
#undef RUNNEL_CORE_BASE_FAULT_H
#define RUNNEL_FAULTS
#include "core/base/fault.c"
#include "tests/support/test.h"

TEST(a_release_has_no_faults)
{
    fault_arm("any.point", 1);
    assert_false(release_says());
    assert_false(fault_fired());
}

TEST(a_point_fails_once_on_the_visit_it_was_armed_for)
{
    fault_arm("store.exec", 3);
    assert_false(FAULT("store.exec"));
    assert_false(FAULT("store.other"));
    assert_false(FAULT("store.exec"));
    assert_false(fault_fired());
    assert_true(FAULT("store.exec"));
    assert_true(fault_fired());
    assert_false(FAULT("store.exec"));
}

TEST(a_disarmed_point_does_not_fail)
{
    fault_arm("store.exec", 1);
    fault_disarm();
    assert_false(FAULT("store.exec"));
    assert_false(fault_fired());
}

/* Runs a process that reads `setting` and visits "p" twice. Its exit code, 0 to 3, has a bit for
 * each visit that failed. */
static int visit_twice(const char *setting)
{
    pid_t child = fork();
    int status;

    if (child == 0) {
        setenv("RUNNEL_FAULT", setting, 1);
        environment_read = false;
        armed_count = 0;
        (void)!freopen("/dev/null", "w", stderr);
        _exit((FAULT("p") ? 1 : 0) | (FAULT("p") ? 2 : 0));
    }
    assert_int_equal(waitpid(child, &status, WUNTRACED), child);
    if (WIFSTOPPED(status)) {
        kill(child, SIGCONT);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        return 100 + WEXITSTATUS(status);
    }
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

TEST(the_environment_arms_points_of_a_built_server)
{
    assert_int_equal(visit_twice("q:1"), 0);
    assert_int_equal(visit_twice("p:2"), 2);
    assert_int_equal(visit_twice("q:1,p:1,p:2"), 3);
    assert_int_equal(visit_twice("p:2:kill"), -SIGKILL);
}

TEST(a_stopped_process_continues_normally)
{
    assert_int_equal(visit_twice("p:1:stop"), 100);
}

TEST(an_invalid_setting_aborts_with_a_message)
{
    assert_int_equal(visit_twice("p"), -SIGABRT);
    assert_int_equal(visit_twice("p:0"), -SIGABRT);
    assert_int_equal(visit_twice("p:1x"), -SIGABRT);
    assert_int_equal(visit_twice("p:1:maybe"), -SIGABRT);
}

/* Replaces the file by one with another list. */
static void rearm(const char *path, const char *list)
{
    char next[64];
    FILE *file;

    snprintf(next, sizeof(next), "%s.next", path);
    file = fopen(next, "w");
    assert_non_null(file);
    fputs(list, file);
    fclose(file);
    assert_int_equal(rename(next, path), 0);
}

TEST(a_file_arms_one_process_many_times_and_reports_what_fired)
{
    char path[] = "/tmp/test-fault-XXXXXX";
    char fired_path[64], setting[64], text[64] = "";
    FILE *file;

    close(mkstemp(path));
    snprintf(setting, sizeof(setting), "@%s", path);
    snprintf(fired_path, sizeof(fired_path), "%s.fired", path);
    setenv("RUNNEL_FAULT", setting, 1);
    environment_read = false;
    armed_count = 0;

    assert_false(FAULT("p"));
    rearm(path, "p:2");
    assert_false(FAULT("p"));
    assert_true(FAULT("p"));
    rearm(path, "q:1\n");
    assert_false(FAULT("p"));
    assert_true(FAULT("q"));
    rearm(path, "");
    assert_false(FAULT("q"));

    file = fopen(fired_path, "r");
    assert_non_null(file);
    assert_true(fread(text, 1, sizeof(text) - 1, file) > 0);
    fclose(file);
    assert_string_equal(text, "p\nq\n");
    *file_path = '\0';
    unlink(path);
    unlink(fired_path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_release_has_no_faults),
        cmocka_unit_test(a_point_fails_once_on_the_visit_it_was_armed_for),
        cmocka_unit_test(a_disarmed_point_does_not_fail),
        cmocka_unit_test(the_environment_arms_points_of_a_built_server),
        cmocka_unit_test(a_stopped_process_continues_normally),
        cmocka_unit_test(a_file_arms_one_process_many_times_and_reports_what_fired),
        cmocka_unit_test(an_invalid_setting_aborts_with_a_message),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
