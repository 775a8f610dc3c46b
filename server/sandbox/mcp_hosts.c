/*
 * mcp_hosts.c -- starts processes of MCP servers in boxes, and ends them, on workers: both take their time.
 */

#include "server/sandbox/mcp_hosts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/container/boxes.h"
#include "core/mcp/mcp_process.h"
#include "core/sandbox/box.h"
#include "server/config/config.h"
#include "server/sandbox/sandboxes.h"
#include "server/server.h"
#include "server/workers.h"

#define WORKERS       2   /* that start processes, and may wait for room */
#define STRINGS_LIMIT 400 /* arguments, and lines of the environment, of a process */
#define DOMAINS_LIMIT 100
#define CANNOT_START  "could not be started"

/* A process that runs. */
struct hosted {
    struct boxes_hold *hold;
    struct box_process *process;
    struct work work; /* its end */
};

struct starting {
    struct work work;
    struct server *server;
    struct mcp_start *start;
};

/* ---- Starting ---- */

/* A line replaces one of the same name. The texts are borrowed, but for those of the entry. */
struct lines {
    const char *texts[STRINGS_LIMIT + 1];
    char *own[STRINGS_LIMIT];
    size_t count, own_count;
};

static void put_line(struct lines *lines, char *line)
{
    size_t name = strcspn(line, "=") + 1, i = 0;

    if (lines->own_count == STRINGS_LIMIT || lines->count == STRINGS_LIMIT) {
        free(line);
        return;
    }
    while (i < lines->count && strncmp(lines->texts[i], line, name) != 0)
        i++;
    lines->own[lines->own_count++] = line;
    lines->texts[i] = line;
    lines->count += i == lines->count;
}

static void make_lines(const struct server *server, const struct mcp_named *named,
                       struct lines *lines)
{
    const char *const *usual = json_array_size(named->network)
                                   ? boxes_network_environment(server->boxes)
                                   : boxes_environment(server->boxes);
    const char *name;
    json_t *value;

    for (; *usual && lines->count < STRINGS_LIMIT; usual++)
        lines->texts[lines->count++] = *usual;
    put_line(lines, mem_strdup("HOME=/tmp"));
    json_object_foreach ((json_t *)(uintptr_t)named->environment, name, value)
        put_line(lines, mem_printf("%s=%s", name, json_string_value(value)));
}

static size_t list_texts(const json_t *list, const char **ret_texts, size_t room)
{
    size_t count = json_array_size(list) < room ? json_array_size(list) : room;

    for (size_t i = 0; i < count; i++)
        ret_texts[i] = json_string_value(json_array_get(list, i));
    return count;
}

static enum err_code take_box(const struct server *server, const struct mcp_named *named,
                              struct boxes_hold **ret_hold, struct err *err)
{
    const char *domains[DOMAINS_LIMIT];
    const struct box_folder folder = {.source = named->folder, .target = MCP_FOLDER};
    const struct boxes_request request = {
        .container = "",
        .folders = &folder,
        .folder_count = named->folder != NULL,
        .memory = named->memory,
        .use = BOXES_ALONE,
        .domains = domains,
        .domain_count = list_texts(named->network, domains, DOMAINS_LIMIT),
        .cancel = -1,
    };

    return boxes_take(server->boxes, &request, ret_hold, err);
}

static void close_end(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* The ends of the server do not block. */
static bool open_pipe(int *ret_pipe, int own)
{
    return pipe2(ret_pipe, O_CLOEXEC) == 0 && fcntl(ret_pipe[own], F_SETFL, O_NONBLOCK) == 0;
}

static enum err_code start_in(const struct server *server, const struct mcp_named *named,
                              struct box *box, struct mcp_pipes *ret_pipes,
                              struct box_process **ret_process, struct err *err)
{
    int input[2] = {-1, -1}, output[2] = {-1, -1}, errors[2] = {-1, -1};
    const char *arguments[STRINGS_LIMIT + 1] = {NULL};
    struct lines lines = {0};
    const struct box_command command = {.folder = named->folder ? MCP_FOLDER : "/tmp",
                                        .arguments = arguments,
                                        .environment = lines.texts};
    enum err_code rc;

    list_texts(named->command, arguments, STRINGS_LIMIT);
    make_lines(server, named, &lines);
    if (open_pipe(input, 1) && open_pipe(output, 0) && open_pipe(errors, 0))
        rc = box_start(box, &command, (int[]){input[0], output[1], errors[1]}, 3, ret_process,
                       err);
    else
        rc = err_set(err, ERR_INTERNAL, "no pipes: %s", strerror(errno));
    for (size_t i = 0; i < lines.own_count; i++)
        free(lines.own[i]);
    close_end(&input[0]);
    close_end(&output[1]);
    close_end(&errors[1]);
    if (rc) {
        close_end(&input[1]);
        close_end(&output[0]);
        close_end(&errors[0]);
        return rc;
    }
    *ret_pipes = (struct mcp_pipes){.input = input[1],
                                    .output = output[0],
                                    .errors = errors[0],
                                    .ended = box_process_fd(*ret_process)};
    return ERR_OK;
}

static void start_process(struct work *work)
{
    struct starting *starting = CONTAINER_OF(work, struct starting, work);
    const struct mcp_named *named = starting->start->named;
    struct hosted *hosted = mem_new(struct hosted);
    struct mcp_pipes pipes = {0};
    struct err err = {0};
    enum err_code rc = take_box(starting->server, named, &hosted->hold, &err);

    if (!rc)
        rc = start_in(starting->server, named, boxes_box(hosted->hold), &pipes,
                      &hosted->process, &err);
    pipes.process = hosted;
    if (rc) {
        log_error("MCP server '%s' has no process: %s", named->name, err.text);
        boxes_give(hosted->hold);
        free(hosted);
    }
    mcp_process_started(starting->start, rc ? NULL : &pipes, CANNOT_START);
    free(starting);
}

static void start(void *arg, struct mcp_start *what)
{
    struct server *server = arg;
    struct starting *starting = mem_new(struct starting);

    *starting = (struct starting){.work.run = start_process, .server = server, .start = what};
    workers_put(server->mcp_hosts, &starting->work);
}

/* ---- Ending ---- */

static void end_process(struct work *work)
{
    struct hosted *hosted = CONTAINER_OF(work, struct hosted, work);

    box_stop(hosted->process, NULL);
    boxes_give(hosted->hold);
    free(hosted);
}

static void stop(void *arg, void *process)
{
    const struct server *server = arg;
    struct hosted *hosted = process;

    hosted->work.run = end_process;
    if (server->mcp_ends)
        workers_put(server->mcp_ends, &hosted->work);
    else /* the server stops, and this one was just starting */
        end_process(&hosted->work);
}

/* Each call may reach the network as much as a call of any other tool. */
static void called(void *arg, void *process)
{
    const struct hosted *hosted = process;

    (void)arg;
    boxes_renew(hosted->hold);
}

/* ---- All of them ---- */

void mcp_hosts_want_room(struct server *server)
{
    if (server->mcp_processes)
        mcp_processes_reclaim(server->mcp_processes);
}

static bool has_processes(const struct config *config)
{
    for (size_t i = 0; i < config->mcp.count; i++) {
        if (config->mcp.servers[i].command)
            return true;
    }
    return false;
}

enum err_code mcp_hosts_start(struct server *server, struct err *err)
{
    const struct config *config = server->config;
    const struct mcp_processes_options options = {
        .count = config->sandbox_containers > 1 ? config->sandbox_containers / 2 : 1,
        .idle_ns = clock_ns_from_seconds(config->sandbox_idle),
        .start = start,
        .stop = stop,
        .called = called,
        .arg = server,
    };

    mcp_named_lack(sandboxes_obstacle(server));
    if (!has_processes(config) || !server->boxes || sandboxes_obstacle(server))
        return ERR_OK;
    server->mcp_hosts = workers_new(server->crew, WORKERS);
    server->mcp_ends = workers_new(server->crew, 1);
    return mcp_processes_new(&options, &server->mcp_processes, err);
}

void mcp_hosts_stop(struct server *server)
{
    if (server->boxes) /* what waits for a box gets none */
        boxes_drain(server->boxes);
    mcp_processes_stop(server->mcp_processes);
    workers_stop(TAKE(server->mcp_hosts));
    workers_stop(TAKE(server->mcp_ends));
    mcp_processes_free(TAKE(server->mcp_processes));
}
