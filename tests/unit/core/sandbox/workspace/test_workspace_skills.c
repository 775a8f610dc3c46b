/* Folders beside a workspace: whole or missing, readable by every user, and no path leads out of them. */

#include "core/sandbox/workspace/workspace_skills.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "tests/support/test.h"
#include "tests/support/workspace_ground.h"

static struct err err;

static enum err_code put(const char *name, const char *path, const char *text)
{
    const struct workspace_skill_file files[] = {{"SKILL.md", "Read me.", 8},
                                                 {path, text, strlen(text)}};

    return workspace_put_skill(ground_workspace, name, files, COUNT_OF(files), &err);
}

static mode_t mode_of(const char *path)
{
    AUTO_FREE char *whole =
        mem_printf("%s/%s", workspace_skills_folder(ground_workspace), path);
    struct stat found;

    return stat(whole, &found) == 0 ? found.st_mode & 0777 : 0;
}

TEST(a_skill_has_its_files_and_everyone_may_read_them)
{
    mode_t before = umask(0077);

    assert_false(workspace_has_skill(ground_workspace, "notes"));
    assert_int_equal(put("notes", "bin/run", "#!/bin/sh\n"), ERR_OK);
    assert_true(workspace_has_skill(ground_workspace, "notes"));
    assert_int_equal(mode_of(""), 0755);
    assert_int_equal(mode_of("notes/bin"), 0755);
    assert_int_equal(mode_of("notes/SKILL.md"), 0644);
    assert_int_equal(mode_of("notes/bin/run"), 0755);
    assert_int_equal(ground_count("workspaces/proj_a/cntr_a"), 2);
    umask(before);
}

TEST(no_path_leads_out_of_a_skill)
{
    static const char *const paths[] = {"../x", "a/../../x", "/x", "a//x", "./x", "", "a/.."};

    for (size_t i = 0; i < COUNT_OF(paths); i++) {
        assert_int_equal(put("notes", paths[i], "x"), ERR_INVALID);
        assert_false(workspace_has_skill(ground_workspace, "notes"));
    }
}

TEST(a_file_whose_place_is_taken_is_left_out)
{
    assert_int_equal(put("notes", "SKILL.md/more", "x"), ERR_OK);
    assert_int_equal(mode_of("notes/SKILL.md"), 0644);
    assert_int_equal(put("again", "SKILL.md", "other"), ERR_OK);
}

/* What a crash has left of another attempt. */
TEST(an_attempt_that_was_cut_is_none)
{
    assert_int_equal(put("notes", "../x", "x"), ERR_INVALID);
    assert_int_equal(ground_count("workspaces/proj_a/cntr_a"), 3);
    assert_int_equal(put("notes", "a", "x"), ERR_OK);
    assert_int_equal(ground_count("workspaces/proj_a/cntr_a"), 2);
    assert_int_equal(ground_count("workspaces/.trash"), 1);
}

#define GROUNDED(test) cmocka_unit_test_setup_teardown(test, ground_set_up, ground_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        GROUNDED(a_skill_has_its_files_and_everyone_may_read_them),
        GROUNDED(no_path_leads_out_of_a_skill),
        GROUNDED(a_file_whose_place_is_taken_is_left_out),
        GROUNDED(an_attempt_that_was_cut_is_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
