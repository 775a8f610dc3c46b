/*
 * box_tries.c -- what a command in a box tries in order to get out. A program of its own, which test_escape.c puts into
 * a box: static, so that the box's /usr does not matter, and without sanitizers.
 *
 * A line for each row of the table: its number in the list of tries, what it is, and "refused" or "WORKED". Each is
 * tried in a process of its own, because some tries are answered with a signal.
 *
 * Arguments: a file of the host, a port on the host's loopback, an abstract socket and a socket file of the host.
 */

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/netlink.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/msg.h>
#include <sys/ptrace.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

static char **host; /* the arguments */

enum { SECRET = 1, PORT, ABSTRACT, SOCKET_FILE };

/* ---- Tools ---- */

/* A filter of system calls answers EPERM before the kernel looks at arguments. */
static int not_denied(long result)
{
    return result >= 0 || errno != EPERM;
}

static int call(long number)
{
    return not_denied(syscall(number, 0, 0, 0, 0, 0, 0));
}

static int can_read(const char *path)
{
    char byte;
    int fd = open(path, O_RDONLY | O_NONBLOCK);

    return fd >= 0 && read(fd, &byte, 1) >= 0;
}

static int can_write(const char *path)
{
    return open(path, O_WRONLY | O_CREAT | O_NONBLOCK, 0600) >= 0;
}

static int through(const char *prefix)
{
    char path[512];

    (void)snprintf(path, sizeof(path), "%s%s", prefix, host[SECRET]);
    return can_read(path);
}

static int connects_to(int family, const char *address, int port)
{
    union {
        struct sockaddr any;
        struct sockaddr_in four;
        struct sockaddr_in6 six;
    } to = {.any.sa_family = (sa_family_t)family};
    int fd = socket(family, SOCK_STREAM, 0), rc;
    struct timeval patience = {.tv_sec = 2};

    /* Nothing answers within it: there is a way out all the same. */
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));

    if (family == AF_INET)
        to.four.sin_port = htons((uint16_t)port);
    else
        to.six.sin6_port = htons((uint16_t)port);
    inet_pton(family, address,
              family == AF_INET ? (void *)&to.four.sin_addr : &to.six.sin6_addr);
    rc = connect(fd, &to.any, family == AF_INET ? sizeof(to.four) : sizeof(to.six));
    return fd >= 0 && (rc == 0 || errno == EINPROGRESS);
}

static int connects_to_unix(const char *name, int is_abstract)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    size_t length = strlen(name);

    memcpy(to.sun_path + is_abstract, name, length);
    return connect(fd, (struct sockaddr *)&to,
                   (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + 1)) == 0;
}

static int makes_socket(int family, int type, int protocol)
{
    return socket(family, type, protocol) >= 0;
}

/* ---- Files ---- */

static int climb(void)
{
    return through("/mnt/data/../../../../../..");
}
static int name_it(void)
{
    return can_read(host[SECRET]);
}
static int shadow(void)
{
    return can_read("/mnt/data/../../etc/shadow") || can_read("/etc/shadow");
}
static int root_of_1(void)
{
    return through("/proc/1/root") || through("/proc/1/cwd");
}
static int root_of_self(void)
{
    return through("/proc/self/root/..");
}

static int absolute_link(void)
{
    return symlink(host[SECRET], "/mnt/data/absolute") == 0 && can_read("/mnt/data/absolute");
}

static int relative_link(void)
{
    char target[512];

    (void)snprintf(target, sizeof(target), "up/../../../..%s", host[SECRET]);
    return symlink("..", "/mnt/data/up") == 0 && symlink(target, "/mnt/data/chain") == 0 &&
           can_read("/mnt/data/chain");
}

/* Nothing is open that the server had open: 0, 1, 2, this program, and what opendir() takes. */
static int open_descriptor(void)
{
    for (int fd = 4; fd < 1024; fd++) {
        if (fcntl(fd, F_GETFD) >= 0)
            return 1;
    }
    return 0;
}

static int hard_link(void)
{
    return link("/usr/bin/env", "/mnt/data/env") == 0;
}

static int device_node(void)
{
    return mknod("/mnt/data/disk", S_IFBLK | 0600, 0x801) == 0 ||
           mknod("/tmp/memory", S_IFCHR | 0600, 0x101) == 0;
}

static int write_system(void)
{
    return can_write("/usr/escaped") || can_write("/etc/escaped") || can_write("/escaped") ||
           can_write("/etc/passwd") || can_write("/sys/devices/system/cpu/online") ||
           can_write("/dev/escaped") || chmod("/usr/bin/env", 04777) == 0 ||
           mkdir("/mnt/escaped", 0700) == 0 || rename("/mnt/data", "/mnt/other") == 0;
}

static int write_read_only(void)
{
    return can_write("/mnt/skills/escaped") || unlink("/mnt/skills/skill") == 0 ||
           can_write("/mnt/skills/skill") || rmdir("/mnt/skills") == 0;
}

static int by_handle(void)
{
    return not_denied(syscall(SYS_open_by_handle_at, AT_FDCWD, NULL, 0));
}

static int foreign_owner(void)
{
    return (can_write("/mnt/data/mine") && chown("/mnt/data/mine", 0, 0) == 0) ||
           setxattr("/mnt/data/mine", "trusted.x", "x", 1, 0) == 0 ||
           setxattr("/mnt/data/mine", "security.capability", "x", 1, 0) == 0;
}

/* ---- The kernel ---- */

static int unshare_it(void)
{
    return not_denied(unshare(CLONE_NEWUSER)) || not_denied(unshare(CLONE_NEWNS));
}

static int clone_it(void)
{
    static const int flags[] = {CLONE_NEWUSER, CLONE_NEWNET, CLONE_NEWNS,    CLONE_NEWPID,
                                CLONE_NEWIPC,  CLONE_NEWUTS, CLONE_NEWCGROUP};

    for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++) {
        long pid = syscall(SYS_clone, (unsigned long)flags[i] | SIGCHLD, 0, 0, 0, 0);

        if (pid == 0)
            _exit(0);
        if (not_denied(pid))
            return 1;
    }
    return 0;
}

/* Not known is the answer, so that programs take clone(), whose flags a filter can see. */
static int clone_3(void)
{
    return syscall(SYS_clone3, NULL, 0) >= 0 || errno != ENOSYS;
}
static int younger(void)
{
    return syscall(470, 0) >= 0 || errno != ENOSYS;
}
static int enter(void)
{
    return call(SYS_setns) || can_read("/proc/1/ns/net") ||
           open("/proc/1/ns/mnt", O_RDONLY) >= 0;
}

static int mount_it(void)
{
    return not_denied(mount("none", "/tmp", "tmpfs", 0, NULL)) || call(SYS_umount2) ||
           call(SYS_fsopen) || call(SYS_open_tree) || call(SYS_move_mount) ||
           call(SYS_fsmount) || call(SYS_fsconfig) || call(SYS_fspick) ||
           call(442 /* mount_setattr */);
}

static int change_root(void)
{
    return call(SYS_pivot_root) || not_denied(chroot("/tmp"));
}
static int trace(void)
{
    return not_denied(ptrace(PTRACE_ATTACH, 1, 0, 0)) ||
           not_denied(ptrace(PTRACE_TRACEME, 0, 0, 0));
}

static int take_descriptor(void)
{
    int fd = (int)syscall(SYS_pidfd_open, 1, 0);

    return not_denied(syscall(438 /* pidfd_getfd */, fd, 0, 0));
}

static int other_memory(void)
{
    return call(SYS_process_vm_readv) || call(SYS_process_vm_writev) || call(SYS_kcmp);
}

static int look_into_1(void)
{
    return can_read("/proc/1/mem") || can_read("/proc/1/environ") ||
           opendir("/proc/1/fd") != NULL || can_read("/proc/1/maps") ||
           can_read("/proc/2/environ") || opendir("/proc/2/fd") != NULL;
}

static int large_interfaces(void)
{
    static const long numbers[] = {SYS_bpf,
                                   SYS_keyctl,
                                   SYS_add_key,
                                   SYS_request_key,
                                   SYS_io_uring_setup,
                                   SYS_io_uring_enter,
                                   SYS_io_uring_register,
                                   SYS_userfaultfd,
                                   SYS_perf_event_open,
                                   SYS_fanotify_init,
                                   SYS_quotactl};

    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
        if (call(numbers[i]))
            return 1;
    }
    return 0;
}

#ifdef __x86_64__
static int call_x32(void)
{
    return syscall(0x40000000 | SYS_getpid) > 0;
}

static int call_i386(void)
{
    long pid = 20; /* getpid() */

    __asm__ volatile("int $0x80" : "+a"(pid) : : "memory", "r8", "r9", "r10", "r11");
    return pid > 0;
}
#endif

/* The upper half of the argument is nothing to the kernel, and must not fool a filter. */
static int terminal(void)
{
    return not_denied(syscall(SYS_ioctl, 0, TIOCSTI, "x")) ||
           not_denied(syscall(SYS_ioctl, 0, (1UL << 32) | TIOCSTI, "x")) ||
           not_denied(syscall(SYS_ioctl, 0, TIOCLINUX, "x")) || open("/dev/tty", O_RDWR) >= 0 ||
           open("/dev/console", O_RDWR) >= 0 || open("/dev/ptmx", O_RDWR) >= 0;
}

static int kernel_files(void)
{
    return can_write("/proc/sys/kernel/core_pattern") || can_write("/proc/sysrq-trigger") ||
           can_read("/proc/kcore") || can_read("/dev/kmsg") || can_read("/dev/mem") ||
           can_write("/proc/sys/kernel/hostname") || can_write("/proc/1/oom_score_adj") ||
           call(SYS_syslog);
}

static int succeeds(char **arguments)
{
    int status = 1;
    pid_t pid = fork();

    if (pid == 0) {
        close(STDERR_FILENO);
        execv(arguments[0], arguments);
        _exit(1);
    }
    return waitpid(pid, &status, 0) == pid && status == 0;
}

static int become_root(void)
{
    return setuid(0) == 0 || setresuid(0, 0, 0) == 0 || setgid(0) == 0 ||
           setgroups(0, NULL) == 0 || succeeds((char *[]){"/usr/bin/su", "-c", "true", NULL}) ||
           succeeds((char *[]){"/usr/bin/sudo", "-n", "true", NULL});
}

static int raise_limits(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NPROC, &limit) != 0 || limit.rlim_max == RLIM_INFINITY)
        return 1;
    limit.rlim_max++;
    return setrlimit(RLIMIT_NPROC, &limit) == 0 || setpriority(PRIO_PROCESS, 0, -5) == 0 ||
           syscall(SYS_prlimit64, 1, RLIMIT_NPROC, &limit, NULL) == 0 ||
           sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){1}) == 0;
}

static int machine(void)
{
    static const long numbers[] = {
        SYS_kexec_load,    SYS_kexec_file_load, SYS_init_module, SYS_finit_module,
        SYS_delete_module, SYS_reboot,          SYS_swapon,      SYS_swapoff,
        SYS_clock_settime, SYS_settimeofday,    SYS_adjtimex,    SYS_clock_adjtime,
        SYS_acct,
#ifdef __x86_64__
        SYS_iopl,          SYS_ioperm,          SYS_modify_ldt,
#endif
    };

    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
        if (call(numbers[i]))
            return 1;
    }
    return not_denied(syscall(SYS_personality, 0x0400000UL /* no randomized addresses */));
}

static int host_name(void)
{
    return not_denied(sethostname("escaped", 7)) || call(SYS_setdomainname);
}

static int strange_sockets(void)
{
    static const int families[] = {AF_NETLINK, AF_PACKET, AF_VSOCK,     AF_BLUETOOTH,
                                   AF_ALG,     AF_CAN,    44 /* XDP */, AF_KEY,
                                   AF_TIPC,    AF_RDS,    AF_NFC};

    for (size_t i = 0; i < sizeof(families) / sizeof(*families); i++) {
        if (not_denied(socket(families[i], SOCK_RAW, 0)) ||
            not_denied(syscall(SYS_socket, (1UL << 32) | (unsigned)families[i], SOCK_RAW, 0)))
            return 1;
    }
    return makes_socket(AF_INET, SOCK_RAW, IPPROTO_ICMP) ||
           makes_socket(AF_INET6, SOCK_RAW, IPPROTO_ICMPV6);
}

/* The kernel makes a socket of the family before it says that the family has no pairs. */
static int strange_pairs(void)
{
    static const int families[] = {AF_NETLINK, AF_PACKET, AF_VSOCK, AF_ALG, AF_INET, AF_TIPC};

    for (size_t i = 0; i < sizeof(families) / sizeof(*families); i++) {
        if (not_denied(socketpair(families[i], SOCK_RAW, 0, (int[2]){0})))
            return 1;
    }
    return 0;
}

/* ---- Processes ---- */

static int kill_1(void)
{
    for (int number = 1; number < 65; number++)
        (void)kill(1, number);
    return kill(1, 0) != 0; /* it is still there */
}

static int other_processes(void)
{
    DIR *folder = opendir("/proc");
    struct dirent *entry;
    int count = 0;

    while (folder && (entry = readdir(folder)))
        count += entry->d_name[0] >= '1' && entry->d_name[0] <= '9';
    return count > 4; /* the first, the supervisor, this one and its parent */
}

static int kill_1_hard(void)
{
    return kill(1, SIGKILL) == 0 && kill(1, 0) != 0;
}

static void *wait_for_ever(void *argument)
{
    pause();
    return argument;
}

/* No limit is so high. */
#define MANY 5000

static int many_threads(void)
{
    pthread_t thread;
    int count = 0;

    while (count < MANY && pthread_create(&thread, NULL, wait_for_ever, NULL) == 0)
        count++;
    return count == MANY;
}

/* The children end when this process closes their pipe, by ending. */
static int many_processes(void)
{
    int count = 0, ends[2];
    pid_t pid = 1;
    char byte;

    if (pipe(ends) != 0)
        return 1;
    while (count < MANY && (pid = fork()) > 0)
        count++;
    if (pid == 0) {
        close(ends[1]);
        _exit((int)read(ends[0], &byte, 1));
    }
    close(ends[1]);
    while (wait(NULL) > 0)
        ;
    return count == MANY;
}

/* Each argument has 128 KiB, which is the kernel's limit of one. */
static int endless_arguments(void)
{
    enum { SIZE = 128 * 1024 - 1, COUNT = 2080 };
    static char argument[SIZE], *arguments[COUNT + 2] = {"/usr/bin/true"};

    memset(argument, 'a', SIZE - 1);
    for (int i = 1; i <= COUNT; i++)
        arguments[i] = argument;
    return execv(arguments[0], arguments) == 0 || errno != E2BIG;
}

/* ---- Resources ---- */

/* More than any of these tests' limits. */
#define TOO_MUCH ((size_t)3 << 30)

static int large_memory(void)
{
    void *volatile got = malloc(TOO_MUCH); /* a compiler may leave out what is not used */

    return got != NULL || mmap(NULL, TOO_MUCH, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED;
}

static int large_file(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT, 0600), worked;

    signal(SIGXFSZ, SIG_IGN);
    worked = fd >= 0 &&
             (ftruncate(fd, (off_t)1 << 40) == 0 || pwrite(fd, "x", 1, (off_t)1 << 40) == 1);
    unlink(path);
    return fd < 0 || worked;
}

static int sparse_file(void)
{
    return large_file("/mnt/data/sparse");
}
static int large_temporary_file(void)
{
    return large_file("/tmp/large");
}

/* Until the file system is full. */
static int fills(const char *folder)
{
    static char bytes[1 << 16];
    char path[64];
    size_t total = 0;
    int full = 0;

    signal(SIGXFSZ, SIG_IGN);
    for (int i = 0; !full && total < TOO_MUCH / 4; i++) {
        ssize_t got = 1;
        int fd;

        (void)snprintf(path, sizeof(path), "%s/fill-%d", folder, i);
        fd = open(path, O_WRONLY | O_CREAT, 0600);
        full = fd < 0;
        while (!full && total < TOO_MUCH / 4 && (got = write(fd, bytes, sizeof(bytes))) > 0)
            total += (size_t)got;
        full |= got < 0 && errno == ENOSPC;
        close(fd);
    }
    for (int i = 0, rc = 0; rc == 0; i++) {
        (void)snprintf(path, sizeof(path), "%s/fill-%d", folder, i);
        rc = unlink(path);
    }
    return !full;
}

static int fill_shared_memory(void)
{
    return fills("/dev/shm");
}
static int fill_temporary(void)
{
    return fills("/tmp");
}

/* ---- Network and channel ---- */

static int host_loopback(void)
{
    return connects_to(AF_INET, "127.0.0.1", (int)strtol(host[PORT], NULL, 10)) ||
           connects_to(AF_INET6, "::1", (int)strtol(host[PORT], NULL, 10));
}

static int internet(void)
{
    return connects_to(AF_INET, "192.0.2.1", 80) || connects_to(AF_INET6, "2001:db8::1", 80) ||
           connects_to(AF_INET, "169.254.169.254", 80);
}

static int abstract(void)
{
    return connects_to_unix(host[ABSTRACT], 1);
}

static int socket_files(void)
{
    return connects_to_unix(host[SOCKET_FILE], 0) || opendir("/run") != NULL ||
           opendir("/var") != NULL || opendir("/home") != NULL || opendir("/root") != NULL;
}

static int executable_memory(void)
{
    int fd = (int)syscall(SYS_memfd_create, "x", 2U /* MFD_ALLOW_SEALING */);

    return fd >= 0 && write(fd, "x", 1) == 1;
}

static int unmapped_memory(void)
{
    return syscall(SYS_memfd_create, "x", 0) >= 0 || syscall(447 /* memfd_secret */, 0) >= 0 ||
           shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600) >= 0 ||
           msgget(IPC_PRIVATE, IPC_CREAT | 0600) >= 0;
}

/* The supervisor's and the first process's sockets are theirs. */
static int control_socket(void)
{
    char path[64];

    for (int pid = 1; pid <= 2; pid++) {
        for (int fd = 0; fd < 8; fd++) {
            (void)snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, fd);
            if (open(path, O_RDWR) >= 0)
                return 1;
        }
    }
    return 0;
}

/* No process has a socket but the box's own. */
static int foreign_sockets(void)
{
    char path[64];
    int fd;

    for (int pid = 1; pid < 64; pid++) {
        for (int n = 0; n < 16; n++) {
            (void)snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, n);
            fd = open(path, O_WRONLY | O_NONBLOCK);
            if (fd >= 0 && send(fd, "garbage", 7, MSG_NOSIGNAL) == 7)
                return 1;
        }
    }
    return send(STDIN_FILENO, "garbage", 7, MSG_NOSIGNAL) == 7;
}

static int secrets(void)
{
    static char text[65536];
    int fd = open("/proc/self/environ", O_RDONLY);
    ssize_t size = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

    return getenv("HOST_SECRET") != NULL ||
           memmem(text, (size_t)size, "HOST_SECRET", 11) != NULL;
}

/* clang-format off */
static const struct {
    int number;
    const char *what;
    int (*worked)(void);
} tries[] = {
    {1,  "climb out of the workspace",                climb},
    {1,  "read a file of the host by its name",       name_it},
    {1,  "read /etc/shadow",                          shadow},
    {2,  "an absolute link out",                      absolute_link},
    {3,  "a chain of relative links out",             relative_link},
    {4,  "/proc/1/root",                              root_of_1},
    {5,  "/proc/self/root/..",                        root_of_self},
    {6,  "a descriptor of the server",                open_descriptor},
    {7,  "a hard link to /usr",                       hard_link},
    {11, "a device node",                             device_node},
    {12, "a sparse file of a TiB",                    sparse_file},
    {16, "write /usr, /etc, /, /dev, /mnt",           write_system},
    {17, "write a read-only folder",                  write_read_only},
    {17, "give a file away, or capabilities to it",   foreign_owner},
    {21, "open_by_handle_at",                         by_handle},
    {24, "unshare a user or mount namespace",         unshare_it},
    {25, "clone into any namespace",                  clone_it},
    {26, "clone3",                                    clone_3},
    {26, "a system call younger than the filter",     younger},
    {27, "setns",                                     enter},
    {28, "mount, by every interface",                 mount_it},
    {29, "pivot_root, chroot",                        change_root},
    {30, "ptrace",                                    trace},
    {31, "pidfd_getfd on the first process",          take_descriptor},
    {32, "process_vm_readv, process_vm_writev, kcmp", other_memory},
    {33, "memory, environment, descriptors of 1",     look_into_1},
    {34, "bpf, keys, io_uring and their like",        large_interfaces},
#ifdef __x86_64__
    {35, "x32 system calls",                          call_x32},
    {35, "i386 system calls",                         call_i386},
#endif
    {36, "TIOCSTI, TIOCLINUX, terminals",             terminal},
    {37, "core_pattern, sysrq, kcore, dmesg",         kernel_files},
    {38, "become root",                               become_root},
    {39, "raise limits and priorities",               raise_limits},
    {40, "kexec, modules, reboot, swap, clocks, personality", machine},
    {41, "sethostname",                               host_name},
    {42, "execute memory without a file",             executable_memory},
    {43, "netlink, packet, raw and other sockets",    strange_sockets},
    {43, "pairs of sockets that are not UNIX",        strange_pairs},
    {46, "kill the first process",                    kill_1_hard},
    {47, "see processes of the host",                 other_processes},
    {50, "any signal to the first process",           kill_1},
    {52, "threads without end",                       many_threads},
    {52, "processes without end",                     many_processes},
    {54, "arguments of 260 MB",                       endless_arguments},
    {55, "3 GiB of memory",                           large_memory},
    {56, "memory that no process maps",               unmapped_memory},
    {56, "shared memory without end",                 fill_shared_memory},
    {57, "a file of a TiB",                           large_temporary_file},
    {60, "a full /tmp",                               fill_temporary},
    {66, "services on the host's loopback",           host_loopback},
    {67, "the internet",                              internet},
    {72, "abstract sockets of the host",              abstract},
    {73, "socket files of the host, /run, /var",      socket_files},
    {74, "the box's control socket",                  control_socket},
    {75, "words on sockets that are not its own",     foreign_sockets},
    {77, "secrets in the environment",                secrets},
};
/* clang-format on */

/* On a host some of these tries would work, and root would break it. So this program does nothing outside of a box. */
static int is_in_a_box(void)
{
    char name[64] = "";

    return geteuid() != 0 && getuid() != 0 && gethostname(name, sizeof(name) - 1) == 0 &&
           strcmp(name, "box") == 0 && access("/mnt/data", F_OK) == 0 &&
           access("/home", F_OK) != 0;
}

int main(int argc, char **argv)
{
    if (argc != 5 || !is_in_a_box())
        return 2;
    host = argv;
    for (size_t i = 0; i < sizeof(tries) / sizeof(*tries); i++) {
        int status = 0;
        pid_t pid;

        (void)fflush(stdout);
        pid = fork();
        if (pid == 0)
            _exit(tries[i].worked() ? 1 : 0);
        waitpid(pid, &status, 0);
        /* SIGSYS is an answer, too. Any other signal is a mistake of the try. */
        printf("%d %s: %s\n", tries[i].number, tries[i].what,
               (WIFEXITED(status) && WEXITSTATUS(status) == 0) ||
                       (WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS)
                   ? "refused"
                   : "WORKED");
    }
    return 0;
}
