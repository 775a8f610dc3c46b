#ifndef RUNNEL_CORE_TOOL_GROUP_H
#define RUNNEL_CORE_TOOL_GROUP_H

#include <stdbool.h>
#include <stddef.h>

/*
 * group.h -- what tools of one group have in common: words for the model.
 *
 * A group is there as soon as a handler names it. It needs a descriptor only if its tools may run
 * without a question, or if it has something to say: a prompt about its tools, and skill rules, which
 * are instructions for one kind of task. handlers/handlers.c lists the descriptors; rules.h makes the
 * text of them.
 *
 * A request that enables no tool of a group is told nothing of it.
 */

enum tool_language {
    TOOL_ENGLISH,
    TOOL_CHINESE,
};

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

struct tool_group {
    const char *name;

    /* A member of a run's `runnel` object that turns it on by not being empty; NULL: none. */
    const char *enabled_by;

    /* Its tools run without a question, but for those whose own policy asks. Whoever forgets to say
     * so has every call of them approved. */
    bool auto_execute;

    struct wording
        prompt; /* about its tools; blank: nothing is told of the group, nor its rules */

    /* Instead of `prompt`, where it depends on which of the group's tools are enabled (ends with
     * NULL): the caller frees. A pure function: equal input, equal bytes. */
    char *(*make_prompt)(const char *const *tools, enum tool_language language);

    const struct skill_rule *rules; /* ends with one that has no name; NULL: none */
};

const char *wording_in(const struct wording *wording, enum tool_language language);

#endif
