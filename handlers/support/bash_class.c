/*
 * bash_class.c -- classes of commands, as tables.
 */

#include "handlers/support/bash_class.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/base/sha256.h"
#include "handlers/support/shell_line.h"

/* Lines within a line: bash -c, eval. */
#define NESTED_LIMIT 8

/* A line that is a pattern has at most so many bytes; a longer one is named by its hash. */
#define PATTERN_LIMIT ((size_t)1024)

/* ---- Tables ---- */

static const char *const forbidden[] = {
    "sudo",     "su",           "doas",      "shutdown", "reboot", "halt",
    "poweroff", "init",         "systemctl", "service",  "passwd", "useradd",
    "userdel",  "mkfs",         "fdisk",     "mount",    "umount", "chroot",
    "iptables", "firewall-cmd", "ufw",       "crontab",  "at",
};

/* Programs that only read, and write to their standard output alone. */
static const char *const readers[] = {
    "arch",      "basename",  "cal",       "cat",       "cd",    "cksum",   "cmp",
    "column",    "comm",      "cut",       "date",      "df",    "diff",    "dirname",
    "du",        "echo",      "egrep",     "expand",    "expr",  "false",   "fgrep",
    "fmt",       "fold",      "free",      "getconf",   "grep",  "groups",  "head",
    "hexdump",   "hostname",  "id",        "jq",        "join",  "locale",  "ls",
    "md5sum",    "nl",        "nproc",     "numfmt",    "od",    "paste",   "printenv",
    "ps",        "pwd",       "readlink",  "realpath",  "rev",   "seq",     "sha1sum",
    "sha224sum", "sha256sum", "sha384sum", "sha512sum", "stat",  "strings", "sum",
    "tac",       "tail",      "tr",        "true",      "tsort", "type",    "tty",
    "uname",     "unexpand",  "uptime",    "wc",        "which", "whoami",  ":",
};

/* They read, unless one of these options is given: in full, shortened, or among other letters. */
static const struct {
    const char *program;
    const char *options[12];
    bool blind; /* to variables: they are too usual in it */
} careful[] = {
    /* The index of an array is an expression, and may run commands. */
    {"[", {"-v", "-R", NULL}, true},
    {"find",
     {"-exec", "-execdir", "-ok", "-okdir", "-delete", "-fprint", "-fprint0", "-fprintf",
      "-fls", NULL},
     false},
    {"file", {"-C", "--compile", NULL}, false},
    {"printf", {"-v", NULL}, true},
    {"rg", {"--pre", "--hostname-bin", NULL}, false},
    {"shuf", {"-o", "--output", NULL}, false},
    {"sort", {"-o", "--output", "--compress-program", NULL}, false},
    {"test", {"-v", "-R", NULL}, true},
    {"tree", {"-o", NULL}, false},
    {"uniq", {NULL}, false}, /* the second operand of these is a file to write */
    {"xxd", {"-r", NULL}, false},
};

/* Programs whose subcommand says what they do. Those that only read: */
static const struct {
    const char *program;
    const char *reading[20];
} with_subcommands[] = {
    {"git",
     {"blame", "cat-file", "check-ignore", "count-objects", "describe", "diff", "diff-tree",
      "grep", "log", "ls-files", "ls-tree", "merge-base", "name-rev", "rev-list", "rev-parse",
      "shortlog", "show", "status", NULL}},
    {"npm",
     {"bin", "explain", "la", "list", "ll", "ls", "outdated", "prefix", "root", "why", NULL}},
    {"npx", {NULL}},
    {"pnpm", {"list", "ll", "ls", "outdated", "why", NULL}},
    {"yarn", {"list", "why", NULL}},
};

/* Options before the subcommand that change nothing but where it works, and whether a word of their own follows. All
 * others may name programs: -c core.pager=..., --exec-path=... */
static const struct {
    const char *program, *option;
    bool operand;
} places[] = {
    {"git", "-C", true},
    {"git", "--git-dir", true},
    {"git", "--work-tree", true},
    {"git", "--namespace", true},
    {"git", "--bare", false},
    {"git", "--no-pager", false},
    {"git", "-P", false},
    {"git", "--no-optional-locks", false},
    {"git", "--no-replace-objects", false},
    {"git", "--literal-pathspecs", false},
    {"pnpm", "-C", true},
    {"pnpm", "--dir", true},
    {"yarn", "--cwd", true},
    {"npm", "--prefix", true},
};

/* They run the command behind them. */
static const struct {
    const char *program;
    enum bash_class class;
    bool operand; /* one of its own comes first */
} wrappers[] = {
    {"builtin", BASH_ALLOW, false}, {"busybox", BASH_ASK, false},
    {"command", BASH_ALLOW, false}, {"env", BASH_ALLOW, false},
    {"exec", BASH_ASK, false},      {"ionice", BASH_ALLOW, false},
    {"nice", BASH_ALLOW, false},    {"nohup", BASH_ASK, false},
    {"setsid", BASH_ASK, false},    {"stdbuf", BASH_ALLOW, false},
    {"timeout", BASH_ALLOW, true},  {"xargs", BASH_ASK, false},
};

static const char *const shells[] = {"sh", "ash", "bash", "dash", "ksh", "zsh"};

/* Devices that may be written. */
static const char *const devices[] = {"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"};

#define IS_IN(table, text) is_in((table), COUNT_OF(table), (text))

static bool is_in(const char *const *table, size_t count, const char *text)
{
    for (size_t i = 0; i < count && table[i]; i++) {
        if (strcmp(table[i], text) == 0)
            return true;
    }
    return false;
}

/* ---- The verdict ---- */

struct judge {
    struct bash_verdict *verdict;
    unsigned depth;
    bool whole; /* no pattern will do but the line */
};

static void raise_to(struct judge *judge, enum bash_class class)
{
    if (judge->verdict->class < class)
        judge->verdict->class = class;
}

/* The first one is named. */
static void deny(struct judge *judge, const char *head)
{
    raise_to(judge, BASH_DENY);
    if (!judge->verdict->head)
        judge->verdict->head = mem_strdup(head);
}

static void ask(struct judge *judge, const char *pattern)
{
    char **patterns = judge->verdict->patterns;
    size_t count = 0;

    raise_to(judge, BASH_ASK);
    for (; patterns[count]; count++) {
        if (strcmp(patterns[count], pattern) == 0)
            return;
    }
    if (count == BASH_PATTERNS_LIMIT || strlen(pattern) > PATTERN_LIMIT)
        judge->whole = true;
    else
        patterns[count] = mem_strdup(pattern);
}

static void ask_whole(struct judge *judge)
{
    raise_to(judge, BASH_ASK);
    judge->whole = true;
}

/* ---- Words ---- */

struct words {
    const struct shell_word *at;
    size_t count;
    bool piped;
};

static struct words behind(struct words words, size_t count)
{
    return (struct words){words.at + count, words.count - count, words.piped};
}

/* The name of a program of the system; of another one all of its path. */
static const char *program_of(const char *head)
{
    static const char *const folders[] = {"/bin/",      "/sbin/",          "/usr/bin/",
                                          "/usr/sbin/", "/usr/local/bin/", "/usr/local/sbin/"};

    for (size_t i = 0; i < COUNT_OF(folders); i++) {
        size_t length = strlen(folders[i]);

        if (strncmp(head, folders[i], length) == 0 && !strchr(head + length, '/'))
            return head + length;
    }
    return head;
}

/* Also by another path, such as ./sudo. */
static bool is_forbidden(const char *head)
{
    const char *slash = strrchr(head, '/');
    const char *name = slash ? slash + 1 : head;

    return IS_IN(forbidden, name) || strncmp(name, "mkfs.", 5) == 0;
}

static size_t options_of(struct words words)
{
    size_t count = 0;

    while (count < words.count && *words.at[count].text == '-')
        count++;
    return count;
}

/* -ofile, -uofile, --output=file, --outp=file */
static bool is_option(const char *text, const char *option)
{
    size_t length = strcspn(text, "=");

    if (*text != '-')
        return false;
    if (option[1] == '-')
        return text[1] == '-' && length > 2 && strncmp(text, option, length) == 0;
    if (option[2] == '\0')
        return text[1] != '-' && strchr(text, option[1]);
    return strcmp(text, option) == 0;
}

static bool has_option(struct words words, const char *const *options)
{
    for (size_t i = 0; i < words.count; i++) {
        for (size_t n = 0; options[n]; n++) {
            if (is_option(words.at[i].text, options[n]))
                return true;
        }
    }
    return false;
}

/* An expansion may become any word, or several. A name from a pattern begins as the pattern does. */
static bool may_hide_options(struct words words, bool blind)
{
    for (size_t i = 0; i < words.count; i++) {
        const char *text = words.at[i].text;

        if (!words.at[i].plain &&
            (strchr("-{", *text) || (!blind && (strchr("*?[", *text) || strpbrk(text, "$`")))))
            return true;
    }
    return false;
}

/* ---- Programs ---- */

static void classify_words(struct judge *judge, struct words words);
static void classify_line(struct judge *judge, const char *line);

static void classify_inner(struct judge *judge, const char *line)
{
    if (++judge->depth > NESTED_LIMIT)
        ask_whole(judge);
    else
        classify_line(judge, line);
    judge->depth--;
}

/* Everything of the machine or of a home. */
static bool is_all(const char *text)
{
    static const char *const homes[] = {"~",      "~/",      "~/*",    "$HOME",
                                        "$HOME/", "$HOME/*", "${HOME}"};

    if (IS_IN(homes, text))
        return true;
    return *text == '/' && !text[strspn(text, "/.*")];
}

static bool is_recursive(const char *option)
{
    return option[1] == '-' ? strcmp(option, "--recursive") == 0
                            : strpbrk(option, "rR") != NULL;
}

static void classify_rm(struct judge *judge, struct words words)
{
    bool recursive = false, all = false;

    for (size_t i = 1; i < words.count; i++) {
        const char *text = words.at[i].text;

        if (*text == '-')
            recursive |= is_recursive(text);
        else
            all |= is_all(text);
    }
    if (recursive && all)
        deny(judge, words.at->text);
    ask(judge, "rm *");
}

static void classify_shell(struct judge *judge, struct words words)
{
    if (words.piped)
        deny(judge, words.at->text);
    for (size_t i = 1; i + 1 < words.count; i++) {
        if (is_option(words.at[i].text, "-c")) { /* also -lc */
            if (words.at[i + 1].plain)
                classify_inner(judge, words.at[i + 1].text);
            /* What is in it counts, not the name of the shell. */
            ask_whole(judge);
            return;
        }
    }
    {
        AUTO_FREE char *pattern = mem_printf("%s *", words.at->text);

        ask(judge, pattern);
    }
}

static void classify_eval(struct judge *judge, struct words words)
{
    AUTO_BUF line = {0};

    for (size_t i = 1; i < words.count; i++) {
        buf_add_text(&line, words.at[i].text);
        buf_add_char(&line, ' ');
    }
    if (line.length)
        classify_inner(judge, line.data);
    ask_whole(judge);
}

/* xargs adds words that are not known. */
static void classify_fed(struct judge *judge, struct words words)
{
    char unknown[] = "$@";
    AUTO_FREE struct shell_word *all = mem_resize(NULL, words.count + 1, sizeof(*all));

    memcpy(all, words.at, words.count * sizeof(*all));
    all[words.count] = (struct shell_word){.text = unknown};
    classify_words(judge, (struct words){all, words.count + 1, words.piped});
}

/* With options it is not known which word is the inner command: each may be. */
static void classify_wrapper(struct judge *judge, struct words words, enum bash_class class,
                             bool operand)
{
    size_t options = options_of(behind(words, 1)), skipped = 1 + options;

    while (skipped < words.count && strchr(words.at[skipped].text, '=') &&
           words.at[skipped].text[0] != '=')
        skipped++;
    /* With options or variables, its name alone says too little. */
    if (skipped > 1)
        ask_whole(judge);
    skipped += operand;
    for (size_t i = 1; options && i < words.count; i++) {
        if (is_forbidden(words.at[i].text))
            deny(judge, words.at[i].text);
    }
    if (class == BASH_ASK) {
        AUTO_FREE char *pattern = mem_printf("%s *", words.at->text);

        ask(judge, pattern);
    }
    if (skipped >= words.count)
        return;
    if (++judge->depth > NESTED_LIMIT)
        ask_whole(judge);
    else if (strcmp(program_of(words.at->text), "xargs") == 0)
        classify_fed(judge, behind(words, skipped));
    else
        classify_words(judge, behind(words, skipped));
    judge->depth--;
}

/* How many words an option of the table takes that stands before the subcommand; 0: it is none. */
static size_t place_length(const char *program, const char *text)
{
    for (size_t i = 0; i < COUNT_OF(places); i++) {
        size_t length = strlen(places[i].option);

        if (strcmp(places[i].program, program) != 0 ||
            strncmp(text, places[i].option, length) != 0)
            continue;
        if (!text[length])
            return places[i].operand ? 2 : 1;
        if (text[length] == '=' && places[i].operand && text[1] == '-')
            return 1; /* --git-dir=folder */
    }
    return 0;
}

/* The place of the subcommand: behind those options. An option that is not in the table may stand there, too.
 * *ret_elsewhere: one of them says in which folder it works. */
static size_t subcommand_of(const char *program, struct words words, bool *ret_elsewhere)
{
    size_t at = 1, length;

    *ret_elsewhere = false;
    while (at < words.count && (length = place_length(program, words.at[at].text)) > 0) {
        *ret_elsewhere |= length > 1 || strchr(words.at[at].text, '=');
        at += length;
    }
    return at;
}

static void classify_subcommand(struct judge *judge, struct words words,
                                const char *const *reading)
{
    const char *program = program_of(words.at->text);
    bool elsewhere;
    size_t at = subcommand_of(program, words, &elsewhere);
    const char *subcommand = at < words.count ? words.at[at].text : NULL;
    AUTO_FREE char *pattern = mem_printf("%s %s *", program, subcommand ? subcommand : "");
    static const char *const writing[] = {"-O", "--open-files-in-pager", "--output",
                                          "--ext-diff", NULL};

    if (subcommand && !elsewhere && words.at[at].plain && is_in(reading, 20, subcommand) &&
        !has_option(behind(words, 1), writing) && !may_hide_options(behind(words, 1), false)) {
        judge->verdict->reads_settings = true;
        return;
    }
    /* With other options, such as --exec-path=., the subcommand alone says too little. */
    if (!subcommand || !words.at[at].plain || *subcommand == '-' ||
        may_hide_options((struct words){words.at + 1, at - 1, false}, false))
        ask_whole(judge);
    else
        ask(judge, pattern);
}

/* `-` alone is one. A pattern may become several. */
static size_t operands_of(struct words words)
{
    size_t count = 0;

    for (size_t i = 0; i < words.count; i++)
        count += !words.at[i].plain                                   ? 2
                 : words.at[i].text[0] != '-' || !words.at[i].text[1] ? 1
                                                                      : 0;
    return count;
}

/* True: it reads, with any other words. */
static bool is_reader(const char *program, struct words words)
{
    if (IS_IN(readers, program))
        return true;
    for (size_t i = 0; i < COUNT_OF(careful); i++) {
        if (strcmp(careful[i].program, program) != 0)
            continue;
        if (has_option(behind(words, 1), careful[i].options) ||
            may_hide_options(behind(words, 1), careful[i].blind))
            return false;
        return (strcmp(program, "uniq") != 0 && strcmp(program, "xxd") != 0) ||
               operands_of(behind(words, 1)) <= 1;
    }
    return false;
}

static bool classify_known(struct judge *judge, const char *program, struct words words)
{
    static const char *const asking[] = {"-v", "-V", NULL};

    if (IS_IN(shells, program)) {
        classify_shell(judge, words);
        return true;
    }
    if (strcmp(program, "rm") == 0 && program == words.at->text) {
        classify_rm(judge, words);
        return true;
    }
    if (strcmp(program, "eval") == 0) {
        classify_eval(judge, words);
        return true;
    }
    if (strcmp(program, "command") == 0 && words.count > 1 &&
        is_in(asking, 2, words.at[1].text))
        return true;
    for (size_t i = 0; i < COUNT_OF(wrappers); i++) {
        if (strcmp(wrappers[i].program, program) == 0) {
            classify_wrapper(judge, words, wrappers[i].class, wrappers[i].operand);
            return true;
        }
    }
    for (size_t i = 0; i < COUNT_OF(with_subcommands); i++) {
        if (strcmp(with_subcommands[i].program, program) == 0) {
            classify_subcommand(judge, words, with_subcommands[i].reading);
            return true;
        }
    }
    return is_reader(program, words);
}

/* A name that may begin a pattern. */
static bool names_a_program(const char *head)
{
    static const char usual[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_./+-@,:~[%";

    return *head && *head != '-' && !head[strspn(head, usual)];
}

static void classify_words(struct judge *judge, struct words words)
{
    const char *head = words.at->text;

    if (is_forbidden(head)) {
        deny(judge, head);
    } else if ((!words.at->plain && strcmp(head, "[") != 0) || !names_a_program(head)) {
        ask_whole(judge);
    } else if (!classify_known(judge, program_of(head), words)) {
        AUTO_FREE char *pattern = mem_printf("%s *", head);

        ask(judge, pattern);
    }
}

/* ---- Commands ---- */

static void classify_redirect(struct judge *judge, const struct shell_redirect *redirect,
                              const char *pattern)
{
    const char *target = redirect->target.text;

    if (redirect->kind == SHELL_READS &&
        (strncmp(target, "/dev/tcp/", 9) == 0 || strncmp(target, "/dev/udp/", 9) == 0))
        ask_whole(judge);
    if (redirect->kind != SHELL_WRITES)
        return;
    if (redirect->target.plain &&
        (IS_IN(devices, target) || (strncmp(target, "/dev/fd/", 8) == 0 &&
                                    !target[8 + strspn(target + 8, "0123456789")])))
        return;
    if (strncmp(target, "/dev/", 5) == 0 || strcmp(target, "/dev") == 0)
        deny(judge, target);
    else if (pattern)
        ask(judge, pattern);
    else
        ask_whole(judge);
}

static void classify_command(struct judge *judge, const struct shell_command *command)
{
    struct words words = {NULL, command->count - command->assignments, command->piped};
    AUTO_FREE char *pattern = NULL;

    if (words.count) /* a line may be a redirection alone, without words */
        words.at = command->words + command->assignments;
    /* `for` only names values; its body is looked at like all else. The names of other programs' variables are
     * capitals. */
    if (words.count && !words.at->quoted && strcmp(words.at->text, "for") == 0) {
        if ((words.count > 1 && strpbrk(words.at[1].text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ")) ||
            (words.count > 2 && strcmp(words.at[2].text, "in") != 0)) /* for x do rm a; done */
            ask_whole(judge);
        words.count = 0;
    } else if (words.count && words.at->plain) {
        pattern = mem_printf("%s *", words.at->text);
    }
    if (words.count)
        classify_words(judge, words);
    /* A variable may say which program a name means. */
    if (command->assignments)
        ask_whole(judge);
    for (size_t i = 0; i < command->redirect_count; i++)
        classify_redirect(judge, &command->redirects[i], pattern);
}

static void classify_line(struct judge *judge, const char *text)
{
    struct shell_line line;

    shell_line_parse(text, &line);
    for (size_t i = 0; i < line.count; i++)
        classify_command(judge, &line.commands[i]);
    if (!line.understood || !line.count)
        ask_whole(judge);
    shell_line_clear(&line);
}

/* Begins as no other pattern does: else `rm *` would cover all lines that begin with rm. A star at its end would cover
 * other lines. */
char *bash_line_pattern(const char *line)
{
    size_t length = strlen(line);
    uint8_t digest[SHA256_DIGEST_SIZE];
    AUTO_BUF text = {0};

    if (length <= PATTERN_LIMIT && length && line[length - 1] != '*')
        return mem_printf("= %s", line);
    sha256_bytes(line, length, digest);
    buf_add_text(&text, "= sha256 ");
    for (size_t i = 0; i < sizeof(digest); i++)
        buf_addf(&text, "%02x", digest[i]);
    return buf_take(&text);
}

void bash_classify(const char *line, struct bash_verdict *ret_verdict)
{
    struct bash_verdict verdict = {.class = BASH_ALLOW};
    struct judge judge = {.verdict = &verdict};

    classify_line(&judge, line);
    if (judge.whole) {
        for (size_t i = 0; verdict.patterns[i]; i++) {
            free(verdict.patterns[i]);
            verdict.patterns[i] = NULL;
        }
        verdict.patterns[0] = bash_line_pattern(line);
    }
    *ret_verdict = verdict;
}

void bash_verdict_clear(struct bash_verdict *verdict)
{
    for (size_t i = 0; verdict->patterns[i]; i++)
        free(verdict->patterns[i]);
    free(verdict->head);
    *verdict = (struct bash_verdict){0};
}
