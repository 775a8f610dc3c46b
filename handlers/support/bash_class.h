#ifndef RUNNEL_HANDLERS_SUPPORT_BASH_CLASS_H
#define RUNNEL_HANDLERS_SUPPORT_BASH_CLASS_H

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

#define BASH_LINE_LIMIT ((size_t)65536) /* bytes of a line */

/* As many as one call may ask for; with more, the line itself is the pattern. */
#define BASH_PATTERNS_LIMIT ((size_t)16)

enum bash_class { BASH_ALLOW, BASH_ASK, BASH_DENY };

struct bash_verdict {
    enum bash_class class;
    char *patterns[BASH_PATTERNS_LIMIT + 1]; /* owned; for BASH_ASK; NULL ends them */
    char *head;                              /* owned; for BASH_DENY: the forbidden program */
};

void bash_classify(const char *line, struct bash_verdict *ret_verdict);
void bash_verdict_clear(struct bash_verdict *verdict);

#endif
