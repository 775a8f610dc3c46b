#ifndef RUNNEL_CORE_TOOL_GROUP_H
#define RUNNEL_CORE_TOOL_GROUP_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/domain/run_settings.h"

/*
 * group.h -- what tools of one group have in common: words for the model.
 *
 * A group is there as soon as a handler names it. It needs a descriptor only if its tools may run
 * without a question, or if it has something to say: a prompt about its tools, and skill rules, which
 * are instructions for one kind of task. handlers/handlers.h lists the descriptors; rules.h makes the
 * text of them.
 *
 * A request that enables no tool of a group is told nothing of it.
 */

/* One text in the languages there are; English where a language is missing. */
struct wording {
    const char *en;
    const char *zh;
};

/* A rule for one kind of task, readable as the variable "Rule/<group>/<name>". */
struct skill_rule {
    const char *name; /* letters, digits, _ and - */
    struct wording description;
    struct wording when; /* to read it; empty: as needed */
    struct wording prompt;
    bool pinned; /* always told whole; the others are listed, and read on demand */
};

/* What is said of one tool of a group, in a line of its own. */
struct group_line {
    const char *tool; /* NULL ends a list of them */
    struct wording text;
};

/* What a run brings for the tools of a group, as a table of names and descriptions. */
struct group_index {
    struct wording title;
    const char *head;     /* of the first column, in all languages */
    const char *tool;     /* which tool reads one of them, by its argument `name` */
    const char *variable; /* and as which variable it is read, up to the name */
};

struct tool_group {
    const char *name;

    /* What a run brings for its tools; a list with something in it turns the group on. Borrowed. NULL:
     * runs bring nothing. */
    const json_t *(*entries)(const struct run_settings *settings);

    /* Its tools run without a question, but for those whose own policy asks. Whoever forgets to say
     * so has every call of them approved. */
    bool auto_execute;

    struct wording
        prompt; /* about its tools; blank, and without lines: nothing is said of the group, nor its rules */

    const struct group_line
        *lines; /* behind it, those of the tools that are enabled; NULL: none */

    const struct skill_rule *rules;  /* ends with one that has no name; NULL: none */
    const struct group_index *index; /* of its entries; NULL: none */

    /* The group whose tools read and write variables. With the reader the model can look up skill
     * rules, so `about_variables` stands behind the basic rules wherever the reader is offered. NULL
     * for all other groups. */
    const char *reader;
    struct wording about_variables;

    /* Names of its tools that are offered along with any tool that the server executes; ends with
     * NULL. NULL: none. */
    const char *const *along;
};

const char *wording_in(const struct wording *wording, enum language language);

#endif
