#include "tests/unit/core/model/answer_story.h"

#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "tests/support/answer_pieces.h"
#include "tests/support/sanitized.h"
#include "tests/support/test.h"

/* --- noting events --- */

struct story {
    struct answer answer;
    const char *script;
    struct buf log;
    unsigned events;
    unsigned stop_at; /* the event that ends the turn; 0 for none */
};

static void note(struct story *story, const char *kind, const char *text, size_t length)
{
    buf_addf(&story->log, "%s(", kind);
    buf_add(&story->log, text, length);
    buf_add_text(&story->log, ") ");
    assert_false(story->answer.sink.stopped);
    if (++story->events == story->stop_at)
        answer_stop(&story->answer);
}

static void on_text(void *arg, const char *text, size_t length)
{
    note(arg, "text", text, length);
}

static void on_reasoning(void *arg, const char *text, size_t length)
{
    note(arg, "reasoning", text, length);
}

static void on_reasoning_member(void *arg, const char *member)
{
    note(arg, "as", member, strlen(member));
}

static void on_reasoning_detail(void *arg, const json_t *detail)
{
    AUTO_FREE char *text = json_text(detail);

    note(arg, "detail", text, strlen(text));
}

static void on_refusal(void *arg, const char *text, size_t length)
{
    note(arg, "refusal", text, length);
}

static void on_begin(void *arg, unsigned call, const char *id, const char *name)
{
    struct story *story = arg;
    AUTO_BUF line = {0};

    buf_addf(&line, "%u %s %s", call, strstr(story->script, id) ? id : "made", name);
    note(story, "begin", line.data, line.length);
}

static void on_arguments(void *arg, unsigned call, const char *text, size_t length)
{
    AUTO_BUF line = {0};

    buf_addf(&line, "%u ", call);
    buf_add(&line, text, length);
    note(arg, "args", line.data, line.length);
}

static void on_extra(void *arg, unsigned call, const json_t *extra)
{
    AUTO_FREE char *text = json_text(extra);
    AUTO_BUF line = {0};

    buf_addf(&line, "%u %s", call, text);
    note(arg, "extra", line.data, line.length);
}

static void on_end(void *arg, unsigned call)
{
    AUTO_BUF line = {0};

    buf_addf(&line, "%u", call);
    note(arg, "end", line.data, line.length);
}

static void on_summary(void *arg, const char *text, size_t length)
{
    note(arg, "summary", text, length);
}

static void on_annotation(void *arg, const json_t *annotation)
{
    AUTO_FREE char *text = json_text(annotation);

    note(arg, "annotation", text, strlen(text));
}

static void on_logprobs(void *arg, json_t *tokens)
{
    AUTO_FREE char *text = json_text(tokens);

    note(arg, "logprobs", text, strlen(text));
}

static void on_part_end(void *arg)
{
    note(arg, "part", "", 0);
}

static void on_item_end(void *arg, const struct model_item *item)
{
    AUTO_BUF line = {0};

    buf_add_text(&line, item->kind == MODEL_ITEM_MESSAGE ? "message" : "reasoning");
    if (item->encrypted_content)
        buf_addf(&line, " %s %s", item->id ? item->id : "-", item->encrypted_content);
    note(arg, "item", line.data, line.length);
}

static void on_hosted_begin(void *arg, const char *type)
{
    note(arg, "hosted", type, strlen(type));
}

static void on_hosted_stage(void *arg, const char *stage, const json_t *event)
{
    assert_non_null(event);
    note(arg, "stage", stage, strlen(stage));
}

static void on_hosted_end(void *arg, const json_t *item)
{
    const char *id = json_get_string(item, "id", "-");

    note(arg, "hosted_end", id, strlen(id));
}

static const struct model_hosted_events hosted_events = {
    .begin = on_hosted_begin, .stage = on_hosted_stage, .end = on_hosted_end};

static const struct model_events events = {
    .hosted = &hosted_events,
    .text = on_text,
    .reasoning = on_reasoning,
    .reasoning_member = on_reasoning_member,
    .reasoning_detail = on_reasoning_detail,
    .refusal = on_refusal,
    .summary = on_summary,
    .annotation = on_annotation,
    .logprobs = on_logprobs,
    .part_end = on_part_end,
    .item_end = on_item_end,
    .call_begin = on_begin,
    .call_arguments = on_arguments,
    .call_extra = on_extra,
    .call_end = on_end,
};

static void note_usage(struct story *story)
{
    const struct model_usage *usage = &story->answer.usage;

    if (usage->known)
        buf_addf(&story->log, " in %d cached %d out %d reasoning %d", (int)usage->input,
                 (int)usage->cached, (int)usage->output, (int)usage->reasoning);
}

static void note_done(struct story *story)
{
    static const char *const words[] = {"stop", "length", "tool_calls", "content_filter"};

    buf_addf(&story->log, "done(%s", words[answer_finish(&story->answer)]);
    note_usage(story);
    buf_add_text(&story->log, ")");
}

/* The message of an error is noted only when it comes from the upstream. */
static void note_failed(struct story *story, const struct chat_failure *failure)
{
    static const char said[] = "The upstream model server failed: ";
    const struct err *err = &failure->err;
    const char *text = strncmp(err->text, said, strlen(said)) == 0 ? err->text + strlen(said)
                       : err->code == ERR_UPSTREAM                 ? NULL
                                                                   : err->text;

    buf_addf(&story->log, "failed(%s%s",
             err->code == ERR_UPSTREAM  ? "upstream"
             : err->code == ERR_LIMIT   ? "limit"
             : err->code == ERR_INVALID ? "invalid"
             : err->code == ERR_TIMEOUT ? "timeout"
                                        : "?",
             failure->temporary ? " again" : "");
    if (err->word)
        buf_addf(&story->log, " %s", err->word);
    note_usage(story);
    if (text)
        buf_addf(&story->log, ": %s", text);
    buf_add_text(&story->log, ")");
    assert_true(err->text[0] != '\0');
}

static char *quoted(const char *text, char from, char to)
{
    char *copy = mem_strdup(text);

    for (char *c = copy; *c; c++) {
        if (*c == from)
            *c = to;
    }
    return copy;
}

/* Inside an argument string, \' is a quote of the inner JSON. */
static char *script_body(const char *body)
{
    return quoted(body, '\'', '"');
}

static char *play(enum model_dialect dialect, const struct script *script, size_t first,
                  size_t step, unsigned stop_at, const struct err *broken)
{
    AUTO_FREE char *body = script_body(script->body);
    struct story story = {.script = body, .stop_at = stop_at};
    struct chat_failure failure = {0};
    enum err_code rc;

    answer_init(&story.answer, dialect, &events, &story);
    rc = answer_head(&story.answer, script->content_type, &failure);
    if (!rc)
        rc = answer_feed_pieces(&story.answer, body, strlen(body), first, step, &failure);
    if (!rc)
        rc = answer_end(&story.answer, broken, &failure);
    if (rc == ERR_CANCELLED)
        buf_add_text(&story.log, "cancelled");
    else if (rc)
        note_failed(&story, &failure);
    else
        note_done(&story);
    assert_true(rc == ERR_OK || rc == ERR_CANCELLED || rc == failure.err.code);
    answer_clear(&story.answer);
    return buf_take(&story.log);
}

static void expect(const struct script *script, const char *played, const char *how)
{
    AUTO_FREE char *readable = quoted(played, '"', '\'');

    if (strcmp(readable, script->events) != 0)
        fail_msg("%s (%s)\n  became %s\n  not    %s", script->name, how, readable,
                 script->events);
}

void every_habit_becomes_its_events(void **state)
{
    const struct scripts *scripts = *state;

    for (size_t i = 0; i < scripts->count; i++) {
        AUTO_FREE char *played =
            play(scripts->dialect, &scripts->list[i], SIZE_MAX, SIZE_MAX, 0, NULL);

        expect(&scripts->list[i], played, "in one piece");
    }
}

void it_does_not_matter_where_the_bytes_are_cut(void **state)
{
    const struct scripts *scripts = *state;

    for (size_t i = 0; i < scripts->count; i++) {
        AUTO_FREE char *bytewise = play(scripts->dialect, &scripts->list[i], 1, 1, 0, NULL);

        expect(&scripts->list[i], bytewise, "byte by byte");
        for (size_t cut = 1 + i % CASE_STRIDE; cut < strlen(scripts->list[i].body);
             cut += CASE_STRIDE) {
            AUTO_FREE char *played =
                play(scripts->dialect, &scripts->list[i], cut, SIZE_MAX, 0, NULL);

            expect(&scripts->list[i], played, "cut in two");
        }
    }
}

/* Wherever a body ends early, the events are the beginning of the whole story, and an end. */
void a_body_that_ends_anywhere_ends_the_turn(void **state)
{
    const struct scripts *scripts = *state;

    for (size_t i = 0; i < scripts->count; i++) {
        size_t whole = strlen(scripts->list[i].body);

        for (size_t length = i % CASE_STRIDE; length < whole; length += CASE_STRIDE) {
            struct script shorter = scripts->list[i];
            AUTO_FREE char *body = mem_strndup(shorter.body, length);
            AUTO_FREE char *played = NULL;

            shorter.body = body;
            played = play(scripts->dialect, &shorter, SIZE_MAX, SIZE_MAX, 0, NULL);
            assert_true(strstr(played, "done(") || strstr(played, "failed("));
        }
    }
}

void every_callback_may_end_the_turn(void **state)
{
    const struct scripts *scripts = *state;

    for (size_t i = 0; i < scripts->count; i++) {
        for (unsigned stop_at = 1;; stop_at++) {
            AUTO_FREE char *played =
                play(scripts->dialect, &scripts->list[i], SIZE_MAX, SIZE_MAX, stop_at, NULL);
            const char *end = strstr(played, "cancelled");

            if (!end) /* fewer events than that */
                break;
            assert_string_equal(end, "cancelled");
        }
    }
}

void story_breaks(enum model_dialect dialect, const struct script *script,
                  const struct err *broken)
{
    AUTO_FREE char *played = play(dialect, script, SIZE_MAX, SIZE_MAX, 0, broken);

    expect(script, played, "broken");
}
