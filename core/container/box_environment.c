#include "core/container/box_environment.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/sandbox/workspace/workspace_path.h"

static const char *const usual[] = {
    "PATH=/usr/local/bin:/usr/bin:/bin",
    ("HOME=" WORKSPACE_MOUNT),
    "LANG=C.UTF-8",
    "TMPDIR=/tmp",
    "USER=box",
    "MPLBACKEND=Agg",
    "MPLCONFIGDIR=/tmp/.matplotlib",
    "XDG_CACHE_HOME=/tmp/.cache",
};

/* Libraries that start a thread for each processor of the host, also where the box has fewer. */
static const char *const threads[] = {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS",
                                      "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS"};

/* Adds a line, or puts it at the place of one with the same name. Takes it. */
static void put(char **lines, char *line)
{
    size_t name = strcspn(line, "=") + 1;

    while (*lines && strncmp(*lines, line, name) != 0)
        lines++;
    free(*lines);
    *lines = line;
}

char **box_environment_new(unsigned cpus, const char *const *more)
{
    size_t count = sizeof(usual) / sizeof(*usual) + sizeof(threads) / sizeof(*threads);
    char **lines;

    for (size_t i = 0; more && more[i]; i++)
        count++;
    lines = mem_new_array(char *, count + 1);
    for (size_t i = 0; i < sizeof(usual) / sizeof(*usual); i++)
        put(lines, mem_strdup(usual[i]));
    for (size_t i = 0; i < sizeof(threads) / sizeof(*threads); i++)
        put(lines, mem_printf("%s=%u", threads[i], cpus));
    for (size_t i = 0; more && more[i]; i++)
        put(lines, mem_strdup(more[i]));
    return lines;
}

/* Programs differ in the case that they look for. Node looks for none of them without the last line. */
char **box_environment_through(const char *const *environment, unsigned port)
{
    static const char *const names[] = {"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY",
                                        "http_proxy", "https_proxy", "all_proxy"};
    static const char *const others[] = {
        "NO_PROXY=localhost,127.0.0.1", "no_proxy=localhost,127.0.0.1", "NODE_USE_ENV_PROXY=1"};
    size_t count = sizeof(names) / sizeof(*names) + sizeof(others) / sizeof(*others);
    char **lines;

    for (size_t i = 0; environment[i]; i++)
        count++;
    lines = mem_new_array(char *, count + 1);
    for (size_t i = 0; environment[i]; i++)
        put(lines, mem_strdup(environment[i]));
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        put(lines, mem_printf("%s=http://127.0.0.1:%u", names[i], port));
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
        put(lines, mem_strdup(others[i]));
    return lines;
}

void box_environment_free(char **environment)
{
    for (size_t i = 0; environment && environment[i]; i++)
        free(environment[i]);
    free(environment);
}
