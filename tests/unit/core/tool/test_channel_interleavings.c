#include <stdlib.h>
#include <string.h>

#include "core/base/compiler.h"
#include "core/base/mem.h"
#include "core/tool/channel_internal.h"
#include "tests/support/test.h"

/*
 * The channel against its seven rules, in every order in which things can happen.
 *
 * A world is a channel, calls that each have a script of outputs, a loop that takes, a thread that may close it and a
 * timekeeper that may end calls. At any moment a few things can happen next. The test tries all of them from every
 * state that can be reached, and compares what the channel does with a simple model of the rules (`struct account`).
 *
 * A put that must wait is a put that returns ERR_LIMIT; its call stays blocked until a broadcast on its condition. So a
 * forgotten broadcast shows as a call that could continue and was not notified.
 */

#define CALLS_MAX  3
#define SCRIPT_MAX 5
#define PATH_LIMIT 64

/* One letter for each output: s start, t text, m metadata. An END follows by itself. */
struct config {
    unsigned calls;
    size_t capacity;
    const char *scripts[CALLS_MAX];
    bool hidden[CALLS_MAX];
    bool may_expire[CALLS_MAX];
    bool may_close;
    bool may_poll; /* the loop also takes without a wake */
};

/* What the rules say about one call. Outputs are known by their place in the script. */
struct call_account {
    unsigned char said; /* steps of the script that are done */
    unsigned char queue[SCRIPT_MAX + 1];
    unsigned char queued;
    unsigned char waiting;  /* queued, END not counted */
    unsigned char metadata; /* place plus one, 0: none */
    unsigned char started;  /* its START is the first in the queue */
    unsigned char kept;     /* its outputs were taken while it waited for the floor */
    unsigned char ended;    /* 1: by itself, 2: by the timekeeper */
    unsigned char end_taken;
    unsigned char blocked;
    unsigned char expired;  /* the timekeeper was here */
    unsigned char notified; /* since it blocked */
};

struct account {
    struct call_account calls[CALLS_MAX];
    unsigned char floor; /* CALLS_MAX: nobody */
    unsigned char closed;
    unsigned char asleep; /* the last take found nothing */
    unsigned char looks;  /* before it sleeps it takes what has ended and waits */
    unsigned char wakes;  /* since then */
};

struct world {
    const struct config *config;
    struct tool_channel *channel;
    struct account account;
};

#define END_PLACE     100
#define EXPIRED_PLACE 101
#define KEPT_PLACE    102

static struct world *current;

int __real_pthread_cond_broadcast(pthread_cond_t *cond);
int __wrap_pthread_cond_broadcast(pthread_cond_t *cond);

int __wrap_pthread_cond_broadcast(pthread_cond_t *cond)
{
    for (unsigned i = 0; current && i < current->config->calls; i++)
        if (cond == &current->channel->slots[i].changed)
            current->account.calls[i].notified = 1;
    return __real_pthread_cond_broadcast(cond);
}

static bool anything_to_take(const struct world *world);

/* The account has the put that this wake comes from. */
static void count_wake(void *arg)
{
    struct world *world = arg;

    assert_true(anything_to_take(world));
    world->account.wakes++;
}

static void world_open(struct world *world, const struct config *config)
{
    *world = (struct world){.config = config};
    world->channel =
        tool_channel_new(config->calls, config->hidden, config->capacity, count_wake, world);
    world->account.floor = CALLS_MAX;
    world->account.asleep = 1;
    current = world;
}

static void world_close(struct world *world)
{
    current = NULL;
    tool_channel_close(world->channel);
    tool_channel_release(world->channel);
}

/* ---- the rules ---- */

static bool has_output(const struct call_account *call)
{
    return call->queued || call->metadata;
}

static bool may_speak(const struct world *world, unsigned call)
{
    return world->config->hidden[call] || world->account.floor == call;
}

/* It has ended and waits for the floor: its outputs may be taken all at once. */
static bool waits_ended(const struct world *world, unsigned call)
{
    const struct call_account *account = &world->account.calls[call];

    return !may_speak(world, call) && account->ended && account->queued && !account->kept;
}

static bool anything_to_take(const struct world *world)
{
    for (unsigned i = 0; i < world->config->calls; i++) {
        if (may_speak(world, i) ? has_output(&world->account.calls[i]) : waits_ended(world, i))
            return true;
    }
    return false;
}

static bool is_over(const struct world *world, unsigned call)
{
    return world->account.closed || world->account.calls[call].ended;
}

/* What a put must return. */
static enum err_code rule_of_put(const struct world *world, unsigned call, char letter)
{
    if (is_over(world, call))
        return ERR_CANCELLED;
    if (letter == 't' && world->account.calls[call].waiting >= world->config->capacity)
        return ERR_LIMIT;
    return ERR_OK;
}

static void note_put(struct world *world, unsigned call, char letter, unsigned char place)
{
    struct call_account *account = &world->account.calls[call];

    if (letter == 'm')
        account->metadata = (unsigned char)(place + 1);
    else
        account->queue[account->queued++] = place;
    if (letter == 's')
        account->started = 1;
    if (letter == 't')
        account->waiting++;
    if (letter == 'e')
        account->ended = place == END_PLACE ? 1 : 2;
    if (!world->config->hidden[call] && world->account.floor == CALLS_MAX)
        world->account.floor = (unsigned char)call;
}

/* Removes what must come next from this call, and says what that is. */
static unsigned char note_pop(struct call_account *account)
{
    unsigned char place;

    if (account->metadata && !account->started) {
        place = (unsigned char)(account->metadata - 1);
        account->metadata = 0;
        return place;
    }
    place = account->queue[0];
    memmove(account->queue, account->queue + 1, --account->queued);
    account->queue[account->queued] = 0;
    if (account->started)
        account->started = 0;
    else if (place < END_PLACE)
        account->waiting--;
    return place;
}

/* The first that has more than a START, else the first that has one. */
static unsigned char next_floor(const struct world *world)
{
    unsigned char floor = CALLS_MAX;
    bool silent = true;

    for (unsigned i = 0; i < world->config->calls; i++) {
        const struct call_account *call = &world->account.calls[i];
        bool says_more = call->queued > call->started || call->metadata;

        if (world->config->hidden[i] || !has_output(call))
            continue;
        if (floor == CALLS_MAX || (silent && says_more)) {
            floor = (unsigned char)i;
            silent = !says_more;
        }
    }
    return floor;
}

static unsigned char note_take(struct world *world, unsigned call)
{
    struct call_account *account = &world->account.calls[call];
    unsigned char place;

    place = note_pop(account);
    if (place < END_PLACE)
        return place;
    account->end_taken = 1;
    if (world->account.floor == call)
        world->account.floor = next_floor(world);
    return place;
}

/* Checks what must hold after every step. */
static void check(const struct world *world)
{
    const struct account *account = &world->account;
    bool finished = true;

    for (unsigned i = 0; i < world->config->calls; i++) {
        const struct call_account *call = &account->calls[i];

        finished = finished && call->end_taken;
        assert_int_equal(tool_channel_call_over(world->channel, i), is_over(world, i));
        if (call->blocked && rule_of_put(world, i, 't') != ERR_LIMIT)
            assert_true(call->notified);
    }
    assert_int_equal(tool_channel_finished(world->channel), finished);
    assert_int_equal(tool_channel_closed(world->channel), account->closed);
    assert_true(account->wakes <= 1);
    if (account->asleep && !account->looks && anything_to_take(world))
        assert_int_equal(account->wakes, 1);
}

/* ---- what can happen ---- */

static char letter_at(const struct config *config, unsigned call, unsigned place)
{
    size_t length = strlen(config->scripts[call]);

    return place < length ? config->scripts[call][place] : place == length ? 'e' : '\0';
}

static enum err_code put_one(struct world *world, unsigned call, char letter,
                             unsigned char place)
{
    enum err_code expected = rule_of_put(world, call, letter);
    struct tool_output output = {
        .kind = letter == 't'   ? TOOL_OUTPUT_TEXT
                : letter == 's' ? TOOL_OUTPUT_START
                : letter == 'm' ? TOOL_OUTPUT_METADATA
                                : TOOL_OUTPUT_END,
        .length = place,
        .rc = place == EXPIRED_PLACE ? ERR_TIMEOUT : ERR_OK,
    };

    /* The account first: a wake comes out of the put. */
    if (!expected)
        note_put(world, call, letter, place);
    assert_int_equal(tool_channel_try_put(world->channel, call, &output), expected);
    return expected;
}

static void say(struct world *world, unsigned call)
{
    struct call_account *account = &world->account.calls[call];
    char letter = letter_at(world->config, call, account->said);
    enum err_code rc;

    account->blocked = 0;
    account->notified = 0;
    rc = put_one(world, call, letter, letter == 'e' ? END_PLACE : account->said);
    if (rc == ERR_LIMIT)
        account->blocked = 1;
    else
        account->said++;
}

static void expire(struct world *world, unsigned call)
{
    world->account.calls[call].expired = 1;
    (void)put_one(world, call, 'e', EXPIRED_PLACE);
}

static void take(struct world *world)
{
    struct account *account = &world->account;
    struct tool_output output;
    unsigned char place;
    bool hidden;

    if (!tool_channel_take(world->channel, &output)) {
        for (unsigned i = 0; i < world->config->calls; i++)
            assert_false(may_speak(world, i) && has_output(&account->calls[i]));
        account->asleep = account->looks = 1;
        account->wakes = 0;
        return;
    }
    assert_false(account->closed);
    assert_in_range(output.call, 0, world->config->calls - 1);
    assert_true(may_speak(world, output.call));
    assert_true(has_output(&account->calls[output.call]));
    hidden = world->config->hidden[output.call];
    place = note_take(world, output.call);
    assert_int_equal(output.length, place == KEPT_PLACE ? 0 : place);
    assert_int_equal(output.kept, place == KEPT_PLACE);
    assert_int_equal(output.hidden, hidden);
    assert_int_equal(output.kind == TOOL_OUTPUT_END, place >= END_PLACE);
    assert_int_equal(output.rc, place == EXPIRED_PLACE ? ERR_TIMEOUT : ERR_OK);
    account->asleep = account->looks = 0;
    account->wakes = 0;
    tool_output_clear(&output);
}

/* All outputs of the first call that has ended and waits for the floor. */
static void take_waiting(struct world *world)
{
    struct account *account = &world->account;
    struct tool_output *outputs;
    unsigned call = 0, count;

    while (call < world->config->calls && !waits_ended(world, call))
        call++;
    if (!tool_channel_take_waiting(world->channel, &outputs, &count)) {
        assert_int_equal(call, world->config->calls);
        account->looks = 0;
        return;
    }
    assert_true(call < world->config->calls && !account->closed);
    assert_int_equal(count, account->calls[call].queued + !!account->calls[call].metadata);
    for (unsigned i = 0; i < count; i++) {
        assert_int_equal(outputs[i].call, call);
        assert_int_equal(outputs[i].length, note_pop(&account->calls[call]));
        tool_output_clear(&outputs[i]);
    }
    free(outputs);
    account->calls[call].kept = 1;
    account->calls[call].queue[account->calls[call].queued++] = KEPT_PLACE;
}

static void close_it(struct world *world)
{
    struct account *account = &world->account;

    account->closed = 1;
    account->looks = 0;
    account->floor = CALLS_MAX;
    for (unsigned i = 0; i < world->config->calls; i++) {
        account->calls[i].queued = account->calls[i].waiting = account->calls[i].metadata = 0;
        account->calls[i].started = 0;
        memset(account->calls[i].queue, 0, sizeof(account->calls[i].queue));
    }
    tool_channel_close(world->channel);
}

/* Things are numbered: what each call says, what the timekeeper does to each call, the take,
 * the take of what waits, the close. */
static unsigned count_things(const struct config *config)
{
    return 2 * config->calls + 3;
}

static bool can_say(const struct config *config, const struct account *account, unsigned call)
{
    const struct call_account *it = &account->calls[call];

    return letter_at(config, call, it->said) && (!it->blocked || it->notified);
}

static bool can_happen(const struct config *config, const struct account *account, unsigned n)
{
    if (n < config->calls)
        return can_say(config, account, n);
    if (n < 2 * config->calls)
        return config->may_expire[n - config->calls] &&
               !account->calls[n - config->calls].expired;
    if (n == 2 * config->calls)
        return !account->asleep || account->wakes || config->may_poll;
    if (n == 2 * config->calls + 1)
        return account->looks;
    return config->may_close && !account->closed;
}

static void happen(struct world *world, unsigned n)
{
    unsigned calls = world->config->calls;

    if (n < calls)
        say(world, n);
    else if (n < 2 * calls)
        expire(world, n - calls);
    else if (n == 2 * calls)
        take(world);
    else if (n == 2 * calls + 1)
        take_waiting(world);
    else
        close_it(world);
    check(world);
}

/* ---- everywhere ---- */

struct explorer {
    const struct config *config;
    unsigned char path[PATH_LIMIT];
    unsigned length;
    uint64_t *seen; /* states by their hash; NULL: every path is walked, also to known states */
    size_t seen_size;
    size_t states;
};

static uint64_t hash_of(const struct world *world)
{
    const unsigned char *bytes = (const unsigned char *)&world->account;
    uint64_t hash = 14695981039346656037u;

    for (size_t i = 0; i < sizeof(world->account); i++)
        hash = (hash ^ bytes[i]) * 1099511628211u;
    /* The only state of the channel that the rules do not determine: whose turn it is. */
    hash = (hash ^ world->channel->turn) * 1099511628211u;
    return hash ? hash : 1;
}

/* True if it was new. */
static bool remember(struct explorer *explorer, uint64_t hash)
{
    size_t place = hash & (explorer->seen_size - 1);

    while (explorer->seen[place] && explorer->seen[place] != hash)
        place = (place + 1) & (explorer->seen_size - 1);
    if (explorer->seen[place] == hash)
        return false;
    explorer->seen[place] = hash;
    assert_true(explorer->states < explorer->seen_size / 2);
    return true;
}

/* Walks the path and returns the account at its end; true when that state is a new one. */
static bool walk(struct explorer *explorer, struct account *ret_account)
{
    struct world world;
    bool is_new;

    world_open(&world, explorer->config);
    for (unsigned i = 0; i < explorer->length; i++)
        happen(&world, explorer->path[i]);
    is_new = !explorer->seen || remember(explorer, hash_of(&world));
    *ret_account = world.account;
    world_close(&world);
    return is_new;
}

static void explore(struct explorer *explorer, const struct account *here)
{
    explorer->states++;
    assert_true(explorer->length < PATH_LIMIT);
    explorer->length++;
    for (unsigned n = 0; n < count_things(explorer->config); n++) {
        struct account there;

        if (!can_happen(explorer->config, here, n))
            continue;
        explorer->path[explorer->length - 1] = (unsigned char)n;
        if (walk(explorer, &there))
            explore(explorer, &there);
    }
    explorer->length--;
}

static size_t explore_all(struct explorer *explorer)
{
    struct account start;

    (void)walk(explorer, &start);
    explore(explorer, &start);
    return explorer->states;
}

static size_t explore_states(const struct config *config)
{
    struct explorer explorer = {.config = config, .seen_size = (size_t)1 << 20};

    explorer.seen = mem_new_array(uint64_t, explorer.seen_size);
    explore_all(&explorer);
    free(explorer.seen);
    return explorer.states;
}

static size_t explore_paths(const struct config *config)
{
    struct explorer explorer = {.config = config};

    return explore_all(&explorer);
}

/* ---- the tests ---- */

TEST(channel_keeps_its_rules_in_every_state)
{
    size_t states = 0;

    for (unsigned mask = 0; mask < 1u << CALLS_MAX; mask++)
        for (size_t capacity = 1; capacity <= 2; capacity++) {
            struct config config = {
                .calls = CALLS_MAX,
                .capacity = capacity,
                .scripts = {"st", "smt", "t"},
                .may_close = true,
                .may_poll = true,
            };

            for (unsigned i = 0; i < CALLS_MAX; i++)
                config.hidden[i] = mask >> i & 1;
            states += explore_states(&config);
        }
    print_message("%zu states\n", states);
    assert_true(states > 10000);
}

TEST(channel_keeps_its_rules_with_three_outputs_each)
{
    const struct config config = {
        .calls = CALLS_MAX,
        .capacity = 1,
        .scripts = {"sttt", "stmt", "smmt"},
        .hidden = {false, false, true},
        .may_close = true,
    };
    size_t states = explore_states(&config);

    print_message("%zu states\n", states);
    assert_true(states > 10000);
}

TEST(channel_keeps_its_rules_when_calls_expire)
{
    const struct config config = {
        .calls = CALLS_MAX,
        .capacity = 1,
        .scripts = {"stt", "t", "sm"},
        .hidden = {false, false, true},
        .may_expire = {true, false, true},
        .may_close = true,
    };
    size_t states;

    states = explore_states(&config);
    print_message("%zu states\n", states);
    assert_true(states > 10000);
}

/* Without the idea that equal states behave equally: every order, one by one. */
TEST(channel_keeps_its_rules_in_every_order)
{
    const struct config config = {
        .calls = 2,
        .capacity = 1,
        .scripts = {"s", "sm"},
        .may_expire = {true},
        .may_close = true,
    };
    const struct config hidden = {
        .calls = 2,
        .capacity = 1,
        .scripts = {"t", "t"},
        .hidden = {false, true},
        .may_close = true,
    };
    size_t paths;

    paths = explore_paths(&config) + explore_paths(&hidden);
    print_message("%zu paths\n", paths);
    assert_true(paths > 10000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(channel_keeps_its_rules_with_three_outputs_each),
        cmocka_unit_test(channel_keeps_its_rules_in_every_state),
        cmocka_unit_test(channel_keeps_its_rules_when_calls_expire),
        cmocka_unit_test(channel_keeps_its_rules_in_every_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
