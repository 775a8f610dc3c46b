#include "tests/support/box_user.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/sandbox/policy.h"
#include "tests/support/test.h"

uint32_t box_user(void)
{
    return geteuid() == 0 ? 1900000000 : 0;
}

/* With the program itself, not with what is tested. */
static bool has_namespaces(void)
{
    const char *bwrap;
    int status = 0;
    pid_t child;

    if (policy_bwrap(&bwrap, NULL))
        return false;
    child = fork();
    if (child == 0) {
        uint32_t user = box_user();

        if (user && (setresgid(user, user, user) || setresuid(user, user, user)))
            _exit(1);
        execl(bwrap, bwrap, "--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc",
              "/usr/bin/true", (char *)NULL);
        _exit(1);
    }
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

void skip_without_boxes(void)
{
    static int known, skipped; /* 0: not known yet */
    const char *required = getenv("RUNNEL_REQUIRE_SANDBOX");

    if (!known)
        known = has_namespaces() ? 1 : -1;
    if (known > 0)
        return;
    if (required && strcmp(required, "1") == 0)
        fail_msg("RUNNEL_REQUIRE_SANDBOX=1, and there are no user namespaces");
    printf("SKIPPED %d (no user namespaces)\n", ++skipped);
    skip();
}
