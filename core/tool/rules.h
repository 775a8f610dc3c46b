#ifndef RUNNEL_CORE_TOOL_RULES_H
#define RUNNEL_CORE_TOOL_RULES_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/tool/group.h"

/*
 * rules.h -- the text about tools that is sent to the model, and the rules that the model can look up.
 *
 * The text goes behind the instructions of a request. It depends only on the groups, their enabled tools
 * and the language. So requests of one configuration begin with the same bytes, and an upstream's prompt
 * cache hits.
 *
 * The parts about variables and about rules on demand are included only for a model that is offered the
 * reader of variables (group.h).
 *
 * Skill rules are read like variables, by the name "Rule/<group>/<rule>", and cannot be written. They are
 * constants in the descriptors of groups and in rules.c (scope "Agent"). They can be read whether or not
 * their group is enabled.
 *
 * Any thread, once the registry is filled.
 */

/* One enabled group. */
struct rules_group {
    const char *name;
    const char *const *tools; /* names of the enabled tools, ends with NULL */
    const json_t *entries;    /* what the run has for the group's index; NULL: nothing */
};

/* The text for these groups, in this order; "" without groups. The caller frees. */
char *tool_rules_text(const struct rules_group *groups, size_t count, enum language language);

/* A remote server that the request names, and the description that the request or the operator gives it. */
struct rules_server {
    const char *label;
    char *description;
};

/* A list of the servers, to stand behind the text above; "" without servers. The caller frees. */
char *tool_rules_servers_text(const struct rules_server *servers, size_t count,
                              enum language language);

/* One skill rule and where it belongs. */
struct rule_ref {
    const char *group;
    const struct skill_rule *rule;
};

/* The n-th of all rules there are; false past the end. */
bool tool_rule_at(size_t n, struct rule_ref *ret_ref);
/* By the name of its variable; false when there is no such rule. */
bool tool_rule_find(const char *variable, struct rule_ref *ret_ref);
/* The variable's name. The caller frees. */
char *tool_rule_variable(const struct rule_ref *ref);
/* The variable's description: "Skill rule for <group>: <description>". The caller frees. */
char *tool_rule_about(const struct rule_ref *ref, enum language language);

#endif
