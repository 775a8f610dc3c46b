#ifndef RUNNEL_CORE_TOOL_SCHEMA_H
#define RUNNEL_CORE_TOOL_SCHEMA_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/compiler.h"

/*
 * schema.h -- JSON Schema: whether a value fits, and what it becomes by defaults.
 *
 * Drafts 2020-12 and 7, told apart by "$schema"; without it 2020-12, which knows the words of 7,
 * too. Checked are
 *
 *   any value   type enum const allOf anyOf oneOf not if/then/else $ref, true and false
 *   numbers     minimum maximum exclusiveMinimum exclusiveMaximum multipleOf
 *   text        minLength maxLength pattern
 *   arrays      items prefixItems additionalItems contains minContains maxContains minItems
 *               maxItems uniqueItems
 *   objects     properties patternProperties additionalProperties propertyNames required
 *               minProperties maxProperties dependencies dependentRequired dependentSchemas
 *
 * $ref points into the same document, "#" or "#/a/pointer"; what it does not find does not fit.
 * Everything else is an annotation and says nothing: format, title, description, $anchor, $id,
 * $dynamicRef, unevaluatedItems, unevaluatedProperties, contentEncoding ...
 *
 * Schemas come from strangers: there is a limit for how deep they go and for how much is looked
 * at; beyond, a value does not fit.
 *
 * Borrows both; any thread, one at a time for each value.
 */

#define SCHEMA_DEPTH_LIMIT 128     /* schemas within schemas, $ref included */
#define SCHEMA_STEP_LIMIT  1000000 /* schemas applied to values */
#define SCHEMA_ISSUE_LIMIT 20      /* that are told */

/* Processor time that is left for schemas of strangers, where somebody else would have to wait for
 * them: a loop. What it does not suffice for does not fit. */
struct schema_budget {
    uint64_t left_ns;
};

/* Fills in the defaults of properties that are missing, and drops the properties that an object's
 * schema does not know: those that "properties" does not list, unless the schema says something
 * about others (additionalProperties, patternProperties, or a schema beside it). False when the
 * budget, which may be NULL, was used up over it. */
bool schema_complete(const json_t *schema, json_t *value,
                     struct schema_budget *budget) MUST_CHECK;

/* True if it fits. Otherwise adds a line "- path: what is wrong" for each issue, the path's
 * members joined by dots, and without a path for the value itself. ret_issues may be NULL, and so may the budget. */
bool schema_fits(const json_t *schema, const json_t *value, struct schema_budget *budget,
                 struct buf *ret_issues) MUST_CHECK;

#endif
