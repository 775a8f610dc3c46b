#ifndef RUNNEL_CORE_TOOL_RULES_H
#define RUNNEL_CORE_TOOL_RULES_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/tool/group.h"

/*
 * rules.h -- what the model is told about the tools of the server, and the rules it can look up.
 *
 * The text goes behind the instructions of a request. It depends on nothing but the groups, their
 * enabled tools and the language, so that requests of one configuration begin with the same bytes
 * and an upstream's prompt cache hits.
 *
 * What it says of variables, and the list of rules that are read on demand, is there only for a model
 * that is offered the reader of variables (group.h).
 *
 * Skill rules are variables by name, "Rule/<group>/<rule>", that nobody can write: they stand in
 * the descriptors of groups and here (scope "Agent"). They are there whether or not their group is
 * enabled.
 */

/* One enabled group. */
struct rules_group {
    const char *name;
    const char *const *tools; /* the enabled ones, ends with NULL */
    const json_t *entries;    /* of the group, for its index; NULL: none */
};

/* "" without groups. The caller frees. */
char *tool_rules_text(const struct rules_group *groups, size_t count, enum language language);

/* A server of the request's, and what whoever offers it says it is for. */
struct rules_server {
    const char *label;
    char *description;
};

/* "" without servers. Stands behind the text above. The caller frees. */
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
