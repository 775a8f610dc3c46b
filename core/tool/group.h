#ifndef RUNNEL_CORE_TOOL_GROUP_H
#define RUNNEL_CORE_TOOL_GROUP_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/domain/run_settings.h"

/*
 * group.h -- what the tools of one group have in common: a default policy, and text for the model.
 *
 * A group exists as soon as a handler names it. It needs a descriptor only if its tools may run without an
 * approval, or if the model needs text about it: a prompt about its tools, and skill rules, which are
 * instructions for one kind of task. handlers/handlers.h lists the descriptors, and rules.h makes the text.
 * A request that enables no tool of a group does not contain the group's text.
 *
 * A descriptor is a constant: any thread.
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
    bool pinned; /* always part of the text; other rules are listed and read on demand */
};

/* One line about one tool of a group. */
struct group_line {
    const char *tool; /* NULL ends a list of them */
    struct wording text;
};

/* How the entries of a run are shown to the model: as a table of names and descriptions. */
struct group_index {
    struct wording title;
    const char *head;     /* of the first column, in all languages */
    const char *tool;     /* which tool reads one of them, by its argument `name` */
    const char *variable; /* the variable by which it is read too, up to the name */
};

struct tool_group {
    const char *name;

    /* The entries that a run has for its tools, such as skills; a list that is not empty turns the group
     * on. Borrowed. NULL: runs have no entries. */
    const json_t *(*entries)(const struct run_settings *settings);

    /* Its tools run without an approval, except those whose own policy asks. The default is the safe side:
     * every call needs one. */
    bool auto_execute;

    /* About its tools; when it and `lines` are empty, the group and its rules are left out */
    struct wording prompt;

    const struct group_line *lines; /* behind the prompt, for the enabled tools; NULL: none */

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

/* The text in this language, else in English; never NULL. */
const char *wording_in(const struct wording *wording, enum language language);

#endif
