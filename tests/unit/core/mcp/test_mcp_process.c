/* Processes of MCP servers: who shares one, what becomes of calls when it ends, and which one ends for its memory. The
 * processes are real ones, without a box. */

#include "core/mcp/mcp_process.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "tests/support/test.h"

extern char **environ;

/* Answers with its pid. "end" ends it, "slow" is never answered. */
static const char program[] =
    "while read -r line; do\n"
    "  id=${line##*'\"id\":'}; id=${id%%[!0-9]*}\n"
    "  case $line in\n"
    "  *'\"initialize\"'*) echo "
    "'{\"jsonrpc\":\"2.0\",\"id\":'$id',\"result\":{\"capabilities\":{}}}';;\n"
    "  *'\"slow\"'*) ;;\n"
    "  *'\"end\"'*) exit 3;;\n"
    "  *'\"tools/call\"'*) echo '{\"jsonrpc\":\"2.0\",\"id\":'$id',\"result\":'$$'}';;\n"
    "  esac\n"
    "done\n";

static struct mcp_processes *processes;
static const struct mcp_named servers[] = {{.name = "one"}, {.name = "two"}, {.name = "three"}};
static atomic_uint calls;

/* ---- Real processes ---- */

struct child {
    pid_t pid;
    int ended;
};

static void start_child(void *arg, struct mcp_start *start)
{
    struct child *child = mem_new(struct child);
    const char *const arguments[] = {"sh", "-c", program, NULL};
    posix_spawn_file_actions_t actions;
    int input[2], output[2], errors[2];
    struct mcp_pipes pipes;

    (void)arg;
    assert_int_equal(
        pipe2(input, O_CLOEXEC) + pipe2(output, O_CLOEXEC) + pipe2(errors, O_CLOEXEC), 0);
    assert_int_equal(posix_spawn_file_actions_init(&actions), 0);
    assert_int_equal(posix_spawn_file_actions_adddup2(&actions, input[0], 0), 0);
    assert_int_equal(posix_spawn_file_actions_adddup2(&actions, output[1], 1), 0);
    assert_int_equal(posix_spawn_file_actions_adddup2(&actions, errors[1], 2), 0);
    assert_int_equal(posix_spawn(&child->pid, "/bin/sh", &actions, NULL,
                                 (char *const *)(uintptr_t)arguments, environ),
                     0);
    posix_spawn_file_actions_destroy(&actions);
    close(input[0]);
    close(output[1]);
    close(errors[1]);
    assert_int_equal(fcntl(input[1], F_SETFL, O_NONBLOCK), 0);
    assert_int_equal(fcntl(output[0], F_SETFL, O_NONBLOCK), 0);
    assert_int_equal(fcntl(errors[0], F_SETFL, O_NONBLOCK), 0);
    child->ended = (int)syscall(SYS_pidfd_open, child->pid, 0);
    assert_true(child->ended >= 0);
    pipes = (struct mcp_pipes){input[1], output[0], errors[0], child->ended, child};
    mcp_process_started(start, &pipes, NULL);
}

static void stop_child(void *arg, void *process)
{
    struct child *child = process;

    (void)arg;
    kill(child->pid, SIGKILL);
    assert_int_equal(waitpid(child->pid, NULL, 0), child->pid);
    close(child->ended);
    free(child);
}

static void count_call(void *arg, void *process)
{
    (void)arg;
    assert_non_null(process);
    atomic_fetch_add(&calls, 1);
}

/* ---- Sessions, each on a loop of its own ---- */

struct session {
    struct loop *loop;
    struct loop_task task;
    void (*act)(struct session *session);
    sem_t acted, received;
    const struct mcp_named *named;
    struct tenant tenant;
    struct mcp_link *link; /* on the loop */
    char *text;            /* to send */
    json_int_t result;     /* of the last answer; 0: its id is another one */
    json_int_t id;
    char end[128]; /* why the link has ended */
};

static void run_act(struct loop_task *task)
{
    struct session *session = CONTAINER_OF(task, struct session, task);

    session->act(session);
    sem_post(&session->acted);
}

static void act(struct session *session, void (*what)(struct session *session))
{
    session->task.run = run_act;
    session->act = what;
    loop_post(session->loop, &session->task);
    sem_wait(&session->acted);
}

static void on_message(void *arg, json_t *message)
{
    struct session *session = arg;
    bool its = json_get_int(message, "id", 0) == session->id;

    session->result = its ? json_get_int(message, "result", -1) : 0;
    sem_post(&session->received);
}

static void on_end(void *arg, const struct mcp_answer *why)
{
    struct session *session = arg;

    session->link = NULL;
    snprintf(session->end, sizeof(session->end), "%s", why->text);
    sem_post(&session->received);
}

static void do_open(struct session *session)
{
    const struct mcp_link_options options = {.named = session->named,
                                             .tenant = &session->tenant,
                                             .loop = session->loop,
                                             .on_message = on_message,
                                             .on_end = on_end,
                                             .arg = session};

    *session->end = '\0';
    session->link = mcp_link_open(processes, &options);
}

static void do_send(struct session *session)
{
    if (session->link)
        mcp_link_send(session->link, TAKE(session->text));
    free(TAKE(session->text));
}

static void do_close(struct session *session)
{
    mcp_link_close(TAKE(session->link));
}

static void send_request(struct session *session, const char *method, const char *name)
{
    session->id++;
    session->text =
        mem_printf("{\"jsonrpc\":\"2.0\",\"method\":\"%s\",\"params\":{\"name\":\"%s\"},"
                   "\"id\":%lld}",
                   method, name, (long long)session->id);
    act(session, do_send);
}

/* The pid of the process that has answered; -1: something else, 0: the link has ended. */
static json_int_t ask(struct session *session, const char *method, const char *name)
{
    session->result = 0;
    send_request(session, method, name);
    sem_wait(&session->received);
    return session->result;
}

static void open_session(struct session *session, size_t server, const char *project)
{
    session->named = &servers[server];
    session->tenant = tenant_of_project(project);
    act(session, do_open);
    (void)ask(session, "initialize", "");
}

static void new_session(struct session *session)
{
    *session = (struct session){.loop = loop_new("session")};
    sem_init(&session->acted, 0, 0);
    sem_init(&session->received, 0, 0);
    assert_int_equal(loop_start(session->loop, NULL), ERR_OK);
}

static void end_session(struct session *session)
{
    act(session, do_close);
    loop_stop(session->loop);
}

/* What still comes for it is freed when the processes have stopped. */
static void free_session(struct session *session)
{
    loop_finish(session->loop);
    loop_free(session->loop);
    sem_destroy(&session->acted);
    sem_destroy(&session->received);
}

static struct mcp_processes_counts counts(void)
{
    struct mcp_processes_counts now;

    mcp_processes_count(processes, &now);
    return now;
}

static void await_running(uint64_t count)
{
    while (counts().running != count)
        sched_yield();
}

static struct session a, b, c;

static int set_up(void **state)
{
    const struct mcp_processes_options options = {.count = 3,
                                                  .idle_ns = (uint64_t)600 * 1000000000,
                                                  .start = start_child,
                                                  .stop = stop_child,
                                                  .called = count_call};

    (void)state;
    atomic_store(&calls, 0);
    new_session(&a);
    new_session(&b);
    new_session(&c);
    return mcp_processes_new(&options, &processes, NULL) ? -1 : 0;
}

static int tear_down(void **state)
{
    (void)state;
    end_session(&a);
    end_session(&b);
    end_session(&c);
    mcp_processes_stop(processes);
    mcp_processes_free(processes);
    free_session(&a);
    free_session(&b);
    free_session(&c);
    return waitpid(-1, NULL, WNOHANG) == -1 ? 0 : -1; /* no process is left */
}

TEST(links_of_a_project_share_a_process_and_get_their_own_answers)
{
    json_int_t pid;

    open_session(&a, 0, "proj_a");
    open_session(&b, 0, "proj_a");
    open_session(&c, 0, "proj_b");
    pid = ask(&a, "tools/call", "who");
    assert_true(pid > 0);
    b.id = a.id - 1; /* the same id at the same time */
    assert_int_equal(ask(&b, "tools/call", "who"), pid);
    assert_int_not_equal(ask(&c, "tools/call", "who"), pid);
    assert_int_equal(counts().started, 2);
    assert_int_equal(atomic_load(&calls), 3);
}

TEST(a_call_ends_with_its_process_and_the_fifth_start_is_the_last)
{
    for (unsigned i = 0; i < MCP_PROCESS_STARTS; i++) {
        open_session(&a, 0, "proj_a");
        assert_int_equal(ask(&a, "tools/call", "end"), 0);
        assert_string_equal(a.end, "has ended");
    }
    act(&a, do_open);
    sem_wait(&a.received);
    assert_string_equal(a.end, "has ended too often, and is not started again yet");
    assert_int_equal(counts().ended, MCP_PROCESS_STARTS);
}

TEST(the_process_that_is_unused_longest_ends_for_its_memory)
{
    json_int_t first, second, third;

    open_session(&a, 0, "proj_a");
    open_session(&b, 1, "proj_a");
    open_session(&c, 2, "proj_a");
    first = ask(&a, "tools/call", "who");
    second = ask(&b, "tools/call", "who");
    third = ask(&c, "tools/call", "who");
    act(&b, do_close);
    act(&a, do_close);
    mcp_processes_reclaim(processes);
    await_running(2);
    open_session(&a, 0, "proj_a");
    assert_int_equal(ask(&a, "tools/call", "who"), first);
    assert_int_equal(ask(&c, "tools/call", "who"), third);
    open_session(&b, 1, "proj_a");
    assert_int_not_equal(ask(&b, "tools/call", "who"), second);
    assert_int_equal(counts().ended, 0);
}

TEST(what_all_use_ends_when_it_is_not_used_any_more)
{
    open_session(&a, 0, "proj_a");
    mcp_processes_reclaim(processes);
    assert_true(ask(&a, "tools/call", "who") > 0);
    assert_int_equal(counts().running, 1);
    act(&a, do_close);
    await_running(0);
    open_session(&a, 0, "proj_a");
    act(&a, do_close);
    open_session(&a, 0, "proj_a"); /* once */
    assert_int_equal(counts().running, 1);
}

TEST(an_end_for_memory_is_no_start_too_many)
{
    for (unsigned i = 0; i < 2 * MCP_PROCESS_STARTS; i++) {
        open_session(&a, 0, "proj_a");
        assert_true(ask(&a, "tools/call", "who") > 0);
        act(&a, do_close);
        mcp_processes_reclaim(processes);
        await_running(0);
    }
}

static void *churn(void *argument)
{
    struct session *session = argument;

    for (unsigned i = 0; i < 40; i++) {
        open_session(session, i % 2, "proj_a");
        if (i % 3 == 0)
            send_request(session, "tools/call", "slow");
        act(session, do_close);
    }
    return NULL;
}

/* For ThreadSanitizer: three loops, and memory that is wanted all the time. */
TEST(links_come_and_go_while_memory_is_wanted)
{
    struct session *const all[] = {&a, &b, &c};
    pthread_t threads[3];

    for (size_t i = 0; i < COUNT_OF(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, churn, all[i]), 0);
    for (unsigned i = 0; i < 2000; i++) {
        mcp_processes_reclaim(processes);
        sched_yield();
    }
    for (size_t i = 0; i < COUNT_OF(threads); i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(counts().ended, 0);
}

#define PROCESSES(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        PROCESSES(links_of_a_project_share_a_process_and_get_their_own_answers),
        PROCESSES(a_call_ends_with_its_process_and_the_fifth_start_is_the_last),
        PROCESSES(the_process_that_is_unused_longest_ends_for_its_memory),
        PROCESSES(what_all_use_ends_when_it_is_not_used_any_more),
        PROCESSES(an_end_for_memory_is_no_start_too_many),
        PROCESSES(links_come_and_go_while_memory_is_wanted),
    };

    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
