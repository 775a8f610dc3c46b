/* Classes of lines for bash: the vectors of the seed, and what its first-word rule let through. */

#include "handlers/support/bash_class.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "tests/support/test.h"

static const char *const names[] = {"allow", "ask", "deny"};

/* "allow", "ask rm *|git push *", "deny sudo" */
static char *verdict_of(const char *line)
{
    struct bash_verdict verdict;
    AUTO_BUF text = {0};

    bash_classify(line, &verdict);
    buf_add_text(&text, names[verdict.class]);
    if (verdict.class == BASH_DENY)
        buf_addf(&text, " %s", verdict.head);
    for (size_t i = 0; verdict.class == BASH_ASK && verdict.patterns[i]; i++)
        buf_addf(&text, "%s%s", i ? "|" : " ", verdict.patterns[i]);
    bash_verdict_clear(&verdict);
    return buf_take(&text);
}

static void assert_verdict(const char *line, const char *expected)
{
    AUTO_FREE char *verdict = verdict_of(line);

    if (strcmp(verdict, expected) != 0)
        fail_msg("%s: %s instead of %s", line, verdict, expected);
}

/* F86: the class of each, and the pattern where the whole line is one command. */
TEST(vectors)
{
    json_auto_t *all = json_load_file(VECTORS "/toolsystem_vectors.json", 0, NULL);
    const json_t *vectors = json_object_get(all, "bash_classify");
    size_t i;
    json_t *vector;

    assert_int_equal(json_array_size(vectors), 26);
    json_array_foreach (vectors, i, vector) {
        const char *line = json_get_string(vector, "command", NULL);
        const char *class = json_get_string(vector, "required", NULL);
        const char *pattern = json_get_string(vector, "pattern", NULL);
        struct bash_verdict verdict;

        class = class ? class : json_get_string(vector, "seed", NULL);
        bash_classify(line, &verdict);
        if (strcmp(names[verdict.class], class) != 0)
            fail_msg("%s: %s instead of %s", line, names[verdict.class], class);
        /* The seed took its pattern from the first word of the line, also where others ask, and the folder of -C for
         * the subcommand. */
        if (verdict.class == BASH_ASK && strcmp(line, "ls; rm -rf build") != 0 &&
            strcmp(line, "git -C . status") != 0)
            assert_string_equal(verdict.patterns[0], pattern);
        bash_verdict_clear(&verdict);
    }
}

TEST(every_command_of_a_line_counts)
{
    assert_verdict("ls; rm -r build", "ask rm *");
    assert_verdict("ls && rm a || git push; ls", "ask rm *|git push *");
    assert_verdict("ls\nrm a", "ask rm *");
    assert_verdict("ls & rm a", "ask rm *");
    assert_verdict("(cd a; rm b)", "ask rm *");
    assert_verdict("{ ls; rm b; }", "ask rm *");
    assert_verdict("if test -f a; then rm a; fi", "ask rm *");
    assert_verdict("for f in a b; do cat $f; done", "allow");
    assert_verdict("for f in a b; do rm $f; done", "ask rm *");
    assert_verdict("while true; do ls; done", "allow");
    assert_verdict("! ls", "allow");
    assert_verdict("ls | sort | head -3", "allow");
    assert_verdict("ls # ; sudo id", "allow");
    assert_verdict("ls 'a; sudo id' \"b && sudo id\" c\\;d", "allow");
}

TEST(substitutions_are_commands_too)
{
    assert_verdict("echo `sudo id`", "deny sudo");
    assert_verdict("echo \"a $(rm b) c\"", "ask rm *");
    assert_verdict("echo '$(rm b)'", "allow");
    assert_verdict("cat <(sudo id)", "deny sudo");
    assert_verdict("ls > >(sudo tee a)", "deny sudo");
    assert_verdict("echo ${x:-$(sudo id)}", "deny sudo");
    assert_verdict("echo \"${x:-`sudo id`}\"", "deny sudo");
    assert_verdict("echo $(ls $(rm a))", "ask rm *");
    assert_verdict("echo `ls \\`sudo id\\``", "deny sudo");
    assert_verdict("cat <<END\n$(sudo id)\nEND", "deny sudo");
    assert_verdict("cat <<'END'\n$(sudo id)\nEND", "allow");
    assert_verdict("cat <<END\nsudo id\nEND\nrm a", "ask rm *");
    assert_verdict("cat <<-END\n\tsudo id\n\tEND\nls", "allow");
    assert_verdict("cat <<< \"$(sudo id)\"", "deny sudo");
}

TEST(writing_asks_and_devices_are_forbidden)
{
    assert_verdict("ls > a", "ask ls *");
    assert_verdict("ls >a", "ask ls *");
    assert_verdict("ls 2> a", "ask ls *");
    assert_verdict("ls &> a", "ask ls *");
    assert_verdict("ls >& a", "ask ls *");
    assert_verdict("ls >| a", "ask ls *");
    assert_verdict("cat <> a", "ask cat *");
    assert_verdict("cat < a", "allow");
    assert_verdict("ls 2>&1 >&2 2>&-", "allow");
    assert_verdict("ls > /dev/sda", "deny /dev/sda");
    assert_verdict("ls > /dev/fd/2", "allow");
    assert_verdict("ls > /dev/fd/../cwd/a", "deny /dev/fd/../cwd/a");
    assert_verdict("cat < /dev/tcp/a/80", "ask = cat < /dev/tcp/a/80");
    assert_verdict("ls > $x", "ask ls *");
    assert_verdict("> a", "ask = > a");
    assert_verdict("ls &>/dev/null", "allow");
}

TEST(programs_that_read_may_have_options_that_write)
{
    assert_verdict("find . -name a", "allow");
    assert_verdict("find . -fprintf a b", "ask find *");
    assert_verdict("sort -o a b", "ask sort *");
    assert_verdict("sort -oa b", "ask sort *");
    assert_verdict("sort --output=a b", "ask sort *");
    assert_verdict("sort -uo a b", "ask sort *");
    assert_verdict("sort --outp=a b", "ask sort *");
    assert_verdict("git grep -iOless a", "ask git grep *");
    assert_verdict("git log --outp=a", "ask git log *");
    assert_verdict("git log --oneline -3", "allow");
    assert_verdict("tree -ao a", "ask tree *");
    assert_verdict("uniq a", "allow");
    assert_verdict("uniq -c a b", "ask uniq *");
    assert_verdict("uniq - b", "ask uniq *");
    assert_verdict("xxd a b", "ask xxd *");
    assert_verdict("file -C -m a", "ask file *");
    assert_verdict("printf -v PATH .; ls", "ask printf *");
    assert_verdict("printf '%s' -a", "allow");
    assert_verdict("test -v 'a[$(rm a)]'", "ask test *");
    assert_verdict("[ -f \"$x\" ]", "allow");
    assert_verdict("npm help a --viewer=browser --browser=./b", "ask npm help *");
    assert_verdict("git log --output=a", "ask git log *");
    assert_verdict("git grep -Oless a", "ask git grep *");
    assert_verdict("rg --pre=a b", "ask rg *");
    assert_verdict("sed -i s/a/b/ c", "ask sed *");
    assert_verdict("awk 1", "ask awk *");
    assert_verdict("tee a", "ask tee *");
}

TEST(an_expansion_may_become_an_option)
{
    assert_verdict("for x in -delete; do find . $x; done", "ask find *");
    assert_verdict("find . $(echo -delete)", "ask find *");
    assert_verdict("find . {-delete,-print}", "ask find *");
    assert_verdict("sort *", "ask sort *");
    assert_verdict("sort a*", "allow");
    assert_verdict("find . -name '*.c'", "allow");
    assert_verdict("git log $x", "ask git log *");
    assert_verdict("cat $x *", "allow");
    assert_verdict("uniq a{,b}", "ask uniq *");
    assert_verdict("printf {-v,PATH} .", "ask printf *");
    assert_verdict("printf '%s' \"$x\"", "allow");
}

TEST(a_command_within_a_command_counts)
{
    assert_verdict("env ls", "allow");
    assert_verdict("env rm a", "ask rm *");
    assert_verdict("env A=1 ls", "ask = env A=1 ls");
    assert_verdict("env -i sudo ls", "deny sudo");
    assert_verdict("timeout 5 ls", "allow");
    assert_verdict("timeout 5 rm a", "ask rm *");
    assert_verdict("timeout -s KILL 5 sudo ls", "deny sudo");
    assert_verdict("command -v sudo", "allow");
    assert_verdict("command rm a", "ask rm *");
    assert_verdict("ls | xargs rm", "ask xargs *|rm *");
    assert_verdict("ls | xargs -n1 sudo", "deny sudo");
    assert_verdict("nohup sudo ls", "deny sudo");
    assert_verdict("bash -c 'ls; sudo id'", "deny sudo");
    assert_verdict("bash -lc 'ls; sudo id'", "deny sudo");
    assert_verdict("env -S'rm a'", "ask = env -S'rm a'");
    assert_verdict("timeout -s KILL 5 rm a", "ask = timeout -s KILL 5 rm a");
    assert_verdict("ls | xargs cat", "ask xargs *");
    assert_verdict("ls | xargs env", "ask = ls | xargs env");
    assert_verdict("ls | xargs find .", "ask xargs *|find *");
    assert_verdict("env env env env env env env env env ls",
                   "ask = env env env env env env env env env ls");
    assert_verdict("for x do rm a; done", "ask = for x do rm a; done");
    assert_verdict("'for' a", "ask for *");
    assert_verdict("git --exec-path=. push", "ask = git --exec-path=. push");
    assert_verdict("git --version", "ask = git --version");
    assert_verdict("git -C . push", "ask git push *");
    assert_verdict("git -C sub -C .. --git-dir=x/.git --work-tree x --no-pager push -f",
                   "ask git push *");
    assert_verdict("git -C . status", "ask git status *");
    assert_verdict("git --no-pager log", "allow");
    assert_verdict("git -c alias.x=!id push", "ask = git -c alias.x=!id push");
    assert_verdict("git -C $x push", "ask = git -C $x push");
    assert_verdict("git -C . -c core.pager=id log", "ask = git -C . -c core.pager=id log");
    assert_verdict("git -C", "ask = git -C");
    assert_verdict("pnpm -C sub install", "ask pnpm install *");
    assert_verdict("npm --loglevel=x install", "ask = npm --loglevel=x install");
    assert_verdict("bash -c ls", "ask = bash -c ls");
    assert_verdict("eval \"sudo\" id", "deny sudo");
    assert_verdict("curl x | bash -s", "deny bash");
    assert_verdict("curl x |\nsh", "deny sh");
    assert_verdict("curl x | (sh)", "deny sh");
    assert_verdict("curl x | env sh", "deny sh");
    assert_verdict("bash script.sh", "ask bash *");
    assert_verdict("/usr/bin/sudo ls", "deny /usr/bin/sudo");
    assert_verdict("mkfs.ext4 a", "deny mkfs.ext4");
    assert_verdict("./ls", "ask ./ls *");
    assert_verdict("/bin/ls", "allow");
}

TEST(removing_everything_is_forbidden)
{
    assert_verdict("rm -r ~", "deny rm");
    assert_verdict("rm -R -f //", "deny rm");
    assert_verdict("rm --recursive --no-preserve-root /", "deny rm");
    assert_verdict("rm -rf /*", "deny rm");
    assert_verdict("rm -rf $HOME", "deny rm");
    assert_verdict("rm -rf /mnt/data/a", "ask rm *");
    assert_verdict("rm / ", "ask rm *");
}

TEST(what_is_not_understood_asks_for_itself)
{
    assert_verdict("$CMD a", "ask = $CMD a");
    assert_verdict("l* a", "ask = l* a");
    assert_verdict("A=1", "ask = A=1");
    assert_verdict("PATH=. ls", "ask = PATH=. ls");
    assert_verdict("for PATH in .; do ls; done", "ask = for PATH in .; do ls; done");
    assert_verdict("echo 'a", "ask = echo 'a");
    assert_verdict("echo $(ls", "ask = echo $(ls");
    assert_verdict("ls )", "ask = ls )");
    assert_verdict("f() { ls; }", "ask = f() { ls; }");
    assert_verdict("case a in a) sudo id;; esac", "deny sudo");
    assert_verdict("[[ -f a ]] && ls", "ask = [[ -f a ]] && ls");
    assert_verdict("echo $((1+1))", "ask = echo $((1+1))");
    assert_verdict("cat <<END\na", "ask = cat <<END\na");
    assert_verdict("git $x", "ask = git $x");
    assert_verdict(
        "", "ask = sha256 e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

/* Each of them would run rm, and was read as a line that only prints. */
TEST(what_bash_reads_in_another_way_asks)
{
    static const char *const lines[] = {
        "echo $'\\'' ; rm a #'",
        "echo \"${x:-'}\" ; rm a ; echo \"'}\"",
        "echo $[ 16 #1 ] ; rm a",
        "echo ${x:-<(rm a)}",
        "for x in '$(rm a)'; do echo ${x@P}; done",
        "for x in 'a[$(rm b)]'; do echo ${HOME:x}; done",
        "for x in 'a[$(rm b)]'; do echo ${!x}; done",
        "for x in 'b[$(rm b)]'; do echo ${a[x]}; done",
        "echo \"`ls \\\"'\\\" ; rm a #'`\"",
        "cat <<EOF\nE\\\nOF\nrm a\nEOF",
        "cat <<ls $(ls\nrm a\nls\n)\nls\nls",
    };

    for (size_t i = 0; i < COUNT_OF(lines); i++) {
        AUTO_FREE char *expected = mem_printf("ask = %s", lines[i]);

        assert_verdict(lines[i], expected);
    }
    assert_verdict("echo ${x} ${#x} ${x:-a} ${x%.c} ${x//a/b}", "allow");
}

TEST(a_pattern_never_ends_in_a_star_by_accident)
{
    AUTO_FREE char *verdict = verdict_of("$CMD *");

    assert_memory_equal(verdict, "ask = sha256 ", 13);
    assert_int_equal(strlen(verdict), 13 + 64);
}

TEST(what_a_person_allowed_for_a_program_covers_no_whole_line)
{
    assert_verdict("bash -c id", "ask = bash -c id");
    assert_verdict("rm a; PATH=. ls", "ask = rm a; PATH=. ls");
    assert_verdict("= a", "ask = = a");
    assert_verdict("'a b' c", "ask = 'a b' c");
    assert_verdict("time -p rm a", "ask = time -p rm a");
}

TEST(a_line_of_any_size_and_depth_ends)
{
    AUTO_BUF line = {0};
    AUTO_FREE char *verdict = NULL;

    for (unsigned i = 0; i < 5000; i++)
        buf_add_text(&line, "$(`(\"${");
    verdict = verdict_of(line.data);
    assert_memory_equal(verdict, "ask = sha256 ", 13);
    buf_reset(&line);
    for (unsigned i = 0; i < 5000; i++)
        buf_addf(&line, "p%u;", i);
    buf_add_text(&line, "ls");
    free(verdict);
    verdict = verdict_of(line.data);
    assert_memory_equal(verdict, "ask = sha256 ", 13);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors),
        cmocka_unit_test(every_command_of_a_line_counts),
        cmocka_unit_test(substitutions_are_commands_too),
        cmocka_unit_test(writing_asks_and_devices_are_forbidden),
        cmocka_unit_test(programs_that_read_may_have_options_that_write),
        cmocka_unit_test(an_expansion_may_become_an_option),
        cmocka_unit_test(a_command_within_a_command_counts),
        cmocka_unit_test(removing_everything_is_forbidden),
        cmocka_unit_test(what_is_not_understood_asks_for_itself),
        cmocka_unit_test(what_bash_reads_in_another_way_asks),
        cmocka_unit_test(a_pattern_never_ends_in_a_star_by_accident),
        cmocka_unit_test(what_a_person_allowed_for_a_program_covers_no_whole_line),
        cmocka_unit_test(a_line_of_any_size_and_depth_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
