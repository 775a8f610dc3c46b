/*
 * cli/sandbox.c -- `runnel sandbox`: what this machine lets a sandbox do, and what to do about the rest.
 *
 * It tries what `serve` tries when it starts, as the same user, so run it where the server runs: in its container,
 * or by systemd-run with its unit's settings.
 */

#include <stdio.h>
#include <unistd.h>

#include "core/sandbox/compute.h"
#include "core/sandbox/sandbox.h"
#include "server/cli/commands.h"
#include "server/config/config.h"

static void print_report(const struct sandbox_report *report)
{
    for (int i = 0; i < SANDBOX_CHECKS; i++) {
        const struct sandbox_finding *finding = &report->findings[i];
        enum sandbox_check check = (enum sandbox_check)i;

        printf("%-12s%s%s%s%s\n", sandbox_check_name(check), finding->passed ? "yes" : "no",
               *finding->seen ? (finding->passed ? "  " : "   ") : "", finding->seen,
               finding->passed || !sandbox_check_is_optional(check) ? "" : " (optional)");
        if (finding->advice)
            printf("%17s%s\n", "", finding->advice);
    }
    puts(sandbox_obstacle(report) == SANDBOX_CHECKS ? "Commands can be executed."
                                                    : "No command can be executed.");
}

int cmd_sandbox(int argc, char **argv)
{
    struct sandbox_report report;
    struct config *config = NULL;
    struct err err;

    if (config_read(argc - 1, argv + 1, &config, &err))
        return command_failed(EXIT_USAGE, &err);
    if (compute_start(NULL, 0, &err)) {
        config_free(config);
        return command_failed(EXIT_CANNOT, &err);
    }
    sandbox_check(config->sandbox_uids, &report);
    compute_stop();
    config_free(config);
    print_report(&report);
    return sandbox_obstacle(&report) == SANDBOX_CHECKS ? EXIT_DONE : EXIT_CANNOT;
}
