/*
 * Which rule of a script answers a request: the first that fits, from the top.
 *
 * Not the most specific one: the writer of a script sees at once which of two rules wins, and a rule
 * for everything else stands at the end. All keys of a `match` must fit, and a missing key fits
 * everything, so an empty `match` is that last rule.
 *
 * `skip` and `times` make a script change with time: 429 first and an answer on the retry. They count
 * the requests that fit the rule, not all requests, so other traffic does not disturb a test. The
 * counters are the only state of a script. The server holds its lock around script_pick().
 */

#include "server/fakemodel/rules.h"

#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"

static bool word_fits(const struct script_words *words, enum script_test test, const char *text)
{
    for (size_t i = 0; i < words->count; i++) {
        if (test == TEST_EQUALS ? !strcmp(text, words->items[i])
                                : strcasestr(text, words->items[i]) != NULL)
            return true;
    }
    return false;
}

static bool text_fits(const struct script_text *wanted, const char *text)
{
    return wanted->test == TEST_NONE || word_fits(&wanted->words, wanted->test, text);
}

static bool pattern_fits(const struct script_words *patterns, const char *name)
{
    for (size_t i = 0; i < patterns->count; i++) {
        size_t length = strlen(patterns->items[i]);

        if (length && patterns->items[i][length - 1] == '*') {
            if (!strncmp(name, patterns->items[i], length - 1))
                return true;
        } else if (!strcmp(name, patterns->items[i])) {
            return true;
        }
    }
    return !patterns->items;
}

/* A rule for everything else means the words of a model, not embeddings or pictures. */
static bool path_fits(const struct script_words *paths, const struct prompt *prompt)
{
    if (!paths->items)
        return prompt->dialect != PROMPT_OTHER;
    return prompt->path && pattern_fits(paths, prompt->path);
}

static bool choice_fits(const struct script_words *choices, const char *choice)
{
    return !choices->items || word_fits(choices, TEST_EQUALS, choice);
}

static bool any_tool_fits(const struct script_words *tools, const struct prompt *prompt)
{
    for (size_t i = 0; i < tools->count; i++)
        if (prompt_tool(prompt, tools->items[i]))
            return true;
    return !tools->items;
}

static bool answer_fits(enum script_answered wanted, bool is)
{
    return wanted == ANY || (wanted == YES) == is;
}

static bool results_fit(const struct script_match *match, size_t results)
{
    return match->max_results < 0 ||
           (results >= (size_t)match->min_results && results <= (size_t)match->max_results);
}

static bool headers_fit(const struct script_match *match, const json_t *headers)
{
    for (size_t i = 0; i < match->header_count; i++) {
        const char *value = json_get_string(headers, match->headers[i].name, NULL);

        if (!value || !text_fits(&match->headers[i].text, value))
            return false;
    }
    return true;
}

static bool tool_output_fits(const struct script_text *wanted, const struct prompt *prompt)
{
    AUTO_FREE char *text = prompt_content_text(prompt->tool_output);

    return wanted->test == TEST_NONE || (prompt->tool_output && text_fits(wanted, text));
}

static bool rule_fits(const struct script_match *match, const struct prompt *prompt)
{
    return text_fits(&match->user, prompt->user) && text_fits(&match->system, prompt->system) &&
           tool_output_fits(&match->tool_output, prompt) &&
           pattern_fits(&match->models, prompt->model) && path_fits(&match->paths, prompt) &&
           any_tool_fits(&match->tools, prompt) &&
           choice_fits(&match->tool_choice, prompt->tool_choice) &&
           choice_fits(&match->response_format, prompt->format) &&
           answer_fits(match->offers_tools, prompt->tool != NULL) &&
           answer_fits(match->stream, prompt->stream) &&
           results_fit(match, prompt->tool_results) && headers_fit(match, prompt->headers);
}

/* Counts a request that fits, and says whether the rule answers it: not the first `skip` ones, and then
 * `times` ones. A rule that is used up counts no further. */
static bool rule_turn(struct script_rule *rule)
{
    if (rule->times && rule->fitted - rule->skip >= rule->times)
        return false;
    return ++rule->fitted > rule->skip;
}

struct script_rule *script_pick(struct script *script, const struct prompt *prompt)
{
    for (size_t i = 0; i < script->rule_count; i++) {
        struct script_rule *rule = &script->rules[i];

        if (rule_fits(&rule->match, prompt) && rule_turn(rule))
            return rule;
    }
    return NULL;
}
