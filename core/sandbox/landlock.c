/*
 * landlock.c -- rules of Landlock, for every version of it.
 */

#include "core/sandbox/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

/* All rights on files that the first version knows, and what later ones added. */
#define RIGHTS_1       (((uint64_t)LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1)
#define RIGHT_REFER    ((uint64_t)1 << 13)
#define RIGHT_TRUNCATE ((uint64_t)1 << 14)
#define RIGHT_IOCTL    ((uint64_t)1 << 15)

#define READING \
    (LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)

int landlock_version(void)
{
    long version =
        syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);

    return version > 0 ? (int)version : 0;
}

/* A right that the kernel does not know makes it refuse the whole set. */
static uint64_t known_rights(void)
{
    int version = landlock_version();

    return RIGHTS_1 | (version >= 2 ? RIGHT_REFER : 0) | (version >= 3 ? RIGHT_TRUNCATE : 0) |
           (version >= 5 ? RIGHT_IOCTL : 0);
}

int landlock_rules(void)
{
    struct landlock_ruleset_attr attributes = {.handled_access_fs = known_rights()};

    return (int)syscall(SYS_landlock_create_ruleset, &attributes,
                        sizeof(attributes.handled_access_fs), 0);
}

bool landlock_allow(int rules, const char *path, enum landlock_access access)
{
    struct landlock_path_beneath_attr rule = {
        .allowed_access = access == LANDLOCK_WRITE  ? known_rights()
                          : access == LANDLOCK_READ ? READING
                                                    : LANDLOCK_ACCESS_FS_READ_DIR};
    bool done;

    rule.parent_fd = open(path, O_PATH | O_CLOEXEC);
    if (rule.parent_fd < 0)
        return errno == ENOENT;
    done = syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0;
    close(rule.parent_fd);
    return done;
}

bool landlock_apply(int rules)
{
    return syscall(SYS_landlock_restrict_self, rules, 0) == 0;
}
