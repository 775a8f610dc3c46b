#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/fault.h"
#include "core/base/spool.h"
#include "tests/support/test.h"

static char directory[] = "/tmp/runnel-spool-XXXXXX";

static int make_directory(void **state)
{
    (void)state;
    return mkdtemp(directory) ? 0 : -1;
}

static int remove_directory(void **state)
{
    (void)state;
    return rmdir(directory);
}

static void expect_no_file(void)
{
    DIR *list = opendir(directory);

    assert_non_null(list);
    for (struct dirent *one; (one = readdir(list));)
        assert_int_equal(one->d_name[0], '.');
    closedir(list);
    /* A file with a name would keep it from being removed. */
    assert_int_equal(rmdir(directory), 0);
    assert_int_equal(mkdir(directory, 0700), 0);
}

TEST(what_was_written_is_read_back_and_has_no_name)
{
    struct spool *spool = NULL;
    char read[8] = {0};

    assert_int_equal(spool_open(directory, &spool, NULL), ERR_OK);
    assert_int_equal(spool_write(spool, "abc", 3, NULL), ERR_OK);
    assert_int_equal(spool_write(spool, "", 0, NULL), ERR_OK);
    assert_int_equal(spool_write(spool, "de", 2, NULL), ERR_OK);
    assert_int_equal(spool->size, 5);
    assert_int_equal(pread(spool->fd, read, sizeof(read), 0), 5);
    assert_string_equal(read, "abcde");
    expect_no_file();
    spool_close(spool);
    spool_close(NULL);
}

TEST(a_directory_that_is_missing_is_an_error)
{
    struct spool *spool = NULL;
    struct err err = {0};

    assert_int_equal(spool_open("/tmp/runnel-no-such-directory", &spool, &err), ERR_INTERNAL);
    assert_null(spool);
}

#ifdef RUNNEL_FAULTS

TEST(a_full_disk_is_an_error_of_its_own)
{
    struct spool *spool = NULL;
    struct err err = {0};

    fault_arm("spool.look", 1);
    assert_int_equal(spool_open(directory, &spool, &err), ERR_FULL);
    assert_null(spool);
    assert_string_equal(err.text, "The server has no disk space for this body.");
    fault_arm("spool.write", 2);
    assert_int_equal(spool_open(directory, &spool, &err), ERR_OK);
    assert_int_equal(spool_write(spool, "a", 1, &err), ERR_OK);
    assert_int_equal(spool_write(spool, "b", 1, &err), ERR_FULL);
    spool_close(spool);
    fault_disarm();
    expect_no_file();
}

TEST(the_reserve_is_looked_at_while_writing)
{
    static const char block[65536];
    struct spool *spool = NULL;
    uint64_t blocks = 0;

    assert_int_equal(spool_open(directory, &spool, NULL), ERR_OK);
    fault_arm("spool.look", 1);
    while (!spool_write(spool, block, sizeof(block), NULL))
        blocks++;
    assert_true(fault_fired());
    assert_int_equal(blocks, SPOOL_LOOK / sizeof(block) - 1);
    spool_close(spool);
    fault_disarm();
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_written_is_read_back_and_has_no_name),
        cmocka_unit_test(a_directory_that_is_missing_is_an_error),
#ifdef RUNNEL_FAULTS
        cmocka_unit_test(a_full_disk_is_an_error_of_its_own),
        cmocka_unit_test(the_reserve_is_looked_at_while_writing),
#endif
    };

    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
