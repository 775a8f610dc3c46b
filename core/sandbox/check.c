/*
 * check.c -- tries the layers of a sandbox, each alone, so that the one which is missing has a name.
 *
 * bubblewrap says on stderr what the kernel refused. The table of complaints knows what stands behind each of its
 * sentences, because the same refusal has different causes: a filter of the container, AppArmor, a masked /proc.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/sandbox/box.h"
#include "core/sandbox/confine.h"
#include "core/sandbox/policy.h"
#include "core/sandbox/sandbox.h"
#include "core/sandbox/spawn.h"

#define OUTPUT_MAX ((size_t)4096)

/* ---- What to do ---- */

static const char container_advice[] =
    "In Docker: --security-opt seccomp=docker/seccomp.json --security-opt apparmor=runnel "
    "--security-opt systempaths=unconfined.";

static const char apparmor_advice[] =
    "On Ubuntu, as root: ln -s /usr/share/apparmor/extra-profiles/bwrap-userns-restrict "
    "/etc/apparmor.d/ && apparmor_parser -r /etc/apparmor.d/bwrap-userns-restrict. In Docker, "
    "the container's profile decides: --security-opt apparmor=runnel.";

static const char limit_advice[] =
    "As root: sysctl user.max_user_namespaces=10000. The limit may also be a container's.";

static const char cgroup_advice[] =
    "For exact limits: Delegate=yes in the unit, or systemd-run --scope -p Delegate=yes runnel "
    "serve. Without, each process is limited, and memory is summed four times a second.";

/* clang-format off */
static const struct {
    const char *sign; /* in what bubblewrap says */
    const char *advice;
} complaints[] = {
    {"No permissions to creat", container_advice}, /* its spelling differs between versions */
    {"setting up uid map",      apparmor_advice},
    {"RTM_NEWADDR",             apparmor_advice},
    {"ENOSPC",                  limit_advice},
    {"mount proc",              container_advice},
    {"Failed to m",             apparmor_advice}, /* make / slave, mount tmpfs */
};

static const struct {
    const char *name;
    bool optional;
} checks[SANDBOX_CHECKS] = {
    [SANDBOX_SECCOMP]    = {"seccomp",    false},
    [SANDBOX_LANDLOCK]   = {"landlock",   true},
    [SANDBOX_BUBBLEWRAP] = {"bubblewrap", false},
    [SANDBOX_USER]       = {"user",       false},
    [SANDBOX_NAMESPACES] = {"namespaces", false},
    [SANDBOX_PROC]       = {"proc",       false},
    [SANDBOX_BOX]        = {"box",        false},
    [SANDBOX_CGROUP]     = {"cgroup",     true},
};
/* clang-format on */

const char *sandbox_check_name(enum sandbox_check check)
{
    return checks[check].name;
}

bool sandbox_check_is_optional(enum sandbox_check check)
{
    return checks[check].optional;
}

enum sandbox_check sandbox_obstacle(const struct sandbox_report *report)
{
    for (int i = 0; i < SANDBOX_CHECKS; i++) {
        if (!report->findings[i].passed && !checks[i].optional)
            return (enum sandbox_check)i;
    }
    return SANDBOX_CHECKS;
}

/* ---- Findings ---- */

/* The first line. */
static void set_seen(struct sandbox_finding *finding, const char *text)
{
    (void)snprintf(finding->seen, sizeof(finding->seen), "%.*s", (int)strcspn(text, "\n"),
                   text);
}

static struct sandbox_finding failed(const char *seen, const char *advice)
{
    struct sandbox_finding finding = {.advice = advice};

    set_seen(&finding, seen);
    return finding;
}

static struct sandbox_finding passed(const char *seen)
{
    struct sandbox_finding finding = {.passed = true};

    set_seen(&finding, seen);
    return finding;
}

static const char *find_advice(const char *seen)
{
    for (size_t i = 0; i < COUNT_OF(complaints); i++) {
        if (strstr(seen, complaints[i].sign))
            return complaints[i].advice;
    }
    return NULL;
}

/* ---- Trials ---- */

/* Runs a program without input; passed if it ends with 0. */
static struct sandbox_finding try_program(uint32_t user, const struct program *program,
                                          int *inputs, size_t count)
{
    struct spawn_request request = {
        .kind = SPAWN_PROGRAM, .user = user, .wall_ms = SANDBOX_CHECK_MS / 4};
    struct sandbox_finding finding = {0};
    struct compute_end end = {0};
    AUTO_BUF output = {0};
    struct err err;
    enum err_code rc;

    inputs[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
    rc = spawn_run(&request, program, inputs, count, OUTPUT_MAX, &output, &end, &err);
    close(inputs[0]);
    finding.passed = !rc && end.why == COMPUTE_EXITED && end.status == 0;
    set_seen(&finding, rc ? err.text : output.length ? output.data : "");
    finding.advice = finding.passed ? NULL : find_advice(finding.seen);
    return finding;
}

static struct sandbox_finding try_arguments(uint32_t user, const char *const *arguments)
{
    struct program program = {.folder = (char *)(uintptr_t) ""};
    int input;

    for (size_t i = 0; arguments[i]; i++)
        program.arguments[i] = (char *)(uintptr_t)arguments[i];
    return try_program(user, &program, &input, 1);
}

static struct sandbox_finding check_bubblewrap(const char **ret_path)
{
    struct err err;

    if (policy_bwrap(ret_path, &err))
        return failed(
            err.text,
            "Install the package bubblewrap, without setuid: apt install bubblewrap.");
    return passed(*ret_path);
}

static struct sandbox_finding check_user(uint32_t user)
{
    struct sandbox_finding finding;

    if (geteuid() != 0)
        return passed("one user for all boxes, the server's");
    finding = try_arguments(user, (const char *[]){"/usr/bin/true", NULL});
    if (!finding.passed)
        finding.advice =
            "Start the server as an ordinary user, or allow root to become another.";
    return finding;
}

static struct sandbox_finding check_box(uint32_t user)
{
    static const char *const command[] = {"/usr/bin/true", NULL};
    struct box_plan plan = {.limits = {.memory = 1 << 28,
                                       .temporary = 1 << 20,
                                       .file = 1 << 20,
                                       .processes = 16,
                                       .cpus = 1},
                            .user = user};
    struct box_run run = {.command = {.arguments = command, .environment = command + 1},
                          .input = -1,
                          .timeout_ms = SANDBOX_CHECK_MS / 2,
                          .cancel = -1};
    struct box_result result = {.why = BOX_GONE};
    struct sandbox_finding finding;
    struct box *box = NULL;
    struct err err;

    if (box_open(&plan, &box, &err) || box_run(box, &run, &result, &err))
        finding = failed(err.text, find_advice(err.text));
    else if (result.why != BOX_EXITED || result.status != 0)
        finding = failed("a command in it did not run", NULL);
    else
        finding = passed("");
    box_close(box);
    return finding;
}

static struct sandbox_finding check_landlock(void)
{
    int version = confine_landlock_version();
    AUTO_FREE char *seen = mem_printf("version %d", version);

    return version
               ? passed(seen)
               : failed("the kernel has none", "Boot with landlock in the kernel's lsm= list.");
}

static struct sandbox_finding check_seccomp(void)
{
    return confine_has_seccomp() ? passed("") : failed("the kernel has none", NULL);
}

static struct sandbox_finding check_cgroup(void)
{
    const char *why;

    return spawn_cgroup(&why) ? passed("exact limits of each box") : failed(why, cgroup_advice);
}

/* A check that another one needs is not tried when that one failed: its failure would say the same. */
static struct sandbox_finding not_tried(enum sandbox_check before)
{
    AUTO_FREE char *seen = mem_printf("not tried, because of %s", checks[before].name);

    return failed(seen, NULL);
}

/* A box that works shows that everything in it does, so one trial is enough on most machines. */
static void try_box(uint32_t user, struct sandbox_finding *findings)
{
    static const enum sandbox_check parts[] = {SANDBOX_USER, SANDBOX_NAMESPACES, SANDBOX_PROC};

    findings[SANDBOX_BOX] = check_box(user);
    for (size_t i = 0; findings[SANDBOX_BOX].passed && i < COUNT_OF(parts); i++)
        findings[parts[i]] = passed("");
}

/* The parts of a box that did not work, from the simplest on. */
static void try_parts(uint32_t user, const char *bwrap, struct sandbox_finding *findings)
{
    findings[SANDBOX_USER] = check_user(user);
    findings[SANDBOX_NAMESPACES] =
        findings[SANDBOX_USER].passed
            ? try_arguments(user, (const char *[]){bwrap, "--unshare-all", "--ro-bind", "/",
                                                   "/", "/usr/bin/true", NULL})
            : not_tried(SANDBOX_USER);
    findings[SANDBOX_PROC] =
        findings[SANDBOX_NAMESPACES].passed
            ? try_arguments(user,
                            (const char *[]){bwrap, "--unshare-all", "--ro-bind", "/", "/",
                                             "--proc", "/proc", "/usr/bin/true", NULL})
            : not_tried(SANDBOX_NAMESPACES);
}

void sandbox_check(uint32_t user, struct sandbox_report *ret_report)
{
    struct sandbox_finding *findings = ret_report->findings;
    const char *bwrap = NULL;

    user = geteuid() == 0 ? user : 0;
    findings[SANDBOX_SECCOMP] = check_seccomp();
    findings[SANDBOX_LANDLOCK] = check_landlock();
    findings[SANDBOX_CGROUP] = check_cgroup();
    findings[SANDBOX_BUBBLEWRAP] = check_bubblewrap(&bwrap);
    if (!findings[SANDBOX_BUBBLEWRAP].passed) {
        for (int i = SANDBOX_USER; i <= SANDBOX_BOX; i++)
            findings[i] = not_tried(SANDBOX_BUBBLEWRAP);
        return;
    }
    try_box(user, findings);
    if (!findings[SANDBOX_BOX].passed)
        try_parts(user, bwrap, findings);
}
