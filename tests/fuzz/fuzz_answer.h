#ifndef RUNNEL_TESTS_FUZZ_FUZZ_ANSWER_H
#define RUNNEL_TESTS_FUZZ_FUZZ_ANSWER_H

/*
 * Of fuzz_chat_answer.c and fuzz_responses_answer.c, which say DIALECT first. An answer of an upstream,
 * whatever it is: the pieces are valid UTF-8, calls begin and end in order, and it makes no difference
 * how the bytes were cut. The first byte says how they are.
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

struct heard {
    struct buf text, reasoning, refusal, summary, calls;
    unsigned begun, ended;
};

static void hear(struct buf *where, const char *text, size_t length)
{
    assert(json_valid_utf8(text, length));
    buf_add(where, text, length);
}

static void on_text(void *arg, const char *text, size_t length)
{
    hear(&((struct heard *)arg)->text, text, length);
}

static void on_reasoning(void *arg, const char *text, size_t length)
{
    hear(&((struct heard *)arg)->reasoning, text, length);
}

static void on_refusal(void *arg, const char *text, size_t length)
{
    hear(&((struct heard *)arg)->refusal, text, length);
}

/* Ids may be made up, so only the name is compared. */
static void on_call_begin(void *arg, unsigned call, const char *id, const char *name)
{
    struct heard *heard = arg;

    assert(call == heard->begun && heard->ended == heard->begun);
    assert(*id && json_valid_utf8(id, strlen(id)));
    heard->begun++;
    hear(&heard->calls, name, strlen(name));
    buf_add(&heard->calls, "\n", 1);
}

static void on_call_arguments(void *arg, unsigned call, const char *text, size_t length)
{
    struct heard *heard = arg;

    assert(call + 1 == heard->begun && heard->ended == call);
    hear(&heard->calls, text, length);
}

static void on_call_extra(void *arg, unsigned call, const json_t *extra)
{
    struct heard *heard = arg;
    AUTO_FREE char *text = json_text(extra);

    assert(call + 1 == heard->begun && heard->ended == call);
    assert(strlen(text) <= MODEL_EXTRA_LIMIT);
    hear(&heard->calls, text, strlen(text));
}

static void on_call_end(void *arg, unsigned call)
{
    struct heard *heard = arg;

    assert(call == heard->ended && heard->ended < heard->begun);
    heard->ended++;
    buf_add(&heard->calls, "\n", 1);
}

static void on_summary(void *arg, const char *text, size_t length)
{
    hear(&((struct heard *)arg)->summary, text, length);
}

static void on_annotation(void *arg, const json_t *annotation)
{
    AUTO_FREE char *text = json_text(annotation);

    hear(&((struct heard *)arg)->text, text, strlen(text));
}

static void on_logprobs(void *arg, json_t *tokens)
{
    (void)arg;
    assert(json_array_size(tokens));
}

static void on_part_end(void *arg)
{
    buf_add(&((struct heard *)arg)->text, "\n", 1);
}

/* Nothing is open that comes one after another with this. */
static void on_item_end(void *arg, const struct model_item *item)
{
    struct heard *heard = arg;

    assert(heard->begun == heard->ended);
    buf_add(&heard->text, item->kind == MODEL_ITEM_MESSAGE ? "\n" : "\t", 1);
    if (item->encrypted_content)
        hear(&heard->summary, item->encrypted_content, strlen(item->encrypted_content));
}

static const struct model_events events = {
    .text = on_text,
    .reasoning = on_reasoning,
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
                                 struct heard *ret_heard)
{
    struct answer answer;
    struct chat_failure failure = {0};
    enum err_code rc;

    answer_init(&answer, DIALECT, &events, ret_heard);
    rc = answer_feed_pieces(&answer, bytes, size, piece, piece, &failure);
    if (!rc)
        rc = answer_end(&answer, NULL, &failure);
    /* Only what a limit has cut may be open. */
    assert(rc || ret_heard->begun == ret_heard->ended ||
           (ret_heard->begun == ret_heard->ended + 1 &&
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

static void heard_clear(struct heard *heard)
{
    buf_clear(&heard->text);
    buf_clear(&heard->reasoning);
    buf_clear(&heard->refusal);
    buf_clear(&heard->summary);
    buf_clear(&heard->calls);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct heard whole = {0};
    struct heard pieces = {0};
    enum err_code rc;

    if (size < 2)
        return 0;
    rc = read_answer((const char *)data + 1, size - 1, size, &whole);
    assert(read_answer((const char *)data + 1, size - 1, (size_t)data[0] % 16 + 1, &pieces) ==
           rc);
    assert(same(&whole.text, &pieces.text) && same(&whole.reasoning, &pieces.reasoning));
    assert(same(&whole.refusal, &pieces.refusal) && same(&whole.calls, &pieces.calls));
    assert(same(&whole.summary, &pieces.summary));
    heard_clear(&whole);
    heard_clear(&pieces);
    return 0;
}

#endif
