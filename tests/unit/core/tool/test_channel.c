#include <poll.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/tool/channel_internal.h"
#include "tests/support/test.h"
#include "tests/unit/core/tool/taker.h"

static void ignore_wake(void *arg)
{
    (void)arg;
}

static struct tool_channel *channel_of(unsigned calls, const bool *hidden, size_t capacity)
{
    return tool_channel_new(calls, hidden, capacity, ignore_wake, NULL);
}

static struct tool_output text(const char *words)
{
    return (struct tool_output){
        .kind = TOOL_OUTPUT_TEXT, .text = mem_strdup(words), .length = strlen(words)};
}

static struct tool_output end(void)
{
    return (struct tool_output){.kind = TOOL_OUTPUT_END};
}

static enum err_code put(struct tool_channel *channel, unsigned call, struct tool_output output)
{
    return tool_channel_put(channel, call, &output);
}

static void say(struct tool_channel *channel, unsigned call, const char *words)
{
    assert_int_equal(put(channel, call, text(words)), ERR_OK);
}

static void finish(struct tool_channel *channel, unsigned call)
{
    assert_int_equal(put(channel, call, end()), ERR_OK);
}

/* The next output is this text of this call; NULL stands for its END. */
static void expect(struct tool_channel *channel, unsigned call, const char *words)
{
    struct tool_output output;

    assert_true(tool_channel_take(channel, &output));
    assert_int_equal(output.call, call);
    if (words)
        assert_string_equal(output.text, words);
    else
        assert_int_equal(output.kind, TOOL_OUTPUT_END);
    tool_output_clear(&output);
}

static void expect_nothing(struct tool_channel *channel)
{
    struct tool_output output;

    assert_false(tool_channel_take(channel, &output));
}

/* ---- the rules ---- */

TEST(channel_gives_the_floor_to_the_first_call_with_output)
{
    struct tool_channel *channel = channel_of(3, NULL, 8);

    say(channel, 2, "two");
    say(channel, 0, "zero");
    expect(channel, 2, "two");
    expect_nothing(channel);
    say(channel, 2, "more");
    expect(channel, 2, "more");
    finish(channel, 2);
    expect(channel, 2, NULL);
    expect(channel, 0, "zero");
    tool_channel_release(channel);
}

TEST(channel_passes_the_floor_in_the_order_of_the_model)
{
    struct tool_channel *channel = channel_of(4, NULL, 8);

    say(channel, 1, "one");
    say(channel, 3, "three");
    say(channel, 2, "two");
    finish(channel, 1);
    expect(channel, 1, "one");
    expect(channel, 1, NULL);
    expect(channel, 2, "two");
    say(channel, 0, "zero");
    finish(channel, 2);
    expect(channel, 2, NULL);
    expect(channel, 0, "zero");
    tool_channel_release(channel);
}

static void start(struct tool_channel *channel, unsigned call)
{
    assert_int_equal(put(channel, call, (struct tool_output){.kind = TOOL_OUTPUT_START}),
                     ERR_OK);
}

static void expect_kind(struct tool_channel *channel, unsigned call, enum tool_output_kind kind)
{
    struct tool_output output;

    assert_true(tool_channel_take(channel, &output));
    assert_int_equal(output.call, call);
    assert_int_equal(output.kind, kind);
    tool_output_clear(&output);
}

static void put_metadata(struct tool_channel *channel, unsigned call, const char *title)
{
    struct tool_output output = {.kind = TOOL_OUTPUT_METADATA,
                                 .text = mem_strdup(title),
                                 .length = strlen(title),
                                 .fields = json_build("{s:s}", "title", title)};

    assert_int_equal(tool_channel_put(channel, call, &output), ERR_OK);
}

TEST(channel_announces_a_call_that_starts_while_the_floor_is_free)
{
    struct tool_channel *channel = channel_of(3, NULL, 1);

    start(channel, 0);
    start(channel, 1);
    start(channel, 2);
    expect_kind(channel, 0, TOOL_OUTPUT_START);
    expect_nothing(channel);
    say(channel, 2, "two");
    finish(channel, 0);
    expect(channel, 0, NULL);
    expect_kind(channel, 2, TOOL_OUTPUT_START); /* it has more to say than the one before it */
    expect(channel, 2, "two");
    finish(channel, 2);
    expect(channel, 2, NULL);
    expect_kind(channel, 1, TOOL_OUTPUT_START);
    expect_nothing(channel);
    tool_channel_release(channel);
}

TEST(channel_gives_away_what_has_ended_and_waits_for_the_floor)
{
    struct tool_channel *channel = channel_of(2, NULL, 2);
    struct tool_output *outputs, output;
    unsigned count;

    start(channel, 0);
    start(channel, 1);
    say(channel, 1, "one");
    assert_false(tool_channel_take_waiting(channel, &outputs, &count));
    put_metadata(channel, 1, "title");
    finish(channel, 1);
    assert_true(tool_channel_take_waiting(channel, &outputs, &count));
    assert_int_equal(count, 4);
    assert_int_equal(outputs[0].kind, TOOL_OUTPUT_START);
    assert_int_equal(outputs[1].kind, TOOL_OUTPUT_METADATA);
    assert_string_equal(outputs[2].text, "one");
    assert_int_equal(outputs[3].kind, TOOL_OUTPUT_END);
    assert_int_equal(outputs[3].call, 1);
    for (unsigned i = 0; i < count; i++)
        tool_output_clear(&outputs[i]);
    free(outputs);
    assert_false(tool_channel_take_waiting(channel, &outputs, &count));

    expect_kind(channel, 0, TOOL_OUTPUT_START);
    expect_nothing(channel);
    finish(channel, 0);
    expect(channel, 0, NULL);
    assert_false(tool_channel_finished(channel));
    assert_true(tool_channel_take(channel, &output));
    assert_int_equal(output.call, 1);
    assert_true(output.kept);
    assert_true(tool_channel_finished(channel));
    tool_channel_release(channel);
}

TEST(channel_keeps_for_the_floor_what_the_floor_has)
{
    struct tool_channel *channel = channel_of(2, (const bool[]){false, true}, 2);
    struct tool_output *outputs;
    unsigned count;

    say(channel, 0, "zero");
    finish(channel, 0);
    finish(channel, 1);
    assert_false(tool_channel_take_waiting(channel, &outputs, &count));
    tool_channel_close(channel);
    assert_false(tool_channel_take_waiting(channel, &outputs, &count));
    tool_channel_release(channel);
}

TEST(channel_accepts_one_end_for_each_call_and_nothing_after_it)
{
    struct tool_channel *channel = channel_of(1, NULL, 8);

    say(channel, 0, "word");
    finish(channel, 0);
    assert_int_equal(put(channel, 0, text("late")), ERR_CANCELLED);
    assert_int_equal(put(channel, 0, end()), ERR_CANCELLED);
    expect(channel, 0, "word");
    assert_false(tool_channel_finished(channel));
    expect(channel, 0, NULL);
    assert_true(tool_channel_finished(channel));
    expect_nothing(channel);
    tool_channel_release(channel);
}

TEST(channel_has_room_for_its_capacity_and_the_end)
{
    struct tool_channel *channel = channel_of(1, NULL, 2);
    struct tool_output output = text("three");

    say(channel, 0, "one");
    say(channel, 0, "two");
    assert_int_equal(tool_channel_try_put(channel, 0, &output), ERR_LIMIT);
    assert_string_equal(output.text, "three");
    tool_output_clear(&output);
    finish(channel, 0);
    expect(channel, 0, "one");
    expect(channel, 0, "two");
    expect(channel, 0, NULL);
    tool_channel_release(channel);
}

TEST(channel_lets_hidden_calls_speak_without_the_floor)
{
    const bool hidden[] = {false, true};
    struct tool_channel *channel = channel_of(2, hidden, 8);
    struct tool_output output;

    say(channel, 1, "psst");
    assert_true(tool_channel_take(channel, &output));
    assert_true(output.hidden);
    tool_output_clear(&output);
    say(channel, 0, "aloud");
    expect(channel, 0, "aloud");
    say(channel, 1, "again");
    expect(channel, 1, "again");
    finish(channel, 1);
    expect(channel, 1, NULL);
    say(channel, 0, "more");
    expect(channel, 0, "more");
    tool_channel_release(channel);
}

TEST(channel_alternates_between_hidden_calls_and_the_floor)
{
    const bool hidden[] = {true, true, false};
    struct tool_channel *channel = channel_of(3, hidden, 8);
    unsigned received[3] = {0};

    for (int i = 0; i < 4; i++)
        for (unsigned call = 0; call < 3; call++)
            say(channel, call, "me");
    for (int i = 0; i < 6; i++) {
        struct tool_output output;

        assert_true(tool_channel_take(channel, &output));
        received[output.call]++;
        tool_output_clear(&output);
    }
    for (unsigned call = 0; call < 3; call++)
        assert_int_equal(received[call], 2);
    tool_channel_release(channel);
}

TEST(channel_keeps_only_the_last_metadata)
{
    struct tool_channel *channel = channel_of(2, NULL, 1);

    say(channel, 0, "word");
    for (int i = 0; i < 100; i++)
        put_metadata(channel, 0, "old");
    put_metadata(channel, 0, "new");
    put_metadata(channel, 1, "not yet");
    expect(channel, 0, "new");
    expect(channel, 0, "word");
    expect_nothing(channel);
    finish(channel, 0);
    expect(channel, 0, NULL);
    expect(channel, 1, "not yet");
    tool_channel_release(channel);
}

TEST(channel_keeps_the_last_value_of_each_key)
{
    struct tool_channel *channel = channel_of(1, NULL, 1);
    struct tool_output first = {.kind = TOOL_OUTPUT_METADATA,
                                .text = mem_strdup("title"),
                                .length = 5,
                                .fields = json_build("{s:i, s:i}", "a", 1, "b", 1)};
    struct tool_output second = {.kind = TOOL_OUTPUT_METADATA,
                                 .fields = json_build("{s:i}", "b", 2)};
    struct tool_output taken;

    assert_int_equal(tool_channel_put(channel, 0, &first), ERR_OK);
    assert_int_equal(tool_channel_put(channel, 0, &second), ERR_OK);
    assert_true(tool_channel_take(channel, &taken));
    assert_string_equal(taken.text, "title");
    assert_int_equal(json_get_int(taken.fields, "a", 0), 1);
    assert_int_equal(json_get_int(taken.fields, "b", 0), 2);
    tool_output_clear(&taken);
    tool_channel_release(channel);
}

TEST(channel_delivers_metadata_before_the_end)
{
    struct tool_channel *channel = channel_of(1, NULL, 1);

    put_metadata(channel, 0, "half way");
    finish(channel, 0);
    expect(channel, 0, "half way");
    expect(channel, 0, NULL);
    expect_nothing(channel);
    tool_channel_release(channel);
}

TEST(channel_drops_waiting_outputs_when_closed)
{
    struct tool_channel *channel = channel_of(2, NULL, 4);

    say(channel, 0, "gone");
    put_metadata(channel, 1, "gone");
    tool_channel_close(channel);
    tool_channel_close(channel);
    assert_true(tool_channel_closed(channel));
    expect_nothing(channel);
    assert_int_equal(put(channel, 0, text("late")), ERR_CANCELLED);
    assert_int_equal(put(channel, 1, end()), ERR_CANCELLED);
    expect_nothing(channel);
    tool_channel_release(channel);
}

TEST(channel_without_calls_is_finished)
{
    struct tool_channel *channel = channel_of(0, NULL, 1);

    expect_nothing(channel);
    assert_true(tool_channel_finished(channel));
    tool_channel_release(channel);
}

TEST(channel_wakes_at_most_once_between_two_empty_takes)
{
    struct taker taker;
    struct tool_channel *channel;

    taker_init(&taker);
    channel = tool_channel_new(2, NULL, 8, taker_wake, &taker);
    say(channel, 0, "one");
    say(channel, 0, "two");
    assert_int_equal(taker.wakes, 1);
    expect(channel, 0, "one");
    say(channel, 0, "three");
    assert_int_equal(taker.wakes, 1);
    expect(channel, 0, "two");
    expect(channel, 0, "three");
    expect_nothing(channel);
    say(channel, 1, "waits for the floor");
    assert_int_equal(taker.wakes, 1);
    finish(channel, 1);
    assert_int_equal(taker.wakes, 2); /* an end does not wait for the floor */
    expect_nothing(channel);
    say(channel, 0, "four");
    assert_int_equal(taker.wakes, 3);
    tool_channel_close(channel);
    tool_channel_release(channel);
    taker_clear(&taker);
}

/* ---- with threads ---- */

struct writer {
    pthread_t thread;
    struct tool_channel *channel;
    unsigned call;
    unsigned count;
    enum err_code last;
};

/* Says 0, 1, 2, ... in `length`, with metadata in between, then ends. */
static void *write_numbers(void *arg)
{
    struct writer *writer = arg;

    for (unsigned i = 0; i < writer->count && !writer->last; i++) {
        struct tool_output output = {.kind = TOOL_OUTPUT_DELTA, .length = i};

        writer->last = tool_channel_put(writer->channel, writer->call, &output);
        if (i % 3 == 0) {
            struct tool_output metadata = {.kind = TOOL_OUTPUT_METADATA, .length = i};

            (void)!tool_channel_put(writer->channel, writer->call, &metadata);
        }
    }
    if (!writer->last)
        writer->last = put(writer->channel, writer->call, end());
    tool_channel_release(writer->channel);
    return NULL;
}

static void start_writers(struct writer *writers, unsigned count, struct tool_channel *channel,
                          unsigned outputs)
{
    for (unsigned i = 0; i < count; i++) {
        writers[i] =
            (struct writer){.channel = tool_channel_hold(channel), .call = i, .count = outputs};
        assert_int_equal(pthread_create(&writers[i].thread, NULL, write_numbers, &writers[i]),
                         0);
    }
}

static void join_writers(struct writer *writers, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        pthread_join(writers[i].thread, NULL);
}

#define WRITERS 8
#define OUTPUTS 2000

/* Peer fault A8: outputs got lost or killed the sender when writers and the sender met. */
TEST(channel_bella_A8_no_output_is_lost)
{
    const bool hidden[WRITERS] = {[2] = true, [5] = true};
    unsigned expected[WRITERS] = {0}, floor = WRITERS;
    struct writer writers[WRITERS];
    struct tool_channel *channel;
    struct tool_output output;
    struct taker taker;

    taker_init(&taker);
    channel = tool_channel_new(WRITERS, hidden, 3, taker_wake, &taker);
    start_writers(writers, WRITERS, channel, OUTPUTS);
    while (taker_next(&taker, channel, &output)) {
        if (output.kind == TOOL_OUTPUT_DELTA)
            assert_int_equal(output.length, expected[output.call]++);
        if (output.kind == TOOL_OUTPUT_END)
            assert_int_equal(expected[output.call]++, OUTPUTS);
        if (!hidden[output.call]) {
            assert_true(floor == WRITERS || floor == output.call);
            floor = output.kind == TOOL_OUTPUT_END ? WRITERS : output.call;
        }
        tool_output_clear(&output);
    }
    join_writers(writers, WRITERS);
    for (unsigned i = 0; i < WRITERS; i++) {
        assert_int_equal(expected[i], OUTPUTS + 1);
        assert_int_equal(writers[i].last, ERR_OK);
    }
    tool_channel_close(channel);
    tool_channel_release(channel);
    taker_clear(&taker);
}

/* Peer fault A1: the sender slept through the next turn's signal. */
TEST(channel_bella_A1_no_wake_is_lost_from_turn_to_turn)
{
    for (unsigned turn = 0; turn < 500; turn++) {
        struct writer writers[2];
        struct tool_channel *channel;
        struct tool_output output;
        struct taker taker;
        unsigned count = 0;

        taker_init(&taker);
        channel = tool_channel_new(2, NULL, 1, taker_wake, &taker);
        start_writers(writers, 2, channel, 2);
        while (taker_next(&taker, channel, &output)) {
            count += output.kind != TOOL_OUTPUT_METADATA;
            tool_output_clear(&output);
        }
        assert_int_equal(count, 6);
        join_writers(writers, 2);
        tool_channel_close(channel);
        tool_channel_release(channel);
        taker_clear(&taker);
    }
}

TEST(channel_close_lets_waiting_writers_go)
{
    for (unsigned round = 0; round < 50; round++) {
        struct tool_channel *channel = channel_of(WRITERS, NULL, 1);
        struct writer writers[WRITERS];
        struct tool_output output;

        start_writers(writers, WRITERS, channel, OUTPUTS);
        for (unsigned i = 0; i < round; i++)
            if (tool_channel_take(channel, &output))
                tool_output_clear(&output);
        tool_channel_close(channel);
        join_writers(writers, WRITERS);
        for (unsigned i = 0; i < WRITERS; i++)
            assert_int_equal(writers[i].last, ERR_CANCELLED);
        tool_channel_release(channel);
    }
}

struct wake_guard {
    atomic_bool may_come;
};

static void guarded_wake(void *arg)
{
    struct wake_guard *guard = arg;

    assert_true(atomic_load(&guard->may_come));
}

/* What `arg` points to is freed after the close. */
TEST(channel_does_not_wake_after_the_close)
{
    for (unsigned round = 0; round < 300; round++) {
        struct wake_guard *guard = mem_new(struct wake_guard);
        struct writer writers[4];
        struct tool_channel *channel;
        struct tool_output output;

        atomic_init(&guard->may_come, true);
        channel = tool_channel_new(4, NULL, 2, guarded_wake, guard);
        start_writers(writers, 4, channel, 20);
        for (unsigned i = 0; i < round % 20; i++)
            if (tool_channel_take(channel, &output))
                tool_output_clear(&output);
        tool_channel_close(channel);
        atomic_store(&guard->may_come, false);
        free(guard);
        join_writers(writers, 4);
        tool_channel_release(channel);
    }
}

struct slow_wake {
    struct tool_channel *channel;
    atomic_bool began, ended;
};

/* A wake that lasts until the channel is being closed. */
static void wake_slowly(void *arg)
{
    struct slow_wake *wake = arg;

    atomic_store(&wake->began, true);
    while (!tool_channel_closed(wake->channel))
        sched_yield();
    for (int i = 0; i < 1000; i++)
        sched_yield();
    atomic_store(&wake->ended, true);
}

TEST(channel_close_waits_for_a_wake_under_way)
{
    struct slow_wake wake = {.channel = NULL};
    struct writer writer;

    atomic_init(&wake.began, false);
    atomic_init(&wake.ended, false);
    wake.channel = tool_channel_new(1, NULL, 2, wake_slowly, &wake);
    start_writers(&writer, 1, wake.channel, 1);
    while (!atomic_load(&wake.began))
        sched_yield();
    tool_channel_close(wake.channel);
    assert_true(atomic_load(&wake.ended));
    join_writers(&writer, 1);
    tool_channel_release(wake.channel);
}

static void *wait_for_ever(void *arg)
{
    struct writer *writer = arg;
    bool over = tool_channel_wait_over(writer->channel, writer->call, UINT64_MAX);

    writer->last = over ? ERR_CANCELLED : ERR_OK;
    return NULL;
}

TEST(channel_ends_a_timed_wait_at_the_end_and_at_the_close)
{
    struct tool_channel *channel = channel_of(2, NULL, 1);
    struct writer writers[2] = {{.channel = channel, .call = 0},
                                {.channel = channel, .call = 1}};

    for (unsigned i = 0; i < 2; i++)
        pthread_create(&writers[i].thread, NULL, wait_for_ever, &writers[i]);
    finish(channel, 0);
    pthread_join(writers[0].thread, NULL);
    assert_int_equal(writers[0].last, ERR_CANCELLED);
    assert_false(tool_channel_call_over(channel, 1));
    tool_channel_close(channel);
    pthread_join(writers[1].thread, NULL);
    assert_int_equal(writers[1].last, ERR_CANCELLED);
    tool_channel_release(channel);
}

static bool is_raised(int fd)
{
    struct pollfd one = {.fd = fd, .events = POLLIN};

    assert_true(fd >= 0);
    return poll(&one, 1, 0) == 1;
}

TEST(channel_raises_a_descriptor_at_the_end_and_at_the_close)
{
    struct tool_channel *channel = channel_of(3, NULL, 1);
    int ends = tool_channel_over_fd(channel, 0);
    int closes = tool_channel_over_fd(channel, 1);

    assert_int_equal(tool_channel_over_fd(channel, 0), ends);
    assert_false(is_raised(ends));
    finish(channel, 0);
    assert_true(is_raised(ends));
    assert_false(is_raised(closes));
    tool_channel_close(channel);
    assert_true(is_raised(closes));
    assert_true(is_raised(tool_channel_over_fd(channel, 2)));
    tool_channel_release(channel);
}

TEST(channel_end_of_a_full_call_lets_its_writer_go)
{
    struct tool_channel *channel = channel_of(1, NULL, 1);
    struct writer writer;

    start_writers(&writer, 1, channel, OUTPUTS);
    finish(channel, 0); /* as the timekeeper does */
    join_writers(&writer, 1);
    assert_int_equal(writer.last, ERR_CANCELLED);
    tool_channel_release(channel);
}

/* ---- the peer's faults ---- */

/* Peer fault A7: the last output of a tool decided whether it gave the floor back. */
TEST(channel_bella_A7_the_floor_passes_on_after_every_kind_of_output)
{
    const enum tool_output_kind kinds[] = {TOOL_OUTPUT_TEXT, TOOL_OUTPUT_STAGE,
                                           TOOL_OUTPUT_DELTA, TOOL_OUTPUT_METADATA,
                                           TOOL_OUTPUT_END};

    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        struct tool_channel *channel = channel_of(2, NULL, 4);
        struct tool_output last = {.kind = kinds[i]};
        struct tool_output output;

        assert_int_equal(tool_channel_put(channel, 0, &last), ERR_OK);
        say(channel, 1, "my turn");
        if (kinds[i] != TOOL_OUTPUT_END) {
            finish(channel, 0);
            assert_true(tool_channel_take(channel, &output));
            assert_int_equal(output.kind, kinds[i]);
        }
        expect(channel, 0, NULL);
        expect(channel, 1, "my turn");
        finish(channel, 1);
        expect(channel, 1, NULL);
        assert_true(tool_channel_finished(channel));
        tool_channel_release(channel);
    }
}

/* Peer fault A5: one tool failed, a later one succeeded, and the run was never woken. */
TEST(channel_bella_A5_a_failure_before_a_success_finishes_the_turn)
{
    struct tool_channel *channel = channel_of(2, NULL, 1);
    struct tool_output failure = {.kind = TOOL_OUTPUT_END, .rc = ERR_UPSTREAM};
    struct tool_output output;

    err_set(&failure.error, ERR_UPSTREAM, "no luck");
    assert_int_equal(tool_channel_put(channel, 0, &failure), ERR_OK);
    finish(channel, 1);
    assert_true(tool_channel_take(channel, &output));
    assert_int_equal(output.rc, ERR_UPSTREAM);
    assert_string_equal(output.error.text, "no luck");
    assert_false(tool_channel_finished(channel));
    assert_true(tool_channel_take(channel, &output));
    assert_int_equal(output.rc, ERR_OK);
    assert_true(tool_channel_finished(channel));
    tool_channel_release(channel);
}

/* Peer fault A11: calls that ended together overwrote each other's results, or all of them
 * found that all had ended. */
TEST(channel_bella_A11_calls_that_end_together_end_once_each)
{
    for (unsigned round = 0; round < 100; round++) {
        struct writer writers[WRITERS];
        struct tool_channel *channel;
        struct tool_output output;
        struct taker taker;
        unsigned ends = 0;

        taker_init(&taker);
        channel = tool_channel_new(WRITERS, NULL, 1, taker_wake, &taker);
        start_writers(writers, WRITERS, channel, 0);
        while (taker_next(&taker, channel, &output))
            ends |= 1u << output.call;
        assert_int_equal(ends, (1u << WRITERS) - 1);
        join_writers(writers, WRITERS);
        tool_channel_close(channel);
        tool_channel_release(channel);
        taker_clear(&taker);
    }
}

/* Peer fault B3: a result without the optional parts broke the hand-over. */
TEST(channel_bella_B3_an_empty_result_is_a_result)
{
    struct tool_channel *channel = channel_of(1, NULL, 1);
    struct tool_output output;

    finish(channel, 0);
    assert_true(tool_channel_take(channel, &output));
    assert_int_equal(output.rc, ERR_OK);
    assert_int_equal(output.result.count, 0);
    tool_channel_release(channel);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(channel_gives_the_floor_to_the_first_call_with_output),
        cmocka_unit_test(channel_passes_the_floor_in_the_order_of_the_model),
        cmocka_unit_test(channel_announces_a_call_that_starts_while_the_floor_is_free),
        cmocka_unit_test(channel_gives_away_what_has_ended_and_waits_for_the_floor),
        cmocka_unit_test(channel_keeps_for_the_floor_what_the_floor_has),
        cmocka_unit_test(channel_accepts_one_end_for_each_call_and_nothing_after_it),
        cmocka_unit_test(channel_has_room_for_its_capacity_and_the_end),
        cmocka_unit_test(channel_lets_hidden_calls_speak_without_the_floor),
        cmocka_unit_test(channel_alternates_between_hidden_calls_and_the_floor),
        cmocka_unit_test(channel_keeps_only_the_last_metadata),
        cmocka_unit_test(channel_keeps_the_last_value_of_each_key),
        cmocka_unit_test(channel_delivers_metadata_before_the_end),
        cmocka_unit_test(channel_drops_waiting_outputs_when_closed),
        cmocka_unit_test(channel_without_calls_is_finished),
        cmocka_unit_test(channel_wakes_at_most_once_between_two_empty_takes),
        cmocka_unit_test(channel_bella_A8_no_output_is_lost),
        cmocka_unit_test(channel_bella_A1_no_wake_is_lost_from_turn_to_turn),
        cmocka_unit_test(channel_close_lets_waiting_writers_go),
        cmocka_unit_test(channel_does_not_wake_after_the_close),
        cmocka_unit_test(channel_close_waits_for_a_wake_under_way),
        cmocka_unit_test(channel_ends_a_timed_wait_at_the_end_and_at_the_close),
        cmocka_unit_test(channel_raises_a_descriptor_at_the_end_and_at_the_close),
        cmocka_unit_test(channel_end_of_a_full_call_lets_its_writer_go),
        cmocka_unit_test(channel_bella_A7_the_floor_passes_on_after_every_kind_of_output),
        cmocka_unit_test(channel_bella_A5_a_failure_before_a_success_finishes_the_turn),
        cmocka_unit_test(channel_bella_A11_calls_that_end_together_end_once_each),
        cmocka_unit_test(channel_bella_B3_an_empty_result_is_a_result),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
