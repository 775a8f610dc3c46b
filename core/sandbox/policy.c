/*
 * policy.c -- the tables of a box: files, system calls.
 *
 * The list of system calls says what is forbidden, unlike confine.c's. A box runs any program, and a list of what
 * those may need would be every call but the ones below. What is younger than the list is forbidden by its number.
 */

#include "core/sandbox/policy.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <seccomp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "core/sandbox/box_program.h"

/* ---- Files ---- */

enum mount_kind {
    MOUNT_READ,     /* the host's, read-only */
    MOUNT_READ_TRY, /* the same, if the host has it */
    MOUNT_DEVICE,   /* a device node of the host */
    MOUNT_LINK,     /* a symbolic link to `source` */
    MOUNT_PROC,
    MOUNT_TEMPORARY, /* memory, writable */
};

/* clang-format off */
static const struct {
    enum mount_kind kind;
    const char *source;
    const char *target;
} mounts[] = {
    {MOUNT_READ,      "/usr",                 "/usr"},
    {MOUNT_LINK,      "usr/bin",              "/bin"},
    {MOUNT_LINK,      "usr/sbin",             "/sbin"},
    {MOUNT_LINK,      "usr/lib",              "/lib"},
    {MOUNT_LINK,      "usr/lib64",            "/lib64"},
    {MOUNT_READ_TRY,  "/etc/alternatives",    "/etc/alternatives"},
    {MOUNT_READ_TRY,  "/etc/ld.so.cache",     "/etc/ld.so.cache"},
    {MOUNT_READ_TRY,  "/etc/localtime",       "/etc/localtime"},
    {MOUNT_READ_TRY,  "/etc/fonts",           "/etc/fonts"},
    {MOUNT_READ_TRY,  "/etc/ssl/certs",       "/etc/ssl/certs"},
    {MOUNT_READ_TRY,  "/etc/mime.types",      "/etc/mime.types"},
    {MOUNT_READ_TRY,  "/etc/matplotlibrc",    "/etc/matplotlibrc"},
    {MOUNT_PROC,      NULL,                   "/proc"},
    {MOUNT_DEVICE,    "/dev/null",            "/dev/null"},
    {MOUNT_DEVICE,    "/dev/zero",            "/dev/zero"},
    {MOUNT_DEVICE,    "/dev/full",            "/dev/full"},
    {MOUNT_LINK,      "urandom",              "/dev/random"},
    {MOUNT_DEVICE,    "/dev/urandom",         "/dev/urandom"},
    {MOUNT_LINK,      "/proc/self/fd",        "/dev/fd"},
    {MOUNT_LINK,      "/proc/self/fd/0",      "/dev/stdin"},
    {MOUNT_LINK,      "/proc/self/fd/1",      "/dev/stdout"},
    {MOUNT_LINK,      "/proc/self/fd/2",      "/dev/stderr"},
    {MOUNT_TEMPORARY, NULL,                   "/dev/shm"},
    {MOUNT_TEMPORARY, NULL,                   "/tmp"},
};
/* clang-format on */

static void add(struct policy *policy, ...) __attribute__((sentinel));

/* Copies the texts to the arguments, until NULL. */
static void add(struct policy *policy, ...)
{
    const char *text;
    va_list texts;

    va_start(texts, policy);
    while ((text = va_arg(texts, const char *)) && policy->argument_count < PROGRAM_STRINGS)
        policy->program.arguments[policy->argument_count++] = mem_strdup(text);
    va_end(texts);
}

static void add_number(struct policy *policy, const char *option, uint64_t number)
{
    AUTO_FREE char *text = mem_printf("%llu", (unsigned long long)number);

    if (option)
        add(policy, option, NULL);
    add(policy, text, NULL);
}

/* A link into /usr, as /etc/localtime mostly is, leads to the same in a box: a mount less. */
static void add_if_there(struct policy *policy, const char *source, const char *target)
{
    char link[256];
    ssize_t length = readlink(source, link, sizeof(link) - 1);

    link[length > 0 ? length : 0] = '\0';
    if (strncmp(link, "/usr/", 5) == 0)
        add(policy, "--symlink", link, target, NULL);
    else
        add(policy, "--ro-bind-try", source, target, NULL);
}

static void add_mounts(struct policy *policy, const struct box_plan *plan)
{
    for (size_t i = 0; i < COUNT_OF(mounts); i++) {
        const char *source = mounts[i].source, *target = mounts[i].target;

        switch (mounts[i].kind) {
        case MOUNT_READ: add(policy, "--ro-bind", source, target, NULL); break;
        case MOUNT_READ_TRY: add_if_there(policy, source, target); break;
        case MOUNT_DEVICE: add(policy, "--dev-bind", source, target, NULL); break;
        case MOUNT_LINK: add(policy, "--symlink", source, target, NULL); break;
        case MOUNT_PROC: add(policy, "--proc", target, NULL); break;
        case MOUNT_TEMPORARY:
            add_number(policy, "--size", plan->limits.temporary);
            add(policy, "--perms", "1777", "--tmpfs", target, NULL);
            break;
        }
    }
}

/* ---- Descriptors ---- */

/* Its number in bubblewrap: inputs[0] becomes 0, and what follows 3, 4 ... */
static enum err_code add_input(struct policy *policy, const char *option, const void *bytes,
                               size_t size, struct err *err)
{
    int fd = memfd_create("box", MFD_CLOEXEC);

    if (fd < 0 || write(fd, bytes, size) != (ssize_t)size || lseek(fd, 0, SEEK_SET) != 0 ||
        policy->input_count == MESSAGE_FDS - 2) {
        err_set(err, ERR_INTERNAL, "cannot make a box's files: %s", strerror(errno));
        if (fd >= 0)
            close(fd);
        return ERR_INTERNAL;
    }
    policy->inputs[policy->input_count] = fd;
    add_number(policy, option, policy->input_count + 2);
    policy->input_count++;
    return ERR_OK;
}

/* A file that only boxes have, on their root, which becomes read-only at the end. To mount each was 0.1 ms more: for
 * every mount, bubblewrap reads the list of all of them. */
static enum err_code add_file(struct policy *policy, const char *target, const char *text,
                              struct err *err)
{
    enum err_code rc;

    add(policy, "--perms", "0444", NULL);
    rc = add_input(policy, "--file", text, strlen(text), err);
    add(policy, target, NULL);
    return rc;
}

static enum err_code add_files(struct policy *policy, const struct box_plan *plan,
                               struct err *err)
{
    uint32_t user = plan->user ? plan->user : geteuid();
    AUTO_FREE char *passwd = mem_printf(
        "box:x:%u:%u::/mnt/data:/bin/bash\nnobody:x:65534:65534::/:/bin/false\n", user, user);
    AUTO_FREE char *group = mem_printf("box:x:%u:\nnogroup:x:65534:\n", user);
    AUTO_FREE char *cpus =
        plan->limits.cpus > 1 ? mem_printf("0-%u\n", plan->limits.cpus - 1) : mem_strdup("0\n");
    enum err_code rc = add_file(policy, "/etc/passwd", passwd, err);

    rc = rc ? rc : add_file(policy, "/etc/group", group, err);
    rc = rc ? rc
            : add_file(policy, "/etc/hosts", "127.0.0.1 localhost box\n::1 localhost\n", err);
    /* How many processors there are: libraries start so many threads. */
    return rc ? rc : add_file(policy, "/sys/devices/system/cpu/online", cpus, err);
}

/* ---- System calls ---- */

/* clang-format off */
static const int forbidden_calls[] = {
    /* Mounts, namespaces, roots. */
    SCMP_SYS(mount), SCMP_SYS(umount2), SCMP_SYS(pivot_root), SCMP_SYS(chroot), SCMP_SYS(setns), SCMP_SYS(unshare),
    SCMP_SYS(open_tree), SCMP_SYS(move_mount), SCMP_SYS(mount_setattr), SCMP_SYS(fsopen), SCMP_SYS(fsconfig),
    SCMP_SYS(fsmount), SCMP_SYS(fspick), SCMP_SYS(open_by_handle_at),
    /* Other processes. */
    SCMP_SYS(ptrace), SCMP_SYS(process_vm_readv), SCMP_SYS(process_vm_writev), SCMP_SYS(process_madvise),
    SCMP_SYS(process_mrelease), SCMP_SYS(pidfd_getfd), SCMP_SYS(kcmp), SCMP_SYS(migrate_pages), SCMP_SYS(move_pages),
    /* Large interfaces of the kernel that few programs need. */
    SCMP_SYS(bpf), SCMP_SYS(perf_event_open), SCMP_SYS(userfaultfd), SCMP_SYS(io_uring_setup),
    SCMP_SYS(io_uring_enter), SCMP_SYS(io_uring_register), SCMP_SYS(fanotify_init), SCMP_SYS(fanotify_mark),
    SCMP_SYS(keyctl), SCMP_SYS(add_key), SCMP_SYS(request_key), SCMP_SYS(quotactl), SCMP_SYS(quotactl_fd),
    SCMP_SYS(lookup_dcookie), SCMP_SYS(nfsservctl), SCMP_SYS(vhangup),
    /* The machine. */
    SCMP_SYS(init_module), SCMP_SYS(finit_module), SCMP_SYS(delete_module), SCMP_SYS(kexec_load),
    SCMP_SYS(kexec_file_load), SCMP_SYS(reboot), SCMP_SYS(swapon), SCMP_SYS(swapoff), SCMP_SYS(acct),
    SCMP_SYS(syslog), SCMP_SYS(iopl), SCMP_SYS(ioperm), SCMP_SYS(sethostname), SCMP_SYS(setdomainname),
    SCMP_SYS(settimeofday), SCMP_SYS(clock_settime), SCMP_SYS(clock_adjtime), SCMP_SYS(adjtimex),
    SCMP_SYS(modify_ldt), SCMP_SYS(vm86),
};
/* clang-format on */

/* Calls from this number on came after the list above was written; ENOSYS makes programs take an older way. */
#define FIRST_UNKNOWN_CALL 463
#define LAST_UNKNOWN_CALL  511

/* Memory that no process maps is part of no limit and of no sum. */
static const int unmapped_memory_calls[] = {SCMP_SYS(memfd_create), SCMP_SYS(memfd_secret),
                                            SCMP_SYS(shmget), SCMP_SYS(msgget)};

static const uint64_t namespace_flags[] = {
    CLONE_NEWUSER, CLONE_NEWNS,  CLONE_NEWPID,    CLONE_NEWNET,
    CLONE_NEWIPC,  CLONE_NEWUTS, CLONE_NEWCGROUP,
};

#define DENY      SCMP_ACT_ERRNO(EPERM)
#define NOT_KNOWN SCMP_ACT_ERRNO(ENOSYS)

/* The kernel looks at 32 bits of these arguments, so the others must not hide a value from the filter. */
#define LOW_32(argument, value) SCMP_CMP((argument), SCMP_CMP_MASKED_EQ, 0xffffffff, (value))

/* Other architectures, and x32, kill the process: libseccomp's default. */
static int add_call_rules(scmp_filter_ctx filter)
{
    int rc = 0;

    for (size_t i = 0; !rc && i < COUNT_OF(forbidden_calls); i++)
        rc = seccomp_rule_add(filter, DENY, forbidden_calls[i], 0);
    for (int call = FIRST_UNKNOWN_CALL; !rc && call <= LAST_UNKNOWN_CALL; call++)
        rc = seccomp_rule_add(filter, NOT_KNOWN, call, 0);
    for (size_t i = 0; !rc && i < COUNT_OF(unmapped_memory_calls); i++)
        rc = seccomp_rule_add(filter, NOT_KNOWN, unmapped_memory_calls[i], 0);
    /* Its flags are in memory, where a filter cannot look. Programs then use clone(). */
    if (!rc)
        rc = seccomp_rule_add(filter, NOT_KNOWN, SCMP_SYS(clone3), 0);
    for (size_t i = 0; !rc && i < COUNT_OF(namespace_flags); i++)
        rc = seccomp_rule_add(
            filter, DENY, SCMP_SYS(clone), 1,
            SCMP_A0(SCMP_CMP_MASKED_EQ, namespace_flags[i], namespace_flags[i]));
    return rc;
}

static int add_argument_rules(scmp_filter_ctx filter)
{
    int rc =
        seccomp_rule_add(filter, DENY, SCMP_SYS(personality), 1, SCMP_A0(SCMP_CMP_NE, 0, 0));

    /* Input for a terminal, as if it had been typed. */
    if (!rc)
        rc = seccomp_rule_add(filter, DENY, SCMP_SYS(ioctl), 1, LOW_32(1, TIOCSTI));
    if (!rc)
        rc = seccomp_rule_add(filter, DENY, SCMP_SYS(ioctl), 1, LOW_32(1, TIOCLINUX));
    /* Only UNIX, IPv4 and IPv6. */
    for (int family = 0; !rc && family < AF_INET6; family++) {
        if (family != AF_UNIX && family != AF_INET)
            rc = seccomp_rule_add(filter, DENY, SCMP_SYS(socket), 1,
                                  LOW_32(0, (uint64_t)family));
    }
    if (!rc)
        rc = seccomp_rule_add(filter, DENY, SCMP_SYS(socket), 1,
                              SCMP_A0(SCMP_CMP_GT, AF_INET6, 0));
    /* Pairs: only UNIX. */
    if (!rc)
        rc = seccomp_rule_add(filter, DENY, SCMP_SYS(socketpair), 1,
                              SCMP_A0(SCMP_CMP_NE, AF_UNIX, 0));
    return rc;
}

/* As the kernel takes it. All boxes have the same, and libseccomp needs 0.7 ms to make it: so it is made once. */
static struct {
    char *bytes;
    size_t size;
    struct err err; /* if it could not be made */
} made_filter;

static enum err_code export_filter(scmp_filter_ctx filter, struct err *err)
{
    int fd = memfd_create("filter", MFD_CLOEXEC);
    int rc = fd < 0 ? -errno : seccomp_export_bpf(filter, fd);
    off_t size = rc ? 0 : lseek(fd, 0, SEEK_END);

    made_filter.bytes = mem_zeroed((size_t)size + 1, 1);
    if (!rc && pread(fd, made_filter.bytes, (size_t)size, 0) != size)
        rc = -errno;
    if (fd >= 0)
        close(fd);
    if (rc)
        return err_set(err, ERR_INTERNAL, "cannot make a box's filter of system calls: %s",
                       strerror(-rc));
    made_filter.size = (size_t)size;
    return ERR_OK;
}

static void make_filter(void)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    int rc = filter ? add_call_rules(filter) : -ENOMEM;

    rc = rc ? rc : add_argument_rules(filter);
    if (rc)
        err_set(&made_filter.err, ERR_INTERNAL,
                "cannot make a box's filter of system calls: %s", strerror(-rc));
    else
        (void)export_filter(filter, &made_filter.err);
    seccomp_release(filter);
}

/* ---- All of it ---- */

enum err_code policy_bwrap(const char **ret_path, struct err *err)
{
    static const char *const paths[] = {"/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap"};
    struct stat found;

    for (size_t i = 0; i < COUNT_OF(paths); i++) {
        if (stat(paths[i], &found) != 0)
            continue;
        if (found.st_mode & (S_ISUID | S_ISGID))
            return err_set(err, ERR_INTERNAL, "%s is setuid", paths[i]);
        *ret_path = paths[i];
        return ERR_OK;
    }
    return err_set(err, ERR_INTERNAL, "bubblewrap is not installed");
}

static enum err_code add_filter(struct policy *policy, struct err *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, make_filter);
    if (!made_filter.size)
        return err_set(err, ERR_INTERNAL, "%s", made_filter.err.text);
    return add_input(policy, "--seccomp", made_filter.bytes, made_filter.size, err);
}

static enum err_code add_folders(struct policy *policy, const struct box_plan *plan,
                                 struct err *err)
{
    for (size_t i = 0; i < plan->folder_count; i++) {
        const struct box_folder *folder = &plan->folders[i];
        struct stat found;

        if (lstat(folder->source, &found) != 0 || !S_ISDIR(found.st_mode))
            return err_set(err, ERR_INVALID, "a box's folder is missing, or is no folder: %s",
                           folder->source);
        add(policy, folder->writable ? "--bind" : "--ro-bind", folder->source, folder->target,
            NULL);
    }
    return ERR_OK;
}

/* The first process is executed from memory: no folder of the host need be open to the box's user for it. All boxes
 * share these pages. */
static enum err_code add_first_process(struct policy *policy, const struct box_plan *plan,
                                       struct err *err)
{
    AUTO_FREE char *path = mem_printf("/proc/self/fd/%zu", policy->input_count + 2);
    int program = box_program(err);

    if (program < 0)
        return ERR_INTERNAL;
    policy->inputs[policy->input_count++] = program;
    add(policy, "--", path, NULL);
    add_number(policy, NULL, plan->limits.memory);
    add_number(policy, NULL, plan->limits.processes);
    add_number(policy, NULL, plan->limits.file);
    add_number(policy, NULL, plan->port);
    for (size_t i = 0; i < plan->folder_count; i++) {
        if (plan->folders[i].writable)
            add(policy, plan->folders[i].target, NULL);
    }
    return ERR_OK;
}

enum err_code policy_make(const struct box_plan *plan, struct policy *ret_policy,
                          struct err *err)
{
    static char no_folder[] = "";
    const char *bwrap = NULL;
    enum err_code rc = policy_bwrap(&bwrap, err);

    *ret_policy =
        (struct policy){.program.folder = no_folder, .inputs = {-1}, .input_count = 1};
    if (!rc && !plan->user && geteuid() == 0)
        rc = err_set(err, ERR_INTERNAL, "a box needs a user who is not root");
    if (rc)
        return rc;
    add(ret_policy, bwrap, "--unshare-all", "--die-with-parent", "--new-session", "--as-pid-1",
        "--hostname", "box", NULL);
    add_mounts(ret_policy, plan);
    rc = add_files(ret_policy, plan, err);
    /* Last, so that nothing is mounted below what a box can write. */
    rc = rc ? rc : add_folders(ret_policy, plan, err);
    add(ret_policy, "--remount-ro", "/", NULL);
    rc = rc ? rc : add_filter(ret_policy, err);
    rc = rc ? rc : add_first_process(ret_policy, plan, err);
    if (!rc && ret_policy->argument_count == PROGRAM_STRINGS)
        rc = err_set(err, ERR_TOO_LARGE, "a box has too many folders");
    return rc;
}

void policy_clear(struct policy *policy)
{
    for (size_t i = 1; i < policy->input_count; i++)
        close(policy->inputs[i]);
    for (size_t i = 0; i < policy->argument_count; i++)
        free(policy->program.arguments[i]);
    *policy = (struct policy){0};
}
