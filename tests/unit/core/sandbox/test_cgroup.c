/* Which cgroup boxes can have theirs in, on folders that look like a kernel's. */

#include "core/sandbox/cgroup.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "tests/support/test.h"

static char *top, *membership;

static void write_file(const char *name, const char *text)
{
    AUTO_FREE char *path = mem_printf("%s/%s", top, name);
    FILE *file = fopen(path, "we");

    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static int remove_one(const char *path, const struct stat *found, int type, struct FTW *walk)
{
    (void)found, (void)type, (void)walk;
    return remove(path);
}

static int set_up(void **state)
{
    AUTO_FREE char *unit = NULL;

    (void)state;
    top = mem_strdup("/tmp/runnel-cgroup-XXXXXX");
    assert_non_null(mkdtemp(top));
    membership = mem_printf("%s/membership", top);
    unit = mem_printf("%s/unit", top);
    assert_int_equal(mkdir(unit, 0700), 0);
    write_file("cgroup.controllers", "cpuset cpu io memory pids\n");
    write_file("unit/cgroup.controllers", "cpu memory pids\n");
    write_file("unit/cgroup.procs", "");
    write_file("membership", "4:memory:/other\n0::/unit\n");
    return 0;
}

static int tear_down(void **state)
{
    int rc = nftw(top, remove_one, 8, FTW_DEPTH | FTW_PHYS);

    (void)state;
    free(membership);
    free(top);
    return rc;
}

TEST(a_delegated_cgroup_is_found)
{
    AUTO_FREE char *unit = mem_printf("%s/unit", top);
    AUTO_FREE char *folder = NULL;
    struct err err;

    assert_int_equal(cgroup_find(top, membership, &folder, &err), ERR_OK);
    assert_string_equal(folder, unit);
}

static void assert_missing(const char *why)
{
    char *folder = NULL;
    struct err err;

    assert_int_equal(cgroup_find(top, membership, &folder, &err), ERR_NOT_FOUND);
    assert_null(folder);
    assert_non_null(strstr(err.text, why));
}

TEST(version_1_is_no_cgroup)
{
    write_file("membership", "4:memory:/unit\n");
    assert_missing("version 2");
}

TEST(a_controller_that_is_missing_is_named)
{
    write_file("unit/cgroup.controllers", "cpu hugememory pids\n");
    assert_missing("\"memory\"");
    write_file("unit/cgroup.controllers", "memory\n");
    assert_missing("\"pids\"");
}

TEST(a_cgroup_that_does_not_exist_is_not_delegated)
{
    write_file("membership", "0::/elsewhere\n");
    assert_missing("not delegated");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_delegated_cgroup_is_found, set_up, tear_down),
        cmocka_unit_test_setup_teardown(version_1_is_no_cgroup, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_controller_that_is_missing_is_named, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_cgroup_that_does_not_exist_is_not_delegated, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
