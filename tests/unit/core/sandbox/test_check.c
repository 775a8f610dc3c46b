/* What a machine lets a sandbox do, on this one and where a filter makes it like others. */

#include "core/sandbox/sandbox.h"

#include <errno.h>
#include <jansson.h>
#include <sched.h>
#include <seccomp.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/sandbox/compute.h"
#include "tests/support/boxes.h"
#include "tests/support/test.h"

/* Makes the calls on one machine into those of another. In a process of its own. */
typedef void change(scmp_filter_ctx filter);

static void forbid_namespaces(scmp_filter_ctx filter)
{
    seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(unshare), 0);
    seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
    seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1,
                     SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_NEWUSER, CLONE_NEWUSER));
}

static void forbid_landlock(scmp_filter_ctx filter)
{
    seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(landlock_create_ruleset), 0);
}

static void forbid_users(scmp_filter_ctx filter)
{
    seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(setresuid), 0);
}

/* As a container has it with the profile that this project ships. */
static void forbid_as_docker_profile(scmp_filter_ctx filter)
{
    json_t *profile = json_load_file(DOCKER_PROFILE, 0, NULL), *rule, *name;
    size_t i, k, count = 0;

    json_array_foreach (json_object_get(profile, "syscalls"), i, rule)
        json_array_foreach (json_object_get(rule, "names"), k, name) {
            int call = seccomp_syscall_resolve_name(json_string_value(name));

            /* A call of another architecture cannot be forbidden here. */
            count += call != __NR_SCMP_ERROR;
            (void)seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), call, 0);
        }
    json_decref(profile);
    if (count < 40)
        _exit(1);
}

/* What is found there. */
static struct sandbox_report *report_after(change *make)
{
    static struct sandbox_report report;
    int pipes[2], status;
    pid_t child;

    assert_int_equal(pipe(pipes), 0);
    child = fork();
    if (child == 0) {
        scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
        struct err err;

        if (make)
            make(filter);
        if (seccomp_load(filter) || compute_start(NULL, 0, &err))
            _exit(1);
        sandbox_check(box_user(), &report);
        compute_stop();
        _exit(write(pipes[1], &report, sizeof(report)) == sizeof(report) ? 0 : 1);
    }
    close(pipes[1]);
    assert_int_equal(read(pipes[0], &report, sizeof(report)), sizeof(report));
    close(pipes[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    return &report;
}

TEST(every_check_has_a_word)
{
    for (int i = 0; i < SANDBOX_CHECKS; i++)
        assert_non_null(sandbox_check_name((enum sandbox_check)i));
}

TEST(this_machine_can_execute)
{
    struct sandbox_report *report;

    skip_without_boxes();
    report = report_after(NULL);
    assert_int_equal(sandbox_obstacle(report), SANDBOX_CHECKS);
    for (int i = SANDBOX_BUBBLEWRAP; i <= SANDBOX_BOX; i++)
        assert_true(report->findings[i].passed);
}

/* As in Docker's default filter. */
TEST(without_namespaces_nothing_executes_and_the_operator_learns_why)
{
    struct sandbox_report *report;
    const struct sandbox_finding *finding;

    skip_without_boxes();
    report = report_after(forbid_namespaces);
    finding = &report->findings[SANDBOX_NAMESPACES];
    assert_int_equal(sandbox_obstacle(report), SANDBOX_NAMESPACES);
    assert_non_null(strstr(finding->seen, "No permissions to creat"));
    assert_non_null(strstr(finding->advice, "docker/seccomp.json"));
    assert_string_equal(report->findings[SANDBOX_PROC].seen,
                        "not tried, because of namespaces");
    assert_false(report->findings[SANDBOX_BOX].passed);
}

TEST(the_profile_for_docker_allows_what_a_box_needs)
{
    skip_without_boxes();
    assert_int_equal(sandbox_obstacle(report_after(forbid_as_docker_profile)), SANDBOX_CHECKS);
}

TEST(landlock_is_a_second_wall_only)
{
    struct sandbox_report *report;

    skip_without_boxes();
    report = report_after(forbid_landlock);
    assert_false(report->findings[SANDBOX_LANDLOCK].passed);
    assert_non_null(report->findings[SANDBOX_LANDLOCK].advice);
    assert_int_equal(sandbox_obstacle(report), SANDBOX_CHECKS);
}

TEST(root_that_cannot_become_another_user_executes_nothing)
{
    struct sandbox_report *report;

    skip_without_boxes();
    if (!box_user())
        skip();
    report = report_after(forbid_users);
    assert_int_equal(sandbox_obstacle(report), SANDBOX_USER);
    assert_non_null(strstr(report->findings[SANDBOX_USER].seen, "cannot become user"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_check_has_a_word),
        cmocka_unit_test(this_machine_can_execute),
        cmocka_unit_test(without_namespaces_nothing_executes_and_the_operator_learns_why),
        cmocka_unit_test(the_profile_for_docker_allows_what_a_box_needs),
        cmocka_unit_test(landlock_is_a_second_wall_only),
        cmocka_unit_test(root_that_cannot_become_another_user_executes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
