#ifndef RUNNEL_HANDLERS_SUPPORT_SHELL_LINE_H
#define RUNNEL_HANDLERS_SUPPORT_SHELL_LINE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * shell_line.h -- the simple commands of a line for bash, wherever they stand in it.
 *
 *     ls | sort > a; for f in *; do echo $(id); done
 *
 * has the commands `ls`, `sort`, `for`, `id`, `echo`. Lists, pipes, subshells, groups, loops, command and process
 * substitutions, here-documents and their substitutions are taken apart; what remains are words and redirections.
 *
 * It is for people and for policies: what a line may do. It does not confine anything, a box does. What is not
 * understood is read as good as it can be and noted: a line with functions, arithmetic, arrays, `case` or `[[` is
 * one of these.
 *
 * Pure functions: any thread.
 */

#define SHELL_COMMANDS_LIMIT ((size_t)500) /* of a line; what follows is not understood */
#define SHELL_DEPTH_LIMIT    32            /* of nested substitutions and subshells */

struct shell_word {
    char *text; /* owned; without quotes; expansions as they were written */
    bool plain; /* the text is what the command gets: no expansion, no pattern */
    bool quoted;
};

enum shell_redirect_kind {
    SHELL_READS,      /* from a file, a here-document or a here-string */
    SHELL_WRITES,     /* to a file */
    SHELL_DUPLICATES, /* a descriptor, or closes it */
};

struct shell_redirect {
    enum shell_redirect_kind kind;
    struct shell_word target;
};

struct shell_command {
    struct shell_word *words; /* owned; assignments first */
    size_t count;
    size_t assignments;
    struct shell_redirect *redirects; /* owned */
    size_t redirect_count;
    bool piped; /* it reads the output of another command */
};

struct shell_line {
    struct shell_command *commands; /* owned; inner ones before those they are in */
    size_t count;
    bool understood;
};

/* Always succeeds. shell_line_clear() releases it. */
void shell_line_parse(const char *text, struct shell_line *ret_line);
void shell_line_clear(struct shell_line *line);

#endif
