/* What a process closes of itself. What a confined child loses is in test_compute.c. */

#include "core/sandbox/confine.h"

#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/sanitized.h"
#include "tests/support/test.h"

#define NOBODY 65534

/* Root may look at everything, so both processes are an ordinary user's. */
static bool become_ordinary(void)
{
    return geteuid() != 0 ||
           (setgroups(0, NULL) == 0 && setresgid(NOBODY, NOBODY, NOBODY) == 0 &&
            setresuid(NOBODY, NOBODY, NOBODY) == 0);
}

/* Whether a process can read the environment of another one of its user, which may hide first. */
static int can_read(void hide(void))
{
    int ends[2], fd = -1;
    char path[64], byte;
    pid_t child;

    if (!become_ordinary() || pipe(ends) != 0)
        return 2;
    child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        prctl(PR_SET_DUMPABLE, 1);
        if (hide)
            hide();
        if (write(ends[1], "", 1) == 1)
            pause();
        _exit(2);
    }
    if (read(ends[0], &byte, 1) == 1) {
        (void)snprintf(path, sizeof(path), "/proc/%d/environ", (int)child);
        fd = open(path, O_RDONLY | O_CLOEXEC);
    }
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    return fd >= 0;
}

static int result_of(void hide(void))
{
    pid_t pid = fork();
    int status;

    if (pid == 0)
        _exit(can_read(hide));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

TEST(who_hides_cannot_be_read_by_its_user)
{
    assert_int_equal(result_of(NULL), 1);
    assert_int_equal(result_of(confine_hide), UNDER_ASAN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_hides_cannot_be_read_by_its_user),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
