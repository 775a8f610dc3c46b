#ifndef RUNNEL_TESTS_FUZZ_FUZZ_ANSWER_H
#define RUNNEL_TESTS_FUZZ_FUZZ_ANSWER_H

/*
 * The body of fuzz_chat_answer.c and fuzz_responses_answer.c, which define DIALECT first. For any
 * answer of an upstream: every piece is valid UTF-8, calls begin and end in order, and the result
 * does not depend on how the bytes were cut. The first byte of the input says how they are cut.
 */

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/model/chat/chat_error.h"
#include "tests/support/answer_pieces.h"

struct collected {
    struct buf text, reasoning, refusal, summary, calls;
    unsigned begun, ended;
};

static void collect(struct buf *where, const char *text, size_t length)
{
    assert(json_valid_utf8(text, length));
    buf_add(where, text, length);
}

static void on_text(void *arg, const char *text, size_t length)
{
    collect(&((struct collected *)arg)->text, text, length);
}

static void on_reasoning(void *arg, const char *text, size_t length)
{
    collect(&((struct collected *)arg)->reasoning, text, length);
}

static void on_reasoning_member(void *arg, const char *member)
{
    collect(&((struct collected *)arg)->reasoning, member, strlen(member));
}

static void on_reasoning_detail(void *arg, const json_t *detail)
{
    AUTO_FREE char *text = json_text(detail);

    collect(&((struct collected *)arg)->reasoning, text, strlen(text));
}

static void on_refusal(void *arg, const char *text, size_t length)
{
    collect(&((struct collected *)arg)->refusal, text, length);
}

/* Ids may be made up, so only the name is compared. */
static void on_call_begin(void *arg, unsigned call, const char *id, const char *name)
{
    struct collected *collected = arg;

    assert(call == collected->begun && collected->ended == collected->begun);
    assert(*id && json_valid_utf8(id, strlen(id)));
    collected->begun++;
    collect(&collected->calls, name, strlen(name));
    buf_add(&collected->calls, "\n", 1);
}

static void on_call_arguments(void *arg, unsigned call, const char *text, size_t length)
{
    struct collected *collected = arg;

    assert(call + 1 == collected->begun && collected->ended == call);
    collect(&collected->calls, text, length);
}

static void on_call_extra(void *arg, unsigned call, const json_t *extra)
{
    struct collected *collected = arg;
    AUTO_FREE char *text = json_text(extra);

    assert(call + 1 == collected->begun && collected->ended == call);
    assert(strlen(text) <= MODEL_EXTRA_LIMIT);
    collect(&collected->calls, text, strlen(text));
}

static void on_call_end(void *arg, unsigned call)
{
    struct collected *collected = arg;

    assert(call == collected->ended && collected->ended < collected->begun);
    collected->ended++;
    buf_add(&collected->calls, "\n", 1);
}

static void on_summary(void *arg, const char *text, size_t length)
{
    collect(&((struct collected *)arg)->summary, text, length);
}

static void on_annotation(void *arg, const json_t *annotation)
{
    AUTO_FREE char *text = json_text(annotation);

    collect(&((struct collected *)arg)->text, text, strlen(text));
}

static void on_logprobs(void *arg, json_t *tokens)
{
    (void)arg;
    assert(json_array_size(tokens));
}

static void on_part_end(void *arg)
{
    buf_add(&((struct collected *)arg)->text, "\n", 1);
}

/* Calls are items too, and items come one after another: no call is open. */
static void on_item_end(void *arg, const struct model_item *item)
{
    struct collected *collected = arg;

    assert(collected->begun == collected->ended);
    buf_add(&collected->text, item->kind == MODEL_ITEM_MESSAGE ? "\n" : "\t", 1);
    if (item->encrypted_content)
        collect(&collected->summary, item->encrypted_content, strlen(item->encrypted_content));
}

static void on_hosted_begin(void *arg, const char *type)
{
    collect(&((struct collected *)arg)->text, type, strlen(type));
}

static void on_hosted_stage(void *arg, const char *stage, const json_t *event)
{
    assert(json_is_object(event));
    collect(&((struct collected *)arg)->text, stage, strlen(stage));
}

static void on_hosted_end(void *arg, const json_t *item)
{
    assert(item);
    buf_add(&((struct collected *)arg)->text, "\n", 1);
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
    .call_begin = on_call_begin,
    .call_arguments = on_call_arguments,
    .call_extra = on_call_extra,
    .call_end = on_call_end,
};

static enum err_code read_answer(const char *bytes, size_t size, size_t piece,
                                 struct collected *ret_collected)
{
    struct answer answer;
    struct chat_failure failure = {0};
    enum err_code rc;

    answer_init(&answer, DIALECT, &events, ret_collected);
    rc = answer_feed_pieces(&answer, bytes, size, piece, piece, &failure);
    if (!rc)
        rc = answer_end(&answer, NULL, &failure);
    /* A call may stay open only if the upstream's limit has cut the answer. */
    assert(rc || ret_collected->begun == ret_collected->ended ||
           (ret_collected->begun == ret_collected->ended + 1 &&
            (answer_finish(&answer) == MODEL_FINISH_LENGTH ||
             answer_finish(&answer) == MODEL_FINISH_CONTENT_FILTER)));
    answer_clear(&answer);
    return rc;
}

static bool same(const struct buf *a, const struct buf *b)
{
    return a->length == b->length &&
           (a->length == 0 || memcmp(a->data, b->data, a->length) == 0);
}

static void collected_clear(struct collected *collected)
{
    buf_clear(&collected->text);
    buf_clear(&collected->reasoning);
    buf_clear(&collected->refusal);
    buf_clear(&collected->summary);
    buf_clear(&collected->calls);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct collected whole = {0};
    struct collected pieces = {0};
    enum err_code rc;

    if (size < 2)
        return 0;
    rc = read_answer((const char *)data + 1, size - 1, size, &whole);
    assert(read_answer((const char *)data + 1, size - 1, (size_t)data[0] % 16 + 1, &pieces) ==
           rc);
    assert(same(&whole.text, &pieces.text) && same(&whole.reasoning, &pieces.reasoning));
    assert(same(&whole.refusal, &pieces.refusal) && same(&whole.calls, &pieces.calls));
    assert(same(&whole.summary, &pieces.summary));
    collected_clear(&whole);
    collected_clear(&pieces);
    return 0;
}

#endif
