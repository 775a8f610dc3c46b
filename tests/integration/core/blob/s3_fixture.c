#include "tests/integration/core/blob/s3_fixture.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t child;
static FILE *commands, *answers;
static char line[64], endpoint[64];

static const char *next_line(void)
{
    if (!fgets(line, sizeof(line), answers))
        return NULL;
    line[strcspn(line, "\n")] = '\0';
    return line;
}

bool s3_fixture_start(void)
{
    int in[2], out[2];

    if (pipe(in) || pipe(out))
        return false;
    child = fork();
    if (child == 0) {
        dup2(in[0], STDIN_FILENO);
        dup2(out[1], STDOUT_FILENO);
        close(in[1]);
        close(out[0]);
        execlp("python3", "python3", S3_SERVER, (char *)NULL);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    commands = fdopen(in[1], "w");
    answers = fdopen(out[0], "r");
    if (child < 0 || !commands || !answers || !next_line())
        return false;
    (void)snprintf(endpoint, sizeof(endpoint), "http://127.0.0.1:%.10s", line);
    return true;
}

void s3_fixture_stop(void)
{
    fclose(commands); /* the end of its input is its end */
    fclose(answers);
    waitpid(child, NULL, 0);
}

struct s3_options s3_fixture_options(void)
{
    return (struct s3_options){.endpoint = endpoint,
                               .bucket = "runnel-test",
                               .region = "eu-test-1",
                               .access_key = "AKIDTEST",
                               .secret_key = "secret/key+with=signs"};
}

const char *s3_fixture_ask(const char *command)
{
    fprintf(commands, "%s\n", command);
    fflush(commands);
    return next_line();
}
