#ifndef RUNNEL_CORE_RUN_CATALOG_UNAVAILABLE_H
#define RUNNEL_CORE_RUN_CATALOG_UNAVAILABLE_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/domain/run_settings.h"

/*
 * unavailable.h -- entries of `tools` that this server cannot execute, and what becomes of their requests.
 *
 * OpenAI executes some types of tools that this server does not. Applications list them in every request,
 * whether the model needs them or not. So by default such an entry is left out, and the request goes on
 * without it. The entry stays in `tools` as it was sent, and runnel.unavailable_tools says why it did not
 * count. With UNAVAILABLE_REJECT the request is refused instead.
 *
 * A request whose tool_choice needs such a tool is refused in both cases (tool_choice.h): its model could not do
 * what the client demands.
 *
 * The setting is set at start, before other threads exist. All other functions may be called on any thread.
 */

enum unavailable_tools {
    UNAVAILABLE_SKIP,
    UNAVAILABLE_REJECT,
};

void unavailable_tools_set(enum unavailable_tools setting);

/* Why nobody executes the tool of an entry: the end of a sentence, a constant. NULL: this server does, or the
 * upstream of the settings' model (passed_tools.h). `settings` may be NULL: then no model is known. The
 * entry's form was checked before. */
const char *unavailable_reason(const struct run_settings *settings, const json_t *entry);

/* With UNAVAILABLE_REJECT: refuses the first such entry of a list of tools, which may be NULL. */
enum err_code unavailable_tools_check(const struct run_settings *settings, const json_t *tools,
                                      struct err *err) MUST_CHECK;

/* Always fails: "Unsupported value: the tool 'x' is not available on this server: <reason>." `index` is the
 * entry's place in `tools`. */
enum err_code unavailable_tool_refuse(const struct run_settings *settings, const json_t *entry,
                                      size_t index, struct err *err) MUST_CHECK;

/* Notes in the settings of an accepted request which of its tools it goes on without, [{"type", "reason"}] in
 * their order. The operator is warned, unless that was done in the minute before `now` (clock_mono_ns()). */
void unavailable_tools_note(struct run_settings *settings, uint64_t now);

#endif
