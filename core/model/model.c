#include "core/model/model.h"

#include <assert.h>
#include <string.h>
#include <sys/random.h>

#include "core/base/clock.h"
#include "core/base/fault.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/model/answer.h"
#include "core/model/chat/chat_error.h"

/*
 * model.c -- a turn: send the request, emit the answer, and repeat if nothing came.
 *
 * An attempt is one HTTP call and one answer. A turn has one attempt at a time, and between two attempts
 * only its timer.
 *
 *   start_attempt ─▶ http_call ─▶ on_head ─▶ on_data ... ─▶ on_done ─▶ answer_ended ─▶ report_done
 *        ▲                           │          │              │             │
 *        │                           └──────────┴───────┬──────┴─────────────┘
 *        └── timer ◀── try_again ◀── attempt_failed ◀───┘ ────────────────────────▶ report_failed
 *
 * Repeating is safe only while nothing was emitted: what a client has read cannot be taken back, and a
 * second answer would differ from the first. So the first piece of an answer (`announced`) ends all
 * retries, and then the text of the request, which may hold megabytes of pictures, is freed.
 *
 * The end of an answer is in its own text, not in the connection (answer.h). Some servers keep the body
 * open after it. The turn then lingers: for a moment after [DONE], so that the connection can be used
 * again, and longer after a finish_reason, because the usage may follow. When the time is over, the
 * call is cut and the answer is complete all the same.
 *
 * Everything runs on the loop of the run. Each callback may cancel the turn, or end it, in the middle of
 * a function of this file. So a turn is freed only when none of them is on the stack any more: entry
 * points from the loop are between enter() and leave(), and after each call that may emit something comes
 * is_over(). A crash needs nothing from here: the engine requests an unfinished turn again.
 */

#define ERROR_BODY_LIMIT ((size_t)64 << 10) /* bytes that are read of a refusal */

/* The longest time between the first two attempts; it is doubled for the next. The time is random in the
 * second half of it, so that turns which failed together are not repeated together. */
#define BACK_OFF (500 * NS_PER_MS)

/* The answer is complete, but its body does not end. Usage may follow a finish_reason;
 * after [DONE] there is only the end itself, which leaves the connection fit for use. */
#define WAIT_FOR_USAGE (5 * NS_PER_SECOND)
#define WAIT_FOR_END   (250 * NS_PER_MS)

#define PLAIN_TAIL "\"stream\":true}"

/* How a request of each dialect is sent. The optional member asks for something that not every server has:
 * usage in a stream, or sealed reasoning. */
static const struct request_form {
    const char *path;
    const char *tail;    /* the end of the body, with the optional member */
    const char *refused; /* part of the refusal by a server that does not accept that member */
} request_forms[] = {
    [MODEL_DIALECT_CHAT] = {"/chat/completions",
                            "\"stream_options\":{\"include_usage\":true}," PLAIN_TAIL,
                            "stream_options"},
    [MODEL_DIALECT_RESPONSES] = {"/responses",
                                 "\"include\":[\"reasoning.encrypted_content\"]," PLAIN_TAIL,
                                 "ncrypted"},
};

enum turn_stage {
    TURN_WAITING,   /* for its next attempt */
    TURN_BLOCKED,   /* a fault point lets its connection fail */
    TURN_CALLING,   /* an HTTP call is under way */
    TURN_LINGERING, /* the same, and the answer is complete */
    TURN_OVER,      /* reported or cancelled */
};

struct model_turn {
    struct loop *loop;
    const struct model_upstream *upstream;
    enum turn_stage stage;
    unsigned busy; /* functions of this file on the stack, below a callback */
    struct loop_timer timer;
    uint64_t deadline_ns; /* of all attempts together; UINT64_MAX for none */
    unsigned retries;
    bool has_optional;         /* the request has the optional member */
    struct http_body *request; /* NULL once it is not needed */
    size_t stem;               /* bytes of the request before the stream members */
    struct http_call *call;    /* NULL between attempts */
    int status;                /* of the current attempt; 0 before its head */
    uint64_t retry_after_ns;
    struct model_usage used; /* by attempts that failed */
    struct buf refusal;      /* body of an answer that is an error */
    struct answer answer;
};

static bool is_over(const struct model_turn *turn)
{
    return turn->stage == TURN_OVER;
}

static void turn_free(struct model_turn *turn)
{
    answer_clear(&turn->answer);
    http_body_drop(turn->request);
    buf_clear(&turn->refusal);
    free(turn);
}

static void enter(struct model_turn *turn)
{
    turn->busy++;
}

/* May free the turn. */
static void leave(struct model_turn *turn)
{
    if (--turn->busy == 0 && is_over(turn))
        turn_free(turn);
}

/* Ends the current attempt: nothing more will come from it. */
static void hang_up(struct model_turn *turn)
{
    loop_timer_stop(turn->loop, &turn->timer);
    if (turn->call)
        http_call_cancel(TAKE(turn->call));
}

/* The attempt is over: its tokens become the turn's. */
static void count_attempt(struct model_turn *turn)
{
    const struct model_usage *usage = &turn->answer.usage;

    turn->used.known |= usage->known;
    turn->used.input += usage->input;
    turn->used.cached += usage->cached;
    turn->used.output += usage->output;
    turn->used.reasoning += usage->reasoning;
}

static void report_done(struct model_turn *turn)
{
    struct answer *answer = &turn->answer;

    hang_up(turn);
    count_attempt(turn);
    turn->stage = TURN_OVER;
    answer->sink.events->done(answer->sink.arg, answer_finish(answer), &turn->used);
}

static void report_failed(struct model_turn *turn, const struct err *error)
{
    struct model_failure failure = {.err = *error, .retry_after_ns = turn->retry_after_ns};

    hang_up(turn);
    count_attempt(turn);
    failure.usage = turn->used;
    turn->stage = TURN_OVER;
    turn->answer.sink.events->failed(turn->answer.sink.arg, &failure);
}

/* --- trying again --- */

static uint64_t random_below(uint64_t limit)
{
    uint64_t number = 0;

    if (getrandom(&number, sizeof(number), GRND_NONBLOCK) != (ssize_t)sizeof(number))
        number = clock_mono_ns();
    return number % limit;
}

static uint64_t wait_before_retry(const struct model_turn *turn)
{
    uint64_t half = (BACK_OFF << turn->retries) / 2;

    return turn->retry_after_ns ? turn->retry_after_ns : half + random_below(half);
}

/* Ends the attempt and starts another one after `wait_ns`. */
static void try_again(struct model_turn *turn, uint64_t wait_ns)
{
    const struct chat_sink sink = turn->answer.sink;

    hang_up(turn);
    count_attempt(turn);
    answer_clear(&turn->answer);
    answer_init(&turn->answer, turn->upstream->dialect, sink.events, sink.arg);
    buf_reset(&turn->refusal);
    turn->stage = TURN_WAITING;
    loop_timer_start(turn->loop, &turn->timer, loop_now(turn->loop) + wait_ns);
}

static bool may_retry(const struct model_turn *turn, uint64_t wait_ns)
{
    return !turn->answer.sink.announced && turn->retries < MODEL_RETRY_LIMIT &&
           wait_ns <= MODEL_RETRY_AFTER_LIMIT &&
           loop_now(turn->loop) + wait_ns < turn->deadline_ns;
}

static void attempt_failed(struct model_turn *turn, const struct chat_failure *failure)
{
    uint64_t wait_ns = wait_before_retry(turn);

    if (!failure->temporary || !may_retry(turn, wait_ns)) {
        report_failed(turn, &failure->err);
        return;
    }
    turn->retries++;
    try_again(turn, wait_ns);
}

/* The connection failed before a status came. Without an error it was closed within the head of the
 * answer, which counts as failed, too. */
static void connection_failed(struct model_turn *turn, const struct err *error)
{
    struct chat_failure failure;

    chat_error_lost(&failure);
    if (error) {
        failure.err = *error;
        failure.temporary = error->code != ERR_TIMEOUT;
    }
    attempt_failed(turn, &failure);
}

static const struct request_form *form_of(const struct model_turn *turn)
{
    return &request_forms[turn->upstream->dialect];
}

/* Some servers do not know stream_options and refuse the request because of it; some models have no
 * encrypted reasoning. They get the request without that member. Then usage is unknown, or reasoning
 * cannot be sent back. */
static bool refuses_optional(const struct model_turn *turn)
{
    return (turn->status == 400 || turn->status == 422) && turn->has_optional &&
           turn->refusal.length && strstr(turn->refusal.data, form_of(turn)->refused);
}

/* Makes the request without the optional member. A new body, because the refused call may still hold
 * the old one. */
static void leave_out_optional(struct model_turn *turn)
{
    struct buf text = {0};
    struct http_body *made;

    turn->has_optional = false;
    buf_add(&text, turn->request->bytes, turn->stem);
    buf_add_text(&text, PLAIN_TAIL);
    made = http_body_new(text.data, text.length);
    if (turn->request->freed)
        http_body_when_freed(made, TAKE(turn->request->freed), turn->request->freed_arg);
    http_body_drop(turn->request);
    turn->request = made;
}

static void attempt_refused(struct model_turn *turn)
{
    struct chat_failure failure;

    if (refuses_optional(turn)) {
        leave_out_optional(turn);
        try_again(turn, 0);
        return;
    }
    chat_error_status(turn->status, turn->refusal.length ? turn->refusal.data : "",
                      turn->refusal.length, &failure);
    attempt_failed(turn, &failure);
}

/* --- the answer --- */

/* The body has ended; `broken` says why if it was cut. */
static void answer_ended(struct model_turn *turn, const struct err *broken)
{
    struct chat_failure failure;
    enum err_code rc;

    rc = FAULT("model.done") ? chat_error_lost(&failure)
                             : answer_end(&turn->answer, broken, &failure);
    if (is_over(turn))
        return;
    if (rc)
        attempt_failed(turn, &failure);
    else
        report_done(turn);
}

static void on_head(void *arg, const struct http_head *head)
{
    struct model_turn *turn = arg;
    struct chat_failure failure;

    turn->status = head->status;
    turn->retry_after_ns = head->retry_after_ns;
    if (head->status < 200 || head->status > 299)
        return;
    if (answer_head(&turn->answer, head->content_type, &failure) == ERR_OK)
        return;
    enter(turn);
    attempt_failed(turn, &failure);
    leave(turn);
}

static void take_refusal(struct model_turn *turn, const char *bytes, size_t size)
{
    size_t room = ERROR_BODY_LIMIT - turn->refusal.length;

    buf_add(&turn->refusal, bytes, size < room ? size : room);
}

static void linger(struct model_turn *turn, uint64_t wait_ns)
{
    turn->stage = TURN_LINGERING;
    loop_timer_start(turn->loop, &turn->timer, loop_now(turn->loop) + wait_ns);
}

static void take_bytes(struct model_turn *turn, const char *bytes, size_t size)
{
    bool done_before = turn->answer.done_seen;
    struct chat_failure failure;
    enum err_code rc;

    rc = FAULT("model.chunk") ? chat_error_lost(&failure)
                              : answer_feed(&turn->answer, bytes, size, &failure);
    if (is_over(turn))
        return;
    if (rc) {
        attempt_failed(turn, &failure);
        return;
    }
    if (turn->answer.sink.announced)
        http_body_drop(TAKE(turn->request));
    if (turn->answer.done_seen && !done_before)
        linger(turn, WAIT_FOR_END);
    else if (turn->answer.finish_seen && turn->stage != TURN_LINGERING)
        linger(turn, WAIT_FOR_USAGE);
}

static void on_data(void *arg, const char *bytes, size_t size)
{
    struct model_turn *turn = arg;

    if (turn->status < 200 || turn->status > 299) {
        take_refusal(turn, bytes, size);
        return;
    }
    enter(turn);
    take_bytes(turn, bytes, size);
    leave(turn);
}

static void on_read(void *arg)
{
    struct model_turn *turn = arg;

    enter(turn);
    turn->answer.sink.events->read_end(turn->answer.sink.arg);
    leave(turn);
}

static void on_done(void *arg, enum err_code rc, const struct err *error)
{
    struct model_turn *turn = arg;

    turn->call = NULL;
    enter(turn);
    if (turn->status == 0)
        connection_failed(turn, error);
    else if (turn->status < 200 || turn->status > 299)
        attempt_refused(turn);
    else
        answer_ended(turn, rc ? error : NULL);
    leave(turn);
}

/* --- the request --- */

/* Makes the request's text, with the stream members at its end; the optional member is left out when
 * the request has its own. The text is spliced instead of setting members, because the value is
 * borrowed and may hold megabytes of images. */
static void render_request(struct model_turn *turn, const json_t *request,
                           const struct json_splice *past)
{
    struct buf text = {0};

    if (past)
        json_add_spliced(&text, request, past);
    else
        json_add_text(&text, request);
    assert(text.length >= 2 && text.data[text.length - 1] == '}');
    text.length--;
    if (text.data[text.length - 1] != '{')
        buf_add_char(&text, ',');
    turn->stem = text.length;
    buf_add_text(&text, turn->has_optional ? form_of(turn)->tail : PLAIN_TAIL);
    turn->request = http_body_new(text.data, text.length);
}

/* The turn's deadline holds for all attempts, the other limits for each. */
static struct http_timeouts timeouts_left(const struct model_turn *turn)
{
    struct http_timeouts timeouts = turn->upstream->timeouts;
    uint64_t now = loop_now(turn->loop);

    if (timeouts.total)
        timeouts.total = turn->deadline_ns > now ? turn->deadline_ns - now : 1;
    return timeouts;
}

static void start_call(struct model_turn *turn)
{
    const struct model_upstream *upstream = turn->upstream;
    AUTO_FREE char *url = mem_printf("%s%s", upstream->url, form_of(turn)->path);
    AUTO_FREE char *key =
        upstream->api_key ? mem_printf("Authorization: Bearer %s", upstream->api_key) : NULL;
    const char *const headers[] = {"Content-Type: application/json",
                                   "Accept: text/event-stream, application/json", key, NULL};
    struct http_request request = {.method = "POST",
                                   .url = url,
                                   .headers = headers,
                                   .timeouts = timeouts_left(turn),
                                   .on_head = on_head,
                                   .on_data = on_data,
                                   .on_read = on_read,
                                   .on_done = on_done,
                                   .body = turn->request,
                                   .arg = turn};

    turn->call = http_call_start(turn->loop, &request);
}

static void start_attempt(struct model_turn *turn)
{
    turn->status = 0;
    turn->retry_after_ns = 0;
    if (FAULT("model.start")) {
        turn->stage = TURN_BLOCKED;
        loop_timer_start(turn->loop, &turn->timer, 0);
        return;
    }
    turn->stage = TURN_CALLING;
    start_call(turn);
}

static void on_timer(struct loop_timer *timer)
{
    struct model_turn *turn = CONTAINER_OF(timer, struct model_turn, timer);
    struct chat_failure failure;

    enter(turn);
    if (turn->stage == TURN_WAITING) {
        start_attempt(turn);
    } else if (turn->stage == TURN_BLOCKED) {
        chat_error_lost(&failure);
        attempt_failed(turn, &failure);
    } else {
        assert(turn->stage == TURN_LINGERING);
        hang_up(turn);
        answer_ended(turn, NULL);
    }
    leave(turn);
}

struct model_turn *model_turn_start(struct loop *loop, const struct model_upstream *upstream,
                                    const json_t *request, const struct json_splice *past,
                                    const struct model_events *events, void *arg)
{
    struct model_turn *turn = mem_new(struct model_turn);
    uint64_t total = upstream->timeouts.total;

    turn->loop = loop;
    turn->upstream = upstream;
    turn->timer.fire = on_timer;
    turn->deadline_ns = total ? loop_now(loop) + total : UINT64_MAX;
    turn->has_optional = !json_object_get(request, "include");
    answer_init(&turn->answer, upstream->dialect, events, arg);
    render_request(turn, request, past);
    start_attempt(turn);
    return turn;
}

void model_turn_when_sent(struct model_turn *turn, void (*sent)(void *arg), void *arg)
{
    http_body_when_freed(turn->request, sent, arg);
}

void model_turn_cancel(struct model_turn *turn)
{
    if (is_over(turn))
        return;
    hang_up(turn);
    answer_stop(&turn->answer);
    turn->stage = TURN_OVER;
    if (!turn->busy)
        turn_free(turn);
}
