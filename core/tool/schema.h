#ifndef RUNNEL_CORE_TOOL_SCHEMA_H
#define RUNNEL_CORE_TOOL_SCHEMA_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/compiler.h"

/*
 * schema.h -- JSON Schema: checks a value, and fills in defaults.
 *
 * Drafts 2020-12 and 7; "$schema" says which. Without it, a schema is read as 2020-12, plus the keywords
 * of 7. Checked are
 *
 *   any value   type enum const allOf anyOf oneOf not if/then/else $ref, true and false
 *   numbers     minimum maximum exclusiveMinimum exclusiveMaximum multipleOf
 *   text        minLength maxLength pattern
 *   arrays      items prefixItems additionalItems contains minContains maxContains minItems
 *               maxItems uniqueItems
 *   objects     properties patternProperties additionalProperties propertyNames required
 *               minProperties maxProperties dependencies dependentRequired dependentSchemas
 *
 * $ref points into the same document, "#" or "#/a/pointer"; a value does not fit a $ref without a target.
 * All other keywords are annotations without effect: format, title, description, $anchor, $id, $dynamicRef,
 * unevaluatedItems, unevaluatedProperties, contentEncoding ...
 *
 * Schemas come from clients and remote servers. So there are limits for their depth and for the work of
 * one check. A value that reaches a limit does not fit.
 *
 * Schema and value are borrowed. Any thread, but only one at a time for the same tree.
 */

#define SCHEMA_DEPTH_LIMIT 128     /* schemas within schemas, $ref included */
#define SCHEMA_STEP_LIMIT  1000000 /* schemas applied to values */
#define SCHEMA_ISSUE_LIMIT 20      /* issues in the text */

/* Processor time that is left for checks on a loop, where every check delays all runs of the loop. A value
 * that needs more does not fit. */
struct schema_budget {
    uint64_t left_ns;
};

/* Fills in the defaults of missing properties, and drops unknown properties. A null counts as missing where the
 * property is not required and its schema does not take null. A property is unknown when "properties" does not list it
 * and no other keyword of the schema could allow it (additionalProperties, patternProperties, allOf ...). Changes
 * `value`. False when the budget is used up; `budget` may be NULL. */
bool schema_complete(const json_t *schema, json_t *value,
                     struct schema_budget *budget) MUST_CHECK;

/* True if the value fits. Otherwise adds a line "- path: what is wrong" for each issue. The path's members
 * are joined by dots; an issue of the whole value has no path. ret_issues and budget may be NULL. */
bool schema_fits(const json_t *schema, const json_t *value, struct schema_budget *budget,
                 struct buf *ret_issues) MUST_CHECK;

#endif
