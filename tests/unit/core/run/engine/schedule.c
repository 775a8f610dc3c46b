/*
 * Which schedules are played, and how one is chosen, written and read.
 *
 * All orders of a run cannot be tried: a run of a hundred steps with three actors ready at each has 3^100
 * of them. Most bugs need little: one incident at the right step, in an order in which
 * one party is much slower than the others. So three nets are cast, each finer and less complete:
 *
 *   every incident     in a few orders, before every step of the run. Complete for one incident.
 *   pairs              of incidents, at steps that a generator with a fixed seed chooses: a crash during
 *                      the recovery from a crash, a cancel while the database is away.
 *   random schedules   where chance chooses each actor, and up to three incidents.
 *
 * The orders are not arbitrary. In each of them one party is always first or always last, because that is
 * how systems are slow: the database, the loop, the reports of commits. A round robin alone would let every
 * message arrive after about the same time, and would never show a report that comes ten steps late.
 *
 * No chance from outside. Seeds are fixed, so a program that was green yesterday plays the same schedules
 * today: what turned it red is the change. RUNNEL_SCHEDULES=20 plays twenty times as many on a quiet night.
 *
 * Counting what is different. An incident that cannot happen at its step is skipped, and the schedule
 * then plays like another one. So schedules are counted by the hash of their steps, and `at_least`
 * fails a program whose incidents have quietly stopped happening.
 *
 * Rejected: a search that remembers states and explores all orders between them (partial order
 * reduction). It needs to know which steps commute and to compare states of the engine, which would tie
 * the test to the engine's insides.
 */

#include "tests/unit/core/run/engine/schedule.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/log.h"
#include "core/base/mem.h"
#include "tests/support/sanitized.h"
#include "tests/support/test.h"
#include "tests/unit/core/run/engine/world_client.h"
#include "tests/unit/core/run/engine/world_database.h"
#include "tests/unit/core/run/engine/world_model.h"
#include "tests/unit/core/run/engine/world_tools.h"

/* clang-format off */
static const char *const incident_names[INCIDENT_COUNT] = {
    [INCIDENT_NONE]        = "none",
    [INCIDENT_CRASH]       = "crash",
    [INCIDENT_CRASH_LATE]  = "crash_late",
    [INCIDENT_PAUSE]       = "pause",
    [INCIDENT_NAP]         = "nap",
    [INCIDENT_DRAIN]       = "drain",
    [INCIDENT_ABANDON]     = "abandon",
    [INCIDENT_CANCEL]      = "cancel",
    [INCIDENT_CANCEL_AWAY] = "cancel_away",
    [INCIDENT_EXPIRE]      = "expire",
    [INCIDENT_STALL]       = "stall",
    [INCIDENT_HANG_UP]     = "hang_up",
    [INCIDENT_LEAVE_MIDWAY]  = "leave_midway",
    [INCIDENT_STEER]       = "steer",
    [INCIDENT_APPROVE]     = "approve",
    [INCIDENT_REJECT]      = "reject",
    [INCIDENT_GRANT]       = "grant",
    [INCIDENT_SUBMIT]      = "submit",
    [INCIDENT_SUBMIT_AWAY] = "submit_away",
    [INCIDENT_FOLLOW]      = "follow",
    [INCIDENT_FOLLOW_AWAY] = "follow_away",
    [INCIDENT_FOLLOW_DEAF] = "follow_deaf",
    [INCIDENT_AWAY]        = "away",
    [INCIDENT_BLINK]       = "blink",
    [INCIDENT_LOSE_ANSWER] = "lose_answer",
    [INCIDENT_REFUSE]      = "refuse",
    [INCIDENT_CALL_FAILS]  = "call_fails",
    [INCIDENT_CALL_LOST]   = "call_lost",
    [INCIDENT_MODEL_FAILS] = "model_fails",
    [INCIDENT_TOOL_LATE]   = "tool_late",
    [INCIDENT_RENEW]       = "renew",
};

static const char *const order_names[ORDER_COUNT] = {
    [ORDER_TURNS]        = "turns",
    [ORDER_STORE_FIRST]  = "store_first",
    [ORDER_STORE_LAST]   = "store_last",
    [ORDER_REPORT_LAST]  = "report_last",
    [ORDER_CLIENT_FIRST] = "client_first",
    [ORDER_TOOLS_FIRST]  = "tools_first",
    [ORDER_MODEL_FIRST]  = "model_first",
    [ORDER_RANDOM]       = "random",
};

/* The kind with the smaller number acts first; actors of equal numbers take turns. */
static const unsigned char ranks[ORDER_COUNT][THING_COUNT] = {
    /*                       task timer commit report read model tool hint client keeper */
    [ORDER_TURNS]        = { 0,   0,    0,     0,     0,   0,    0,   0,   0,     0 },
    [ORDER_STORE_FIRST]  = { 2,   3,    0,     1,     2,   5,    5,   4,   4,     4 },
    [ORDER_STORE_LAST]   = { 0,   0,    8,     7,     6,   1,    1,   2,   3,     4 },
    [ORDER_REPORT_LAST]  = { 1,   2,    0,     9,     3,   4,    4,   5,   1,     6 },
    [ORDER_CLIENT_FIRST] = { 8,   9,    2,     3,     1,   5,    4,   1,   0,     6 },
    [ORDER_TOOLS_FIRST]  = { 2,   9,    3,     4,     5,   6,    0,   7,   8,     8 },
    [ORDER_MODEL_FIRST]  = { 3,   4,    5,     6,     8,   0,    2,   7,   1,     9 },
};
/* clang-format on */

const char *incident_name(enum incident incident)
{
    return incident_names[incident];
}

const char *order_name(enum order order)
{
    return order_names[order];
}

/* ---- As text ---- */

void schedule_text(const struct schedule *schedule, char *ret_text, size_t size)
{
    size_t length = (size_t)snprintf(ret_text, size, "%s %s", world->scenario->name,
                                     order_name(schedule->order));

    if (schedule->order == ORDER_RANDOM)
        length += (size_t)snprintf(ret_text + length, size - length, " %llu",
                                   (unsigned long long)schedule->seed);
    for (unsigned i = 0; i < schedule->count && length < size; i++)
        length += (size_t)snprintf(ret_text + length, size - length, " %u=%s",
                                   schedule->incidents[i].step,
                                   incident_name(schedule->incidents[i].incident));
}

bool schedule_is_shown(void)
{
    return getenv("RUNNEL_SCHEDULE");
}

static int find_word(const char *const *words, size_t count, const char *word)
{
    for (size_t i = 0; word && i < count; i++) {
        if (strcmp(words[i], word) == 0)
            return (int)i;
    }
    return -1;
}

static void parse_incident(struct schedule *schedule, char *word)
{
    char *name = strchr(word, '=');
    int incident;

    assert_non_null(name);
    *name++ = '\0';
    incident = find_word(incident_names, INCIDENT_COUNT, name);
    assert_true(incident > 0 && schedule->count < SCHEDULE_INCIDENTS);
    schedule->incidents[schedule->count].step = (unsigned)strtoul(word, NULL, 10);
    schedule->incidents[schedule->count++].incident = (enum incident)incident;
}

/* The next word of the text, which is ended there; NULL behind the last one. */
static char *next_word(char **rest)
{
    char *word = *rest;
    char *blank = word ? strchr(word, ' ') : NULL;

    if (blank)
        *blank = '\0';
    *rest = blank ? blank + 1 : NULL;
    return word;
}

static const struct scenario *parse_schedule(char *text, struct schedule *ret_schedule)
{
    char *rest = text;
    const struct scenario *scenario = scenario_find(next_word(&rest));
    int order = find_word(order_names, ORDER_COUNT, next_word(&rest));
    char *word;

    assert_non_null(scenario);
    assert_true(order >= 0);
    *ret_schedule = (struct schedule){.order = (enum order)order};
    while ((word = next_word(&rest))) {
        if (strchr(word, '='))
            parse_incident(ret_schedule, word);
        else
            ret_schedule->seed = strtoull(word, NULL, 10);
    }
    return scenario;
}

/* ---- Which actor acts next ---- */

static size_t find_ready(struct actor **ret_ready)
{
    size_t count = 0;

    for (size_t i = 0; i < world->actors.count; i++) {
        if (actor_is_ready(world->actors.list[i]))
            ret_ready[count++] = world->actors.list[i];
    }
    return count;
}

static bool comes_before(const struct actor *a, const struct actor *b)
{
    const unsigned char *rank = ranks[world->schedule->order];

    if (rank[a->ops->thing] != rank[b->ops->thing])
        return rank[a->ops->thing] < rank[b->ops->thing];
    return a->acted < b->acted;
}

struct actor *schedule_choose(void)
{
    struct actor *ready[256];
    size_t count = find_ready(ready);
    struct actor *next = NULL;

    assert_true(count < COUNT_OF(ready));
    if (world->schedule->order == ORDER_RANDOM) {
        if (!count || world_random_below(64) == 0)
            return NULL;
        return ready[world_random_below(count)];
    }
    for (size_t i = 0; i < count; i++) {
        if (!next || comes_before(ready[i], next))
            next = ready[i];
    }
    return next;
}

/* ---- What happens from outside ---- */

/* The owner of the run; without one, the node to which its client is connected. NULL: it is not up. */
static struct node *busy_node(const struct client *client)
{
    const struct record *record = database_find(client->run_id);

    for (unsigned i = 0; record && i < world->node_count; i++) {
        if (strcmp(world->nodes[i].id, record->lease.owner) == 0 &&
            node_is_up(&world->nodes[i]))
            return &world->nodes[i];
    }
    return node_is_up(client->node) ? client->node : NULL;
}

/* Each incident that stops a node, or needs another one, may boot one. */
static bool can_boot(void)
{
    return world->node_count + 1 < WORLD_NODES;
}

static bool stop_node(struct node *node, enum incident incident)
{
    if (!node || !can_boot())
        return false;
    switch (incident) {
    case INCIDENT_CRASH: node_crash(node, CRASH_NOW); break;
    case INCIDENT_CRASH_LATE: node_crash(node, CRASH_LATE); break;
    case INCIDENT_PAUSE: node_pause(node, 40 * NS_PER_SECOND); break;
    case INCIDENT_NAP: node_pause(node, 2 * NS_PER_SECOND); break;
    case INCIDENT_DRAIN: node_drain(node); break;
    default: node_abandon(node); break;
    }
    return true;
}

typedef bool client_action(struct client *client, struct node *node);

/* Through the node that has the run. */
static bool at_owner(client_action *action, struct client *client)
{
    struct node *node = busy_node(client);

    return node && action(client, node);
}

/* Through another node. */
static bool at_other_node(client_action *action, struct client *client)
{
    return can_boot() && action(client, node_other(busy_node(client)));
}

static bool renew(struct client *client, struct node *node)
{
    (void)client;
    return node_renew(node);
}

static bool stall(void)
{
    world->now_ns += 20 * NS_PER_SECOND;
    world->delays_ns += 20 * NS_PER_SECOND;
    return true;
}

static bool be_away(uint64_t ns)
{
    if (database_is_away())
        return false;
    database_go_away(ns);
    return true;
}

/* It happens to the next write, or the next call of the store. */
static bool arm(unsigned *count)
{
    if (*count)
        return false;
    *count = 1;
    return true;
}

static bool try_to_happen(struct client *client, enum incident incident)
{
    switch (incident) {
    case INCIDENT_CRASH:
    case INCIDENT_CRASH_LATE:
    case INCIDENT_PAUSE:
    case INCIDENT_NAP:
    case INCIDENT_DRAIN:
    case INCIDENT_ABANDON: return stop_node(busy_node(client), incident);
    case INCIDENT_CANCEL: return at_owner(client_cancel, client);
    case INCIDENT_CANCEL_AWAY: return at_other_node(client_cancel, client);
    case INCIDENT_STALL: return stall();
    case INCIDENT_HANG_UP: return client_hang_up(client);
    case INCIDENT_LEAVE_MIDWAY: return client_leave_midway(client);
    case INCIDENT_STEER: return at_owner(client_steer, client);
    case INCIDENT_APPROVE: return client_approve(client, node_up(client->node));
    case INCIDENT_REJECT: return client_reject(client, node_up(client->node));
    case INCIDENT_GRANT: return client_grant(client, node_up(client->node));
    case INCIDENT_SUBMIT: return at_owner(client_submit, client);
    case INCIDENT_SUBMIT_AWAY: return at_other_node(client_submit, client);
    case INCIDENT_FOLLOW: return at_owner(client_follow, client);
    case INCIDENT_FOLLOW_AWAY: return at_other_node(client_follow, client);
    case INCIDENT_FOLLOW_DEAF:
        return world->steps % 2 ? at_owner(client_follow_deaf, client)
                                : at_other_node(client_follow_deaf, client);
    case INCIDENT_AWAY: return be_away(20 * NS_PER_SECOND);
    case INCIDENT_BLINK: return be_away(NS_PER_SECOND);
    case INCIDENT_LOSE_ANSWER: return arm(&world->lose_answers);
    case INCIDENT_REFUSE: return arm(&world->refuse_writes);
    case INCIDENT_CALL_FAILS: return arm(&world->fail_calls);
    case INCIDENT_CALL_LOST: return arm(&world->forget_calls);
    case INCIDENT_MODEL_FAILS: return model_break();
    case INCIDENT_TOOL_LATE: return tools_time_out();
    case INCIDENT_RENEW: return at_owner(renew, client);
    case INCIDENT_EXPIRE: /* schedule_expiry_us() */
    case INCIDENT_NONE:
    case INCIDENT_COUNT: break;
    }
    return false;
}

static void note_incident(enum incident incident, uint64_t detail)
{
    world->incidents |= UINT32_C(1) << incident;
    world->hash = (world->hash ^ (1000 + incident + (detail << 16))) * 1099511628211u;
}

/* Of two clients the number of the step chooses one. */
static bool let_happen(enum incident incident)
{
    struct client *client = world->clients[world->steps % world->client_count];

    world_note("%s?", incident_name(incident));
    if (!try_to_happen(client, incident))
        return false;
    note_incident(incident, world->steps % world->client_count);
    return true;
}

/* Before one step in 32, until SCHEDULE_INCIDENTS have happened. */
static bool inject_by_chance(void)
{
    if (world->injected >= SCHEDULE_INCIDENTS || world_random_below(32))
        return false;
    if (!let_happen((enum incident)(1 + world_random_below(INCIDENT_COUNT - 1))))
        return false;
    world->injected++;
    return true;
}

bool schedule_inject(void)
{
    const struct schedule *schedule = world->schedule;

    if (schedule->order == ORDER_RANDOM)
        return inject_by_chance();
    while (world->injected < schedule->count &&
           schedule->incidents[world->injected].step <= world->steps) {
        if (let_happen(schedule->incidents[world->injected++].incident))
            return true;
    }
    return false;
}

/* The step in which the run's time is over; 0: it is given WORLD_EXPIRY_US. */
static uint64_t expiry_step(void)
{
    const struct schedule *schedule = world->schedule;

    if (schedule->order == ORDER_RANDOM)
        return world_random_below(8) ? 0 : 1 + world_random_below(80);
    for (unsigned i = 0; i < schedule->count; i++) {
        if (schedule->incidents[i].incident == INCIDENT_EXPIRE)
            return schedule->incidents[i].step;
    }
    return 0;
}

/* A step takes a millisecond. */
int64_t schedule_expiry_us(void)
{
    uint64_t step = expiry_step();

    if (!step)
        return WORLD_EXPIRY_US;
    note_incident(INCIDENT_EXPIRE, step);
    return step > world->steps ? (int64_t)(step - world->steps) * 1000 : 1000;
}

/* ---- All schedules of a program ---- */

#define SEEN_SIZE ((size_t)1 << 23)

struct explorer {
    uint64_t *seen; /* hashes of schedules that were played: open addressing, 0 is free */
    size_t different;
    size_t played;
    unsigned tried;   /* by explore_order(); of them one in `divisor` is played */
    unsigned times;   /* RUNNEL_SCHEDULES, or 1 */
    unsigned divisor; /* of all */
};

static void remember(struct explorer *explorer, uint64_t hash)
{
    size_t place = hash & (SEEN_SIZE - 1);

    hash = hash ? hash : 1;
    while (explorer->seen[place] && explorer->seen[place] != hash)
        place = (place + 1) & (SEEN_SIZE - 1);
    if (explorer->seen[place] == hash)
        return;
    explorer->seen[place] = hash;
    explorer->different++;
    assert_true(explorer->different < SEEN_SIZE / 2);
}

/* False: in this scenario the incident can never happen, so trying it is a waste. */
static bool is_possible(const struct scenario *scenario, enum incident incident)
{
    bool resumable = scenario->flags & RUN_RESUMABLE;
    bool of_thread = scenario->face == FACE_ASSISTANTS;

    switch (incident) {
    case INCIDENT_CANCEL:
    case INCIDENT_CANCEL_AWAY:
    case INCIDENT_FOLLOW:
    case INCIDENT_FOLLOW_AWAY:
    case INCIDENT_FOLLOW_DEAF: return resumable;
    case INCIDENT_SUBMIT:
    case INCIDENT_SUBMIT_AWAY: return of_thread;
    case INCIDENT_STEER: return !of_thread;
    case INCIDENT_LEAVE_MIDWAY: return scenario->flags & RUN_STREAMED;
    case INCIDENT_APPROVE:
    case INCIDENT_REJECT: return scenario->asks;
    case INCIDENT_GRANT: return scenario->grants != GRANT_NEVER;
    case INCIDENT_TOOL_LATE: return scenario->effects[0].key;
    default: return true;
    }
}

static unsigned play(struct explorer *explorer, const struct scenario *scenario,
                     const struct schedule *schedule)
{
    unsigned steps = 0;

    remember(explorer, world_play(scenario, schedule, &steps));
    explorer->played++;
    return steps;
}

static bool is_left_out(struct explorer *explorer)
{
    return explorer->tried++ % explorer->divisor != 0;
}

/* Every incident before every step. */
static void explore_order(struct explorer *explorer, const struct scenario *scenario,
                          enum order order, unsigned steps)
{
    for (unsigned step = 1; step <= steps; step++) {
        for (unsigned incident = 1; incident < INCIDENT_COUNT; incident++) {
            const struct schedule schedule = {
                .order = order, .count = 1, .incidents = {{step, (enum incident)incident}}};

            if (is_possible(scenario, (enum incident)incident) && !is_left_out(explorer))
                play(explorer, scenario, &schedule);
        }
    }
}

static uint64_t next_number(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

static enum incident any_incident(uint64_t *state, const struct scenario *scenario)
{
    enum incident incident;

    do
        incident = (enum incident)(1 + next_number(state) % (INCIDENT_COUNT - 1));
    while (!is_possible(scenario, incident));
    return incident;
}

static struct schedule any_pair(uint64_t *state, const struct scenario *scenario,
                                const unsigned *steps)
{
    enum order order = (enum order)(next_number(state) % ORDER_RANDOM);
    unsigned first = 1 + (unsigned)(next_number(state) % steps[order]);
    unsigned second = first + (unsigned)(next_number(state) % steps[order]);

    return (struct schedule){.order = order,
                             .count = 2,
                             .incidents = {{first, any_incident(state, scenario)},
                                           {second, any_incident(state, scenario)}}};
}

/* Only `count` orders are explored, to save time. Scenarios begin with different ones, so that together
 * they explore all. */
static void explore_orders(struct explorer *explorer, const struct scenario *scenario,
                           unsigned first, unsigned count, unsigned steps[ORDER_RANDOM])
{
    for (unsigned i = 0; i < ORDER_RANDOM; i++) {
        enum order order = (enum order)((first + i) % ORDER_RANDOM);

        steps[order] = play(explorer, scenario, &(struct schedule){.order = order});
        if (i < count)
            explore_order(explorer, scenario, order, steps[order]);
    }
}

static void explore_scenario(struct explorer *explorer, const struct exploration *exploration,
                             const struct scenario *scenario, unsigned number)
{
    unsigned steps[ORDER_RANDOM];
    uint64_t state = number + 1;

    explore_orders(explorer, scenario, number, exploration->orders * explorer->times, steps);
    for (unsigned i = 0; i < exploration->pairs * explorer->times / explorer->divisor; i++) {
        const struct schedule schedule = any_pair(&state, scenario, steps);

        play(explorer, scenario, &schedule);
    }
    for (unsigned i = 0; i < exploration->randoms * explorer->times / explorer->divisor; i++)
        play(explorer, scenario, &(struct schedule){.order = ORDER_RANDOM, .seed = i + 1});
}

/* An assertion of the engine failed, or it crashed: prints the schedule before the program dies. */
static void die(int number)
{
    char text[160] = "before the first step";

    if (world)
        schedule_text(world->schedule, text, sizeof(text));
    (void)fprintf(stderr, "signal %d in RUNNEL_SCHEDULE='%s'\n", number, text);
    (void)signal(number, SIG_DFL);
    (void)raise(number);
}

static double seconds_of_processor(void)
{
    return (double)clock() / CLOCKS_PER_SEC;
}

static void explore_one(const char *shown)
{
    AUTO_FREE char *text = mem_strdup(shown);
    struct schedule schedule;
    const struct scenario *scenario = parse_schedule(text, &schedule);

    (void)world_play(scenario, &schedule, NULL);
}

void explore(const struct exploration *exploration)
{
    const char *times = getenv("RUNNEL_SCHEDULES"), *part = getenv("RUNNEL_SCHEDULES_ONE_IN");
    struct explorer explorer = {.times = times ? (unsigned)strtoul(times, NULL, 10) : 1,
                                .divisor = part         ? (unsigned)strtoul(part, NULL, 10)
                                           : UNDER_ASAN ? 20
                                                        : 1};
    unsigned number = 0;
    double began = seconds_of_processor(), seconds;

    (void)signal(SIGABRT, die);
    (void)signal(SIGSEGV, die);
    tools_register();
    log_set_level(schedule_is_shown() ? LOG_INFO : LOG_OFF);
    if (schedule_is_shown()) {
        explore_one(getenv("RUNNEL_SCHEDULE"));
        return;
    }
    explorer.seen = mem_new_array(uint64_t, SEEN_SIZE);
    for (const struct scenario *const *at = exploration->scenarios; *at; at++)
        explore_scenario(&explorer, exploration, *at, number++);
    free(explorer.seen);
    seconds = seconds_of_processor() - began;
    print_message("%zu schedules, %zu different, %.1f s, %.0f a second\n", explorer.played,
                  explorer.different, seconds, (double)explorer.played / seconds);
    assert_true(explorer.different >= exploration->at_least / explorer.divisor);
}

/* ---- As a test program ---- */

TEST(every_schedule_keeps_the_rules)
{
    explore(*state);
}

int explore_main(const struct exploration *exploration)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_prestate(
        every_schedule_keeps_the_rules, (void *)(uintptr_t)exploration)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
