/*
 * confine.c -- limits, namespaces, Landlock and seccomp for a child that computes.
 *
 * The system calls are a list of what is allowed, not of what is forbidden. A list of what is forbidden
 * is complete for one kernel only, and each new kernel adds calls. What is allowed is short, because a
 * parser needs memory, its descriptors and the time. A call that a future library makes and that is
 * missing here fails with EPERM, as on an older kernel, and libraries know how to live with that. So the
 * filter does not kill: a killed child would be an error that says less.
 */

#include "core/sandbox/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <seccomp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/sandbox/landlock.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HAS_SHADOW_MEMORY true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HAS_SHADOW_MEMORY true
#endif
#endif
#ifndef HAS_SHADOW_MEMORY
#define HAS_SHADOW_MEMORY false
#endif

static enum err_code failed(const char *layer, struct err *err)
{
    return err_set(err, ERR_INTERNAL, "cannot confine a child: %s: %s", layer, strerror(errno));
}

/* ---- Limits ---- */

static enum err_code set_limits(struct err *err)
{
    const struct {
        __rlimit_resource_t resource;
        rlim_t limit;
    } limits[] = {
        {RLIMIT_DATA, HAS_SHADOW_MEMORY ? RLIM_INFINITY : CONFINE_MEMORY},
        {RLIMIT_CPU, CONFINE_CPU_SECONDS},
        {RLIMIT_NOFILE, CONFINE_DESCRIPTORS},
        {RLIMIT_FSIZE, 0},
        {RLIMIT_CORE, 0},
    };

    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        struct rlimit limit = {limits[i].limit, limits[i].limit};

        if (limits[i].limit != RLIM_INFINITY && setrlimit(limits[i].resource, &limit) != 0)
            return failed("limits", err);
    }
    return ERR_OK;
}

/* ---- Capabilities ---- */

/* Of a server that is root, in a kernel that has refused the namespace. With no_new_privs a program that is
 * executed gets none back. */
static bool drop_capabilities(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {0};

    return syscall(SYS_capset, &header, none) == 0;
}

/* ---- Landlock ---- */

void confine_hide(void)
{
    if (!HAS_SHADOW_MEMORY)
        (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

int confine_landlock_version(void)
{
    return landlock_version();
}

static enum err_code restrict_files(struct err *err)
{
    /* The loader, character sets of iconv, fonts and their names. */
    static const char *const readable[] = {"/usr", "/lib", "/lib64", "/etc/fonts"};
    int rules = landlock_rules();
    bool done = rules >= 0;

    for (size_t i = 0; done && i < COUNT_OF(readable); i++)
        done = landlock_allow(rules, readable[i], LANDLOCK_READ);
    done = done && landlock_apply(rules);
    if (!done)
        failed("Landlock", err);
    if (rules >= 0)
        close(rules);
    return done ? ERR_OK : ERR_INTERNAL;
}

/* ---- seccomp ---- */

/* clang-format off */
static const int allowed_calls[] = {
    /* Descriptors that are open, and files that Landlock lets it open. */
    SCMP_SYS(read), SCMP_SYS(pread64), SCMP_SYS(readv), SCMP_SYS(write), SCMP_SYS(writev), SCMP_SYS(lseek),
    SCMP_SYS(close), SCMP_SYS(fstat), SCMP_SYS(newfstatat), SCMP_SYS(stat), SCMP_SYS(lstat), SCMP_SYS(statx),
    SCMP_SYS(fstatfs), SCMP_SYS(statfs), SCMP_SYS(open), SCMP_SYS(openat), SCMP_SYS(access), SCMP_SYS(faccessat),
    SCMP_SYS(faccessat2), SCMP_SYS(readlink), SCMP_SYS(readlinkat), SCMP_SYS(getdents64), SCMP_SYS(getcwd),
    SCMP_SYS(dup), SCMP_SYS(dup2), SCMP_SYS(dup3), SCMP_SYS(poll), SCMP_SYS(ppoll),
    SCMP_SYS(fadvise64), SCMP_SYS(umask),
    /* Memory. */
    SCMP_SYS(brk), SCMP_SYS(mmap), SCMP_SYS(munmap), SCMP_SYS(mremap), SCMP_SYS(mprotect), SCMP_SYS(madvise),
    /* The process itself. */
    SCMP_SYS(exit), SCMP_SYS(exit_group), SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigprocmask),
    SCMP_SYS(rt_sigreturn), SCMP_SYS(sigaltstack), SCMP_SYS(getpid), SCMP_SYS(gettid), SCMP_SYS(getppid),
    SCMP_SYS(getuid), SCMP_SYS(geteuid), SCMP_SYS(getgid), SCMP_SYS(getegid),
    SCMP_SYS(arch_prctl), SCMP_SYS(set_tid_address), SCMP_SYS(set_robust_list), SCMP_SYS(rseq), SCMP_SYS(futex),
    SCMP_SYS(getrlimit), SCMP_SYS(getrusage), SCMP_SYS(uname), SCMP_SYS(sysinfo),
    SCMP_SYS(sched_yield), SCMP_SYS(sched_getaffinity), SCMP_SYS(getrandom), SCMP_SYS(restart_syscall),
    /* The time. */
    SCMP_SYS(clock_gettime), SCMP_SYS(clock_getres), SCMP_SYS(gettimeofday), SCMP_SYS(time), SCMP_SYS(times),
    SCMP_SYS(nanosleep), SCMP_SYS(clock_nanosleep),
};
/* clang-format on */

/* What fcntl() may do. F_SETOWN, F_SETSIG and O_ASYNC together would make the kernel send any signal to any
 * process of the same user, also SIGKILL to the server. */
static const unsigned allowed_fcntl[] = {F_GETFD, F_SETFD, F_GETFL, F_DUPFD, F_DUPFD_CLOEXEC};

/* Any other architecture's calls kill the process: libseccomp's default. */
static bool add_rules(scmp_filter_ctx filter, enum confine_for purpose)
{
    int rc = 0;

    for (size_t i = 0; !rc && i < COUNT_OF(allowed_calls); i++)
        rc = seccomp_rule_add(filter, SCMP_ACT_ALLOW, allowed_calls[i], 0);
    for (size_t i = 0; !rc && i < COUNT_OF(allowed_fcntl); i++)
        rc = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(fcntl), 1,
                              SCMP_A1(SCMP_CMP_EQ, allowed_fcntl[i], 0));
    /* Is it a terminal? The C library asks that of each stream. */
    if (!rc)
        rc = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(ioctl), 1,
                              SCMP_A1(SCMP_CMP_EQ, TCGETS, 0));
    /* Limits of its own process can be read. */
    if (!rc)
        rc = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(prlimit64), 2,
                              SCMP_A0(SCMP_CMP_EQ, 0, 0), SCMP_A2(SCMP_CMP_EQ, 0, 0));
    if (!rc && purpose == CONFINE_PROGRAM)
        rc = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(execve), 0);
    errno = -rc;
    return !rc;
}

static enum err_code restrict_calls(enum confine_for purpose, struct err *err)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
    int rc = filter && add_rules(filter, purpose) ? seccomp_load(filter) : -errno;

    seccomp_release(filter);
    if (rc) {
        errno = -rc;
        return failed("seccomp", err);
    }
    return ERR_OK;
}

bool confine_has_seccomp(void)
{
    return prctl(PR_GET_SECCOMP, 0, 0, 0, 0) >= 0;
}

/* ---- All of it ---- */

enum err_code confine_self(enum confine_for purpose, struct err *err)
{
    enum err_code rc = set_limits(err);

    if (rc)
        return rc;
    (void)unshare(CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS);
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0 ||
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || !drop_capabilities())
        return failed("privileges", err);
    if (!confine_landlock_version()) {
        errno = ENOSYS;
        return failed("Landlock", err);
    }
    rc = restrict_files(err);
    return rc ? rc : restrict_calls(purpose, err);
}
