/* The memory of processes and their descendants, also of those that hide it. */

#include "core/sandbox/tree.h"

#include <grp.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/test.h"

#define MEMORY ((size_t)32 << 20)
#define NOBODY 65534

/* Root may look at everything, so the tests look as an ordinary user. */
static void become_ordinary(void)
{
    if (geteuid() == 0 && (setgroups(0, NULL) != 0 || setresgid(NOBODY, NOBODY, NOBODY) != 0 ||
                           setresuid(NOBODY, NOBODY, NOBODY) != 0))
        _exit(2);
}

/* A child with MEMORY that hides it, if `hides`, and then writes a byte. */
static void child_main(int up, int flags, bool hides)
{
    char *memory = mmap(NULL, MEMORY, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (memory == MAP_FAILED)
        _exit(2);
    memset(memory, 1, MEMORY);
    prctl(PR_SET_DUMPABLE, hides ? 0 : 1);
    if (write(up, "", 1) != 1)
        _exit(2);
    for (;;)
        pause();
}

static uint64_t measure(int flags, bool hides, size_t trusted)
{
    int ends[2];
    pid_t child;
    struct tree tree;
    char byte;

    become_ordinary();
    if (pipe(ends) != 0)
        _exit(2);
    child = fork();
    if (child == 0)
        child_main(ends[1], flags, hides);
    if (read(ends[0], &byte, 1) != 1)
        _exit(2);
    tree_measure(child, trusted, &tree);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    return tree.bytes;
}

/* In a process of its own, which becomes an ordinary user. */
static void assert_counts(int flags, bool hides, size_t trusted, bool expected)
{
    pid_t pid = fork();
    int status;

    if (pid == 0)
        _exit((measure(flags, hides, trusted) >= MEMORY) == expected ? 0 : 1);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

TEST(memory_counts_whether_it_is_shared_or_not)
{
    assert_counts(MAP_PRIVATE, false, 0, true);
    assert_counts(MAP_SHARED, false, 0, true);
}

TEST(a_process_that_hides_its_memory_is_counted)
{
    assert_counts(MAP_PRIVATE, true, 0, true);
    assert_counts(MAP_SHARED, true, 0, true);
}

TEST(the_sandboxes_own_processes_may_hide)
{
    assert_counts(MAP_SHARED, true, 1, false);
    assert_counts(MAP_PRIVATE, false, 1, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_counts_whether_it_is_shared_or_not),
        cmocka_unit_test(a_process_that_hides_its_memory_is_counted),
        cmocka_unit_test(the_sandboxes_own_processes_may_hide),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
