#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "server/data_dir.h"
#include "tests/support/test.h"

static unsigned made;

static void make_line(char ret_line[DATA_DIR_LINE_SIZE])
{
    (void)snprintf(ret_line, DATA_DIR_LINE_SIZE, "line-%u", ++made);
}

static int make_directory(void **state)
{
    char *path = mem_strdup("/tmp/runnel-data-dir-XXXXXX");

    *state = mkdtemp(path);
    made = 0;
    return *state ? 0 : -1;
}

static int remove_directory(void **state)
{
    AUTO_FREE char *file = mem_printf("%s/name", (char *)*state);

    unlink(file);
    assert_int_equal(rmdir(*state), 0); /* the directory is empty */
    free(*state);
    return 0;
}

TEST(a_line_is_made_once_and_kept)
{
    char line[DATA_DIR_LINE_SIZE];

    assert_int_equal(data_dir_line(*state, "name", make_line, line, NULL), ERR_OK);
    assert_string_equal(line, "line-1");
    memset(line, 0, sizeof(line));
    assert_int_equal(data_dir_line(*state, "name", make_line, line, NULL), ERR_OK);
    assert_string_equal(line, "line-1");
    assert_int_equal(data_dir_write(*state, "name", "other", NULL), ERR_OK);
    assert_int_equal(data_dir_line(*state, "name", make_line, line, NULL), ERR_OK);
    assert_string_equal(line, "other");
}

TEST(a_restore_removes_only_what_is_new)
{
    static const char *const names[] = {"lock", "node_id", "api_key"};
    AUTO_FREE char *fresh = mem_printf("%s/fresh", (char *)*state);
    struct data_dir_traces before;

    data_dir_inspect(fresh, &before);
    assert_int_equal(mkdir(fresh, 0700), 0);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(data_dir_write(fresh, names[i], "new", NULL), ERR_OK);
    data_dir_restore(fresh, &before);
    assert_int_not_equal(access(fresh, F_OK), 0);

    assert_int_equal(mkdir(fresh, 0700), 0);
    assert_int_equal(data_dir_write(fresh, "api_key", "old", NULL), ERR_OK);
    data_dir_inspect(fresh, &before);
    assert_int_equal(data_dir_write(fresh, "node_id", "new", NULL), ERR_OK);
    data_dir_restore(fresh, &before);

    AUTO_FREE char *kept = mem_printf("%s/api_key", fresh);

    assert_int_equal(unlink(kept), 0);
    assert_int_equal(rmdir(fresh), 0); /* node_id is removed, the directory is not */
}

TEST(only_the_owner_may_read_the_file)
{
    AUTO_FREE char *path = mem_printf("%s/name", (char *)*state);
    char line[DATA_DIR_LINE_SIZE];
    struct stat status;

    assert_int_equal(data_dir_line(*state, "name", make_line, line, NULL), ERR_OK);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
}

TEST(an_empty_file_is_an_error_and_not_a_line)
{
    AUTO_FREE char *path = mem_printf("%s/name", (char *)*state);
    char line[DATA_DIR_LINE_SIZE];
    struct err err;
    FILE *file = fopen(path, "w");

    assert_int_equal(fclose(file), 0);
    assert_int_equal(data_dir_line(*state, "name", make_line, line, &err), ERR_INTERNAL);
    assert_non_null(strstr(err.text, "is empty"));
    assert_int_equal(made, 0);
}

TEST(a_missing_directory_is_named)
{
    char line[DATA_DIR_LINE_SIZE];
    struct err err;

    assert_int_equal(data_dir_line("/does/not/exist", "name", make_line, line, &err),
                     ERR_INTERNAL);
    assert_non_null(strstr(err.text, "/does/not/exist/name"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_line_is_made_once_and_kept, make_directory,
                                        remove_directory),
        cmocka_unit_test_setup_teardown(a_restore_removes_only_what_is_new, make_directory,
                                        remove_directory),
        cmocka_unit_test_setup_teardown(only_the_owner_may_read_the_file, make_directory,
                                        remove_directory),
        cmocka_unit_test_setup_teardown(an_empty_file_is_an_error_and_not_a_line,
                                        make_directory, remove_directory),
        cmocka_unit_test(a_missing_directory_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
