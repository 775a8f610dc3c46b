/*
 * The thread that sends and receives hints between nodes.
 *
 * There are two queues. Urgent hints change what a node does: a run is to be cancelled, runs
 * may be claimed, a run has moved. Hints between streams say again and again that a log has
 * grown, or that it is followed. With thousands of streams there are very many of them, so they
 * have a queue of their own: what it drops when it is full is never an urgent hint, and no
 * urgent hint waits behind it.
 *
 * Sending is limited to one round in 10 ms. The hints that gather meanwhile are sorted by
 * channel, and equal ones become one line. So one notification carries many hints, and
 * PostgreSQL's queue of notifications stays short however many streams there are.
 *
 * A hint about a follower names only the run, because asking for its owner would cost the
 * sender a statement. The statement that notifies the owners finds them, for all such hints at
 * once.
 *
 * The connection serves both directions. While it is lost nothing is sent, and every node falls
 * back on polling. Whenever it begins to listen, this node reports WAKEUP_MISSED to itself,
 * because hints for it may have been lost.
 *
 * Decided against: NOTIFY inside the transactions that the hints are about. It would save a
 * statement, but transactions with notifications wait for each other when they commit.
 */

#include "core/store/cluster/wakeups.h"

#include <assert.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/fault.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/domain/tenant.h"
#include "core/store/pg/batch.h"
#include "core/store/pg/state.h"
#include "core/store/tables/runs/load.h"

/* A hint that comes sooner after the last sending waits, and is sent with others. */
#define SEND_EVERY_NS (10 * NS_PER_MS)

/* For what is still queued when the store is closed. */
#define LAST_SEND_NS NS_PER_SECOND

/* Before connecting again when the connection is lost. */
#define BACKOFF_FIRST_NS (100 * NS_PER_MS)
#define BACKOFF_LIMIT_NS (2 * NS_PER_SECOND)

/* The limit of each queue. Further hints are dropped. */
#define WAITING_LIMIT ((size_t)10000)

/* Hints of streams that are sent at once, so that an urgent one need not wait for all of them. */
#define STREAM_PORTION ((size_t)500)

/* Bytes of one notification. PostgreSQL refuses 8000 and more. */
#define PAYLOAD_LIMIT ((size_t)7800)

/* The limit of PostgreSQL's names. */
#define CHANNEL_SIZE ((size_t)64)
#define ALL_NODES    "runnel"

struct hint {
    char channel[CHANNEL_SIZE]; /* "": that of the run's owner, to be found */
    char project[ID_SIZE];
    struct wakeup wakeup;
    struct hint *next;
};

struct queue {
    struct hint *first, **last;
    size_t waiting;
};

struct wakeups {
    struct store *store;
    wakeup_received *received;
    void *arg;
    pthread_t thread;
    int signal;        /* an eventfd: a hint is queued, or the thread is to stop */
    atomic_bool peers; /* whether there are other nodes */
    atomic_uint hints; /* how many others have sent so far */

    struct lock lock;
    struct queue urgent; /* guarded by lock, as all below */
    struct queue streams;
    bool started, stopping;

    /* The thread's own. */
    struct connection *connection;
    bool complained;   /* whether the log says already that it cannot listen */
    uint64_t retry_ns; /* when to connect again */
    uint64_t delay_ns;
    uint64_t send_ns; /* when to send again */
};

/* ---- A hint as a line ---- */

static const char *const keywords[] = {
    [WAKEUP_HELLO] = "hello",     [WAKEUP_MISSED] = "missed",
    [WAKEUP_CLAIM] = "claim",     [WAKEUP_CANCEL] = "cancel",
    [WAKEUP_FOLLOW] = "follow",   [WAKEUP_EVENTS] = "events",
    [WAKEUP_MOVED] = "moved",     [WAKEUP_ANSWERED] = "answered",
    [WAKEUP_DELETED] = "deleted", [WAKEUP_INGEST] = "ingest",
    [WAKEUP_FILES] = "files",     [WAKEUP_CONTAINER] = "container",
};

/* The next word of a line. False when it is too long. */
static bool read_word(const char **at, char *ret_word, size_t size)
{
    size_t length = strcspn(*at, " \n");

    if (length >= size)
        return false;
    memcpy(ret_word, *at, length);
    ret_word[length] = '\0';
    *at += length;
    *at += **at == ' ';
    return true;
}

/* Reads "follow run_abc node_xyz" up to the end of the line. False for a line that only a newer
 * version understands. */
static bool read_line(const char *line, struct wakeup *ret_wakeup)
{
    char word[16];

    *ret_wakeup = (struct wakeup){0};
    if (!read_word(&line, word, sizeof(word)) ||
        !read_word(&line, ret_wakeup->run_id, sizeof(ret_wakeup->run_id)) ||
        !read_word(&line, ret_wakeup->node, sizeof(ret_wakeup->node)))
        return false;
    for (size_t i = 0; i < COUNT_OF(keywords); i++) {
        if (strcmp(keywords[i], word) == 0) {
            ret_wakeup->kind = (enum wakeup_kind)i;
            return true;
        }
    }
    return false;
}

static void add_line(struct buf *payload, const struct wakeup *wakeup)
{
    buf_add_text(payload, keywords[wakeup->kind]);
    if (*wakeup->run_id) {
        buf_add_char(payload, ' ');
        buf_add_text(payload, wakeup->run_id);
    }
    buf_add_char(payload, '\n');
}

static void name_channel(const char *owner, char ret_channel[CHANNEL_SIZE])
{
    AUTO_FREE char *node = node_of(owner);

    (void)snprintf(ret_channel, CHANNEL_SIZE, ALL_NODES "_%s", node);
}

/* ---- The queues ---- */

static void wake_thread(struct wakeups *wakeups)
{
    /* If the counter is full, the thread will wake as well. */
    (void)!write(wakeups->signal, &(uint64_t){1}, sizeof(uint64_t));
}

/* Hints between streams are repeated all the time. There may be very many of them, so no other
 * hint waits behind them or is dropped for them. */
static bool is_stream_hint(enum wakeup_kind kind)
{
    return kind == WAKEUP_EVENTS || kind == WAKEUP_FOLLOW;
}

static void put_in_queue(struct wakeups *wakeups, struct hint *hint)
{
    struct queue *queue =
        is_stream_hint(hint->wakeup.kind) ? &wakeups->streams : &wakeups->urgent;
    bool first;

    lock_acquire(&wakeups->lock);
    first = !queue->first;
    if (wakeups->started && queue->waiting < WAITING_LIMIT) {
        *queue->last = hint;
        queue->last = &hint->next;
        queue->waiting++;
        hint = NULL;
    }
    lock_release(&wakeups->lock);
    if (first)
        wake_thread(wakeups);
    free(hint);
}

static void queue_hint(struct wakeups *wakeups, const char *channel, enum wakeup_kind kind,
                       const char *run_id)
{
    struct hint *hint = mem_new(struct hint);

    hint->wakeup.kind = kind;
    (void)snprintf(hint->channel, sizeof(hint->channel), "%s", channel);
    (void)snprintf(hint->wakeup.run_id, sizeof(hint->wakeup.run_id), "%s",
                   run_id ? run_id : "");
    put_in_queue(wakeups, hint);
}

void store_wake_node(struct store *store, const char *owner, enum wakeup_kind kind,
                     const char *run_id)
{
    char channel[CHANNEL_SIZE];

    name_channel(owner, channel);
    queue_hint(store->wakeups, channel, kind, run_id);
}

bool store_has_peers(const struct store *store)
{
    return atomic_load(&store->wakeups->peers);
}

void store_wake_others(struct store *store, enum wakeup_kind kind, const char *run_id)
{
    if (store_has_peers(store))
        queue_hint(store->wakeups, ALL_NODES, kind, run_id);
}

void store_wake_all(struct store *store, enum wakeup_kind kind, const char *run_id)
{
    struct wakeups *wakeups = store->wakeups;
    struct wakeup wakeup = {.kind = kind};
    bool started;

    lock_acquire(&wakeups->lock);
    started = wakeups->started;
    lock_release(&wakeups->lock);
    (void)snprintf(wakeup.run_id, sizeof(wakeup.run_id), "%s", run_id ? run_id : "");
    if (started)
        wakeups->received(wakeups->arg, &wakeup);
    store_wake_others(store, kind, run_id);
}

void store_wake_followed(struct store *store, const struct tenant *tenant, const char *run_id)
{
    struct hint *hint;

    if (!store_has_peers(store))
        return;
    hint = mem_new(struct hint);
    hint->wakeup.kind = WAKEUP_FOLLOW;
    memcpy(hint->project, tenant->project, sizeof(hint->project));
    (void)snprintf(hint->wakeup.run_id, sizeof(hint->wakeup.run_id), "%s", run_id);
    put_in_queue(store->wakeups, hint);
}

unsigned store_hints_received(const struct store *store)
{
    return atomic_load(&store->wakeups->hints);
}

/* Nodes that were here before notice this one at their next renewal, or by this greeting. */
void store_note_peers(struct store *store, enum wakeup_peers peers, unsigned received)
{
    struct wakeups *wakeups = store->wakeups;
    bool there = peers == PEERS_THERE || received != store_hints_received(store);

    if (atomic_exchange(&wakeups->peers, there) != there)
        store_wake_others(store, WAKEUP_HELLO, NULL);
}

static void empty_queue(struct queue *queue)
{
    *queue = (struct queue){.last = &queue->first};
}

/* Takes up to `limit` hints, oldest first. */
static struct hint *take_hints(struct wakeups *wakeups, struct queue *queue, size_t limit)
{
    struct hint *hints = NULL, **last = &hints;

    lock_acquire(&wakeups->lock);
    for (; queue->first && limit; limit--) {
        *last = queue->first;
        last = &(*last)->next;
        queue->first = *last;
        queue->waiting--;
    }
    *last = NULL;
    if (!queue->first)
        empty_queue(queue);
    lock_release(&wakeups->lock);
    return hints;
}

static bool has_hints(struct wakeups *wakeups)
{
    bool waiting;

    lock_acquire(&wakeups->lock);
    waiting = wakeups->urgent.first || wakeups->streams.first;
    lock_release(&wakeups->lock);
    return waiting;
}

static bool is_stopping(struct wakeups *wakeups)
{
    bool stopping;

    lock_acquire(&wakeups->lock);
    stopping = wakeups->stopping;
    lock_release(&wakeups->lock);
    return stopping;
}

static void free_hints(struct hint *hints)
{
    while (hints) {
        struct hint *hint = hints;

        hints = hint->next;
        free(hint);
    }
}

/* ---- The connection ---- */

/* A server that stops does not wait long for a silent database. */
static uint64_t deadline_of(struct wakeups *wakeups)
{
    uint64_t limit = wakeups->store->deadline_ns;

    if (is_stopping(wakeups) && limit > LAST_SEND_NS)
        limit = LAST_SEND_NS;
    return clock_mono_ns() + limit;
}

static void hang_up(struct wakeups *wakeups)
{
    connection_free(wakeups->connection);
    wakeups->connection = NULL;
    wakeups->delay_ns = wakeups->delay_ns ? wakeups->delay_ns * 2 : BACKOFF_FIRST_NS;
    if (wakeups->delay_ns > BACKOFF_LIMIT_NS)
        wakeups->delay_ns = BACKOFF_LIMIT_NS;
    wakeups->retry_ns = clock_mono_ns() + wakeups->delay_ns;
}

static enum err_code run_statement(struct wakeups *wakeups,
                                   const struct db_statement *statement, struct db_args *args,
                                   struct err *err)
{
    if (FAULT(statement->name))
        return err_set(err, ERR_STORE, "the database connection broke (fault)");
    connection_queue(wakeups->connection, statement, args);
    return connection_run(wakeups->connection, deadline_of(wakeups), NULL, NULL, err);
}

/* ---- Receiving ---- */

static void receive_line(struct wakeups *wakeups, const char *line)
{
    struct wakeup wakeup;

    if (!read_line(line, &wakeup))
        return;
    atomic_fetch_add(&wakeups->hints, 1);
    atomic_store(&wakeups->peers, true);
    if (wakeup.kind != WAKEUP_HELLO)
        wakeups->received(wakeups->arg, &wakeup);
}

static void receive(struct wakeups *wakeups)
{
    char *payload;

    if (!wakeups->connection)
        return;
    if (!connection_usable(wakeups->connection)) {
        log_debug("the connection on which other nodes wake this one was lost");
        hang_up(wakeups);
        return;
    }
    while ((payload = connection_take_notice(wakeups->connection))) {
        for (const char *line = payload; *line;) {
            receive_line(wakeups, line);
            line += strcspn(line, "\n");
            line += *line == '\n';
        }
        free(payload);
    }
}

/* ---- Sending ---- */

/* The order within a channel is lost. It carries no meaning: each hint says where to look, and
 * not what has changed. */
static int by_channel(const void *a, const void *b)
{
    struct hint *const *left = a, *const *right = b;

    return strcmp((*left)->channel, (*right)->channel);
}

static bool is_same(const struct hint *a, const struct hint *b)
{
    return strcmp(a->channel, b->channel) == 0 && a->wakeup.kind == b->wakeup.kind &&
           strcmp(a->wakeup.run_id, b->wakeup.run_id) == 0;
}

static struct hint **sort_hints(struct hint *hints, size_t *ret_count)
{
    struct hint **list;
    size_t count = 0;

    for (struct hint *hint = hints; hint; hint = hint->next)
        count++;
    list = mem_new_array(struct hint *, count + 1);
    count = 0;
    for (struct hint *hint = hints; hint; hint = hint->next)
        list[count++] = hint;
    qsort(list, count, sizeof(*list), by_channel);
    *ret_count = count;
    return list;
}

/* One notification for all hints to a channel, unless it would be too long. */
static void add_notices(struct batch *batch, struct hint *const *hints, size_t count)
{
    AUTO_BUF payload = {0};

    for (size_t i = 0; i < count; i++) {
        if (i == 0 || !is_same(hints[i - 1], hints[i]))
            add_line(&payload, &hints[i]->wakeup);
        if (!payload.length)
            continue;
        if (i + 1 < count && by_channel(&hints[i], &hints[i + 1]) == 0 &&
            payload.length < PAYLOAD_LIMIT - 2 * sizeof(struct wakeup))
            continue;
        batch_begin(batch);
        batch_text(batch, hints[i]->channel);
        batch_text(batch, payload.data);
        buf_reset(&payload);
    }
}

static enum err_code send_notices(struct wakeups *wakeups, struct hint *const *hints,
                                  size_t count, struct err *err)
{
    static const struct db_statement notify = {
        "wakeups_send", "SELECT pg_notify(u.channel, u.payload)"
                        " FROM unnest($1::text[], $2::text[]) u (channel, payload)"};
    AUTO_BATCH batch = {0};
    AUTO_DB_ARGS args = {0};

    if (!count)
        return ERR_OK;
    add_notices(&batch, hints, count);
    batch_finish(&batch, &args);
    return run_statement(wakeups, &notify, &args, err);
}

/* Several followers on this node may follow the same run: of equal notifications PostgreSQL
 * delivers one. */
static enum err_code send_follows(struct wakeups *wakeups, struct hint *const *hints,
                                  size_t count, struct err *err)
{
    static const struct db_statement notify = {
        "wakeups_follow",
        "SELECT pg_notify(left('" ALL_NODES "_' || split_part(l.owner, '/', 1), 63),"
        "  'follow ' || u.run_id || ' ' || $3 || E'\\n')"
        " FROM unnest($1::text[], $2::text[]) u (project_id, run_id)"
        " CROSS JOIN LATERAL (SELECT owner FROM run_leases l"
        "  WHERE l.project_id = u.project_id AND l.run_id = u.run_id OFFSET 0) l"
        " WHERE split_part(l.owner, '/', 1) <> $3"};
    AUTO_FREE char *node = node_of(wakeups->store->node_id);
    AUTO_BATCH batch = {0};
    AUTO_DB_ARGS args = {0};

    if (!count)
        return ERR_OK;
    for (size_t i = 0; i < count; i++) {
        batch_begin(&batch);
        batch_text(&batch, hints[i]->project);
        batch_text(&batch, hints[i]->wakeup.run_id);
    }
    batch_finish(&batch, &args);
    db_arg_text(&args, node);
    return run_statement(wakeups, &notify, &args, err);
}

/* Hints whose channel is still to be found are sorted first. */
static enum err_code send_hints(struct wakeups *wakeups, struct hint *hints, struct err *err)
{
    AUTO_FREE struct hint **list = NULL;
    size_t count, unknown = 0;
    enum err_code rc;

    list = sort_hints(hints, &count);
    while (unknown < count && !list[unknown]->channel[0])
        unknown++;
    rc = send_follows(wakeups, list, unknown, err);
    return rc ? rc : send_notices(wakeups, list + unknown, count - unknown, err);
}

/* Hints that could not be sent are dropped: the nodes that they were for poll. */
static void send_queue(struct wakeups *wakeups, struct queue *queue, size_t limit)
{
    struct hint *hints;
    struct err err;

    if (!wakeups->connection)
        return;
    hints = take_hints(wakeups, queue, limit);
    if (!hints)
        return;
    if (send_hints(wakeups, hints, &err)) {
        log_warn("wake-ups for other nodes were not sent: %s", err.text);
        hang_up(wakeups);
    }
    wakeups->send_ns = clock_mono_ns() + SEND_EVERY_NS;
    free_hints(hints);
}

static void send_if_due(struct wakeups *wakeups)
{
    if (clock_mono_ns() < wakeups->send_ns)
        return;
    send_queue(wakeups, &wakeups->urgent, SIZE_MAX);
    send_queue(wakeups, &wakeups->streams, is_stopping(wakeups) ? SIZE_MAX : STREAM_PORTION);
}

/* ---- Connecting ---- */

/* Those that this node knows of: an earlier greeting may have been queued before the thread had started, or lost with
 * the last connection. */
static enum err_code greet(struct wakeups *wakeups, struct err *err)
{
    struct hint hello = {.channel = ALL_NODES, .wakeup = {.kind = WAKEUP_HELLO}},
                *hints = &hello;

    return atomic_load(&wakeups->peers) ? send_notices(wakeups, &hints, 1, err) : ERR_OK;
}

/* LISTEN takes an identifier and no parameter, so the name is quoted here. node_id is the
 * operator's. */
static enum err_code listen_to(struct wakeups *wakeups, const char *channel, struct err *err)
{
    AUTO_BUF sql = {0};
    struct db_statement statement = {.name = NULL};

    if (FAULT("wakeups.listen"))
        return err_set(err, ERR_STORE, "the database connection broke (fault)");
    buf_add_text(&sql, "LISTEN \"");
    for (; *channel; channel++) {
        if (*channel == '"')
            buf_add_char(&sql, '"');
        buf_add_char(&sql, *channel);
    }
    buf_add_char(&sql, '"');
    statement.sql = sql.data;
    connection_queue(wakeups->connection, &statement, NULL);
    return connection_run(wakeups->connection, deadline_of(wakeups), NULL, NULL, err);
}

/* Through a pooler no notification arrives, although LISTEN succeeds. What this node sends does
 * arrive. */
static enum err_code begin_to_listen(struct wakeups *wakeups, struct err *err)
{
    char channel[CHANNEL_SIZE];
    bool pooled = false;
    enum err_code rc =
        connection_detect_pooler(wakeups->connection, deadline_of(wakeups), &pooled, err);

    if (rc)
        return rc;
    if (pooled) {
        connection_set_pooled(wakeups->connection);
        if (!wakeups->complained)
            log_warn("the database is behind a pooler, where other nodes cannot wake this one: "
                     "set database_direct_url");
        wakeups->complained = true;
        return greet(wakeups, err);
    }
    name_channel(wakeups->store->node_id, channel);
    rc = greet(wakeups, err);
    if (!rc)
        rc = listen_to(wakeups, ALL_NODES, err);
    return rc ? rc : listen_to(wakeups, channel, err);
}

static enum err_code open_connection(struct wakeups *wakeups, struct err *err)
{
    enum err_code rc;

    if (FAULT("wakeups.connect"))
        return err_set(err, ERR_STORE, "the database is away (fault)");
    rc = connection_open(wakeups->store->direct_url, deadline_of(wakeups), &wakeups->connection,
                         err);
    return rc ? rc : begin_to_listen(wakeups, err);
}

/* While the database is away, only the keeper tries to reach it. What others sent before this node listened is lost,
 * their greetings included, so the keeper is made to look. */
static void connect_if_due(struct wakeups *wakeups)
{
    const struct wakeup missed = {.kind = WAKEUP_MISSED};
    struct err err;

    if (wakeups->connection || clock_mono_ns() < wakeups->retry_ns)
        return;
    if (!store_is_up(wakeups->store)) {
        hang_up(wakeups);
        return;
    }
    if (open_connection(wakeups, &err)) {
        if (!wakeups->complained)
            log_warn("other nodes cannot wake this one: %s", err.text);
        wakeups->complained = true;
        hang_up(wakeups);
        return;
    }
    wakeups->delay_ns = 0;
    wakeups->send_ns = 0;
    wakeups->received(wakeups->arg, &missed);
}

/* ---- The thread ---- */

static int ms_until(uint64_t moment_ns)
{
    uint64_t now = clock_mono_ns();

    return moment_ns > now ? (int)((moment_ns - now + NS_PER_MS - 1) / NS_PER_MS) : 0;
}

static int wait_limit_ms(struct wakeups *wakeups)
{
    if (!wakeups->connection)
        return ms_until(wakeups->retry_ns);
    return has_hints(wakeups) ? ms_until(wakeups->send_ns) : -1;
}

/* The eventfd is non-blocking, so reading it also when it was not signalled is harmless. */
static void await_something(struct wakeups *wakeups)
{
    struct pollfd watched[] = {
        {.fd = wakeups->signal, .events = POLLIN},
        {.fd = wakeups->connection ? connection_socket(wakeups->connection) : -1,
         .events = POLLIN},
    };
    uint64_t count;

    (void)poll(watched, COUNT_OF(watched), wait_limit_ms(wakeups));
    (void)!read(wakeups->signal, &count, sizeof(count));
}

static void *run_wakeups(void *arg)
{
    struct wakeups *wakeups = arg;

    pthread_setname_np(pthread_self(), "wakeups");
    while (!is_stopping(wakeups)) {
        connect_if_due(wakeups);
        receive(wakeups);
        send_if_due(wakeups);
        receive(wakeups); /* what arrived while it was sending */
        await_something(wakeups);
    }
    wakeups->send_ns = 0;
    send_if_due(wakeups);
    connection_free(TAKE(wakeups->connection));
    return NULL;
}

struct wakeups *wakeups_new(struct store *store)
{
    struct wakeups *wakeups = mem_new(struct wakeups);

    wakeups->store = store;
    empty_queue(&wakeups->urgent);
    empty_queue(&wakeups->streams);
    lock_init(&wakeups->lock, LOCK_STORE_QUEUE);
    wakeups->signal = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (wakeups->signal < 0)
        abort();
    return wakeups;
}

void wakeups_free(struct wakeups *wakeups)
{
    free_hints(take_hints(wakeups, &wakeups->urgent, SIZE_MAX));
    free_hints(take_hints(wakeups, &wakeups->streams, SIZE_MAX));
    close(wakeups->signal);
    lock_destroy(&wakeups->lock);
    free(wakeups);
}

static void set_started(struct wakeups *wakeups, bool started)
{
    lock_acquire(&wakeups->lock);
    wakeups->started = started;
    lock_release(&wakeups->lock);
}

enum err_code store_wakeups_start(struct store *store, wakeup_received *received, void *arg,
                                  struct err *err)
{
    struct wakeups *wakeups = store->wakeups;

    wakeups->received = received;
    wakeups->arg = arg;
    wakeups->stopping = false;
    wakeups->retry_ns = wakeups->delay_ns = 0;
    set_started(wakeups, true); /* before the thread runs: its first hints are queued, too */
    if (pthread_create(&wakeups->thread, NULL, run_wakeups, wakeups) == 0)
        return ERR_OK;
    set_started(wakeups, false);
    return err_set(err, ERR_INTERNAL, "cannot start the thread that wakes other nodes");
}

void store_wakeups_stop(struct store *store)
{
    struct wakeups *wakeups = store->wakeups;

    bool started;

    lock_acquire(&wakeups->lock);
    started = wakeups->started;
    wakeups->started = false;
    wakeups->stopping = true;
    lock_release(&wakeups->lock);
    if (!started)
        return;
    wake_thread(wakeups);
    pthread_join(wakeups->thread, NULL);
}
