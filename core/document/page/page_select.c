/*
 * page_select.c -- a selector is a list of steps. "ul > li.a, p" has three: `ul`; `li.a`, right in it; and `p`.
 *
 * Of each element two sets of steps are known, as bits: those that end with it (`here`), and those that end with it or
 * with an element around it (`above`). A step ends with an element if its tests hold and the step before it ends with
 * the parent (`here`), or with any element around it (`above`).
 */

#include "core/document/page/page_select.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/mem.h"

enum test_kind {
    TEST_TAG,
    TEST_HAS,
    TEST_EQUAL,
    TEST_WORD,
    TEST_DASH,
    TEST_BEGIN,
    TEST_END,
    TEST_WITHIN,
    TEST_NTH
};

struct test {
    enum test_kind kind;
    char *name;  /* of a tag or an attribute */
    char *value; /* or NULL */
    unsigned nth;
};

struct step {
    size_t first, count; /* of its tests */
    bool begins;         /* a selector: no step before it */
    bool is_child;       /* of the step before it, and not only somewhere in it */
    bool is_last;        /* its elements are meant */
};

struct page_selector {
    struct step steps[PAGE_STEPS_LIMIT];
    size_t step_count;
    struct test tests[PAGE_TESTS_LIMIT];
    size_t test_count;
};

void page_selector_free(struct page_selector *selector)
{
    if (!selector)
        return;
    for (size_t i = 0; i < selector->test_count; i++) {
        free(selector->tests[i].name);
        free(selector->tests[i].value);
    }
    free(selector);
}

/* ---- Reading ---- */

struct reading {
    struct page_selector *selector;
    const char *at;
    bool wrong;
};

static void skip_blanks(struct reading *reading)
{
    reading->at += strspn(reading->at, " \t\r\n\f");
}

static bool take_char(struct reading *reading, char wanted)
{
    if (*reading->at != wanted)
        return false;
    reading->at++;
    return true;
}

/* A name of CSS, as far as pages use them: no escapes. */
static char *take_name(struct reading *reading)
{
    const char *begin = reading->at;

    while (isalnum((unsigned char)*reading->at) || *reading->at & 0x80 || *reading->at == '-' ||
           *reading->at == '_')
        reading->at++;
    reading->wrong |= reading->at == begin;
    return mem_strndup(begin, (size_t)(reading->at - begin));
}

static void add_test(struct reading *reading, struct test test)
{
    struct page_selector *selector = reading->selector;

    if (selector->test_count == PAGE_TESTS_LIMIT) {
        free(test.name);
        free(test.value);
        reading->wrong = true;
        return;
    }
    selector->tests[selector->test_count++] = test;
    selector->steps[selector->step_count].count++;
}

static char *take_value(struct reading *reading)
{
    char quote = *reading->at;
    const char *begin = reading->at + 1;
    size_t length;

    if (quote != '"' && quote != '\'')
        return take_name(reading);
    length = strcspn(begin, quote == '"' ? "\"" : "'");
    reading->at = begin + length;
    reading->wrong |= !take_char(reading, quote);
    return mem_strndup(begin, length);
}

/* Behind "[". */
static void read_attribute(struct reading *reading)
{
    static const char signs[] = "~|^$*";
    static const enum test_kind kinds[] = {TEST_WORD, TEST_DASH, TEST_BEGIN, TEST_END,
                                           TEST_WITHIN};
    struct test test = {.kind = TEST_HAS};
    const char *sign;

    skip_blanks(reading);
    test.name = take_name(reading);
    skip_blanks(reading);
    sign = *reading->at ? strchr(signs, *reading->at) : NULL;
    reading->at += sign != NULL;
    if (take_char(reading, '=')) {
        test.kind = sign ? kinds[sign - signs] : TEST_EQUAL;
        skip_blanks(reading);
        test.value = take_value(reading);
        skip_blanks(reading);
    } else {
        reading->wrong |= sign != NULL;
    }
    reading->wrong |= !take_char(reading, ']');
    add_test(reading, test);
}

/* Behind ":". */
static void read_nth(struct reading *reading)
{
    static const char name[] = "nth-child(";
    char *end;
    unsigned long nth;

    if (strncmp(reading->at, name, strlen(name)) != 0) {
        reading->wrong = true;
        return;
    }
    reading->at += strlen(name);
    skip_blanks(reading);
    reading->wrong |= !isdigit((unsigned char)*reading->at);
    nth = strtoul(reading->at, &end, 10);
    reading->at = end;
    skip_blanks(reading);
    reading->wrong |= !take_char(reading, ')') || nth < 1 || nth > 1000000;
    add_test(reading, (struct test){.kind = TEST_NTH, .nth = (unsigned)nth});
}

static void read_test(struct reading *reading)
{
    if (take_char(reading, '#'))
        add_test(reading, (struct test){TEST_EQUAL, mem_strdup("id"), take_name(reading), 0});
    else if (take_char(reading, '.'))
        add_test(reading, (struct test){TEST_WORD, mem_strdup("class"), take_name(reading), 0});
    else if (take_char(reading, '['))
        read_attribute(reading);
    else if (take_char(reading, ':'))
        read_nth(reading);
    else
        add_test(reading, (struct test){.kind = TEST_TAG, .name = take_name(reading)});
}

/* One element: "li.a". */
static void read_step(struct reading *reading, bool begins, bool is_child)
{
    struct page_selector *selector = reading->selector;

    if (selector->step_count == PAGE_STEPS_LIMIT) {
        reading->wrong = true;
        return;
    }
    selector->steps[selector->step_count] = (struct step){
        .first = selector->test_count, .begins = begins, .is_child = is_child, .is_last = true};
    if (!begins)
        selector->steps[selector->step_count - 1].is_last = false;
    if (!take_char(reading, '*'))
        read_test(reading);
    while (!reading->wrong && *reading->at && strchr("#.[:", *reading->at))
        read_test(reading);
    selector->step_count++;
}

struct page_selector *page_selector_parse(const char *text)
{
    struct reading reading = {.selector = mem_new(struct page_selector), .at = text};
    bool begins = true, is_child = false;

    if (strlen(text) > PAGE_SELECTOR_LIMIT)
        reading.wrong = true;
    while (!reading.wrong) {
        skip_blanks(&reading);
        read_step(&reading, begins, is_child);
        skip_blanks(&reading);
        if (reading.wrong || !*reading.at)
            break;
        begins = take_char(&reading, ',');
        is_child = !begins && take_char(&reading, '>');
    }
    if (reading.wrong) {
        page_selector_free(reading.selector);
        return NULL;
    }
    return reading.selector;
}

/* ---- Matching ---- */

static bool has_word(const char *words, const char *word)
{
    size_t length = strlen(word);

    while (*words) {
        size_t size = strcspn(words, " \t\r\n\f");

        if (size == length && memcmp(words, word, length) == 0)
            return length > 0;
        words += size;
        words += strspn(words, " \t\r\n\f");
    }
    return false;
}

static bool holds_value(const struct test *test, const char *value)
{
    size_t length = strlen(value);
    size_t wanted = test->value ? strlen(test->value) : 0;

    switch (test->kind) {
    case TEST_HAS: return true;
    case TEST_EQUAL: return strcmp(value, test->value) == 0;
    case TEST_WORD: return has_word(value, test->value);
    case TEST_DASH:
        return strncmp(value, test->value, wanted) == 0 &&
               (length == wanted || value[wanted] == '-');
    case TEST_BEGIN: return wanted && strncmp(value, test->value, wanted) == 0;
    case TEST_END:
        return wanted && length >= wanted && strcmp(value + length - wanted, test->value) == 0;
    default: return wanted && strstr(value, test->value);
    }
}

static bool holds(const struct test *test, const struct html_node *node, unsigned nth)
{
    const char *value;

    if (test->kind == TEST_NTH)
        return nth == test->nth;
    if (test->kind == TEST_TAG)
        return strcasecmp(gumbo_normalized_tagname(html_tag(node)), test->name) == 0;
    value = html_attribute(node, test->name);
    return value && holds_value(test, value);
}

static bool holds_all(const struct page_selector *selector, const struct step *step,
                      const struct html_node *node, unsigned nth)
{
    for (size_t i = step->first; i < step->first + step->count; i++) {
        if (!holds(&selector->tests[i], node, nth))
            return false;
    }
    return true;
}

struct reached {
    uint32_t here, above;
    unsigned children; /* elements in it so far */
};

/* True: it is meant. */
static bool reach(const struct page_selector *selector, const struct html_node *node,
                  const struct reached *parent, unsigned nth, struct reached *ret_reached)
{
    bool meant = false;

    *ret_reached = (struct reached){.above = parent->above};
    for (size_t i = 0; i < selector->step_count; i++) {
        const struct step *step = &selector->steps[i];
        uint32_t before = step->begins ? 0 : UINT32_C(1) << (i - 1);

        if (before && !((step->is_child ? parent->here : parent->above) & before))
            continue;
        if (!holds_all(selector, step, node, nth))
            continue;
        ret_reached->here |= UINT32_C(1) << i;
        meant |= step->is_last;
    }
    ret_reached->above |= ret_reached->here;
    return meant;
}

void page_select(const struct page_selector *selector, const struct html_tree *tree,
                 bool (*take)(void *arg, size_t node), void *arg)
{
    struct reached *reached = mem_new_array(struct reached, tree->count);
    bool wanted = true;

    for (size_t i = 1; i < tree->count && wanted; i++) {
        const struct html_node *node = &tree->nodes[i];
        struct reached *parent = &reached[node->parent];

        if (!html_text(node) && reach(selector, node, parent, ++parent->children, &reached[i]))
            wanted = take(arg, i);
    }
    free(reached);
}
