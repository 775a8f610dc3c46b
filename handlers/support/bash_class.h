#ifndef RUNNEL_HANDLERS_SUPPORT_BASH_CLASS_H
#define RUNNEL_HANDLERS_SUPPORT_BASH_CLASS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * bash_class.h -- whether a person is asked before a line for bash runs.
 *
 *     ls -la | sort            allow    it only reads
 *     ls; rm -r build          ask      patterns: "rm *"
 *     echo $(sudo id)          deny     sudo
 *
 * Every simple command of the line is classified, and the worst one counts. What is not understood asks. This is
 * convenience for people, no protection: the box is.
 *
 * A pattern is what "always" will cover: the name of the program and `*`, for git and its like with the subcommand. A
 * command whose name is not known before it runs, or a line that is not understood, is covered by the same line alone:
 * its pattern is `= ` and the line.
 *
 * Pure functions: any thread.
 */

/* As many as one call may ask for; with more, the line itself is the pattern. */
#define BASH_PATTERNS_LIMIT ((size_t)16)

enum bash_class { BASH_ALLOW, BASH_ASK, BASH_DENY };

struct bash_verdict {
    enum bash_class class;
    char *patterns[BASH_PATTERNS_LIMIT + 1]; /* owned; for BASH_ASK; NULL ends them */
    char *head;                              /* owned; for BASH_DENY: the forbidden program */
    /* For BASH_ALLOW: a program of it reads settings from the workspace that may name other programs, such as the
     * filters in .git/config. What those do must not last: the line runs where it cannot write */
    bool reads_settings;
};

void bash_classify(const char *line, struct bash_verdict *ret_verdict);
void bash_verdict_clear(struct bash_verdict *verdict);

/* The pattern that covers this line alone. The caller frees. */
char *bash_line_pattern(const char *line);

#endif
