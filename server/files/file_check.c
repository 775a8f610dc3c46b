#include "server/files/file_check.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/base/spool.h"
#include "core/base/utf8.h"
#include "core/blob/blob.h"
#include "core/container/boxes.h"
#include "server/complaint.h"
#include "server/config/config.h"
#include "server/server.h"
#include "server/workers.h"

#define COPY_BYTES ((size_t)1 << 18)
#define SAID_BYTES ((size_t)400) /* of the command's output, for the log */

bool file_check_is_on(const struct server *server)
{
    return server->config->files.check.command[0];
}

enum err_code file_check_open(struct server *server, struct err *err)
{
    if (!file_check_is_on(server))
        return ERR_OK;
    if (!server->boxes)
        return err_set(err, ERR_INVALID,
                       "files.check_command: this server has no sandbox to run it in (runnel "
                       "sandbox says why)");
    server->checks_stop_fd = eventfd(0, EFD_CLOEXEC);
    if (server->checks_stop_fd < 0)
        return err_set(err, ERR_INTERNAL, "cannot make an eventfd: %s", strerror(errno));
    server->checkers = workers_new(server->crew, server->config->file_workers);
    return ERR_OK;
}

void file_checks_cut(const struct server *server)
{
    if (server->checkers)
        (void)eventfd_write(server->checks_stop_fd, 1);
}

void file_checks_close(const struct server *server)
{
    if (server->checkers)
        close(server->checks_stop_fd);
}

/* ---- The bytes ---- */

static enum err_code copy(struct blob_read *read, struct spool *spool, struct err *err)
{
    AUTO_FREE char *bytes = mem_new_array(char, COPY_BYTES);
    size_t got = COPY_BYTES;

    for (uint64_t at = 0; got == COPY_BYTES; at += got) {
        enum err_code rc = blob_read_at(read, at, bytes, COPY_BYTES, &got, err);

        if (!rc && got)
            rc = spool_write(spool, bytes, got, err);
        if (rc)
            return rc;
    }
    return lseek(spool->fd, 0, SEEK_SET) == 0
               ? ERR_OK
               : err_set(err, ERR_INTERNAL, "cannot read a file that is to be checked");
}

/* A copy, wherever the blob lies: the command has its descriptor, and must not change what is stored. */
static enum err_code fetch(const struct server *server, const struct tenant *tenant,
                           const char *blob_id, struct spool **ret_spool, struct err *err)
{
    struct blob_read *read = NULL;
    struct spool *spool = NULL;
    enum err_code rc = blob_read_open(server->blobs, tenant, blob_id, &read, err);

    if (!rc)
        rc = spool_open(server->config->data_dir, &spool, err);
    if (!rc)
        rc = copy(read, spool, err);
    blob_read_free(read);
    if (rc)
        spool_close(spool);
    else
        *ret_spool = spool;
    return rc;
}

/* ---- The command ---- */

/* The beginning of what it says, on one line. */
struct said {
    char text[SAID_BYTES];
    size_t length;
};

static bool take_output(void *arg, enum box_stream stream, const char *bytes, size_t size)
{
    struct said *said = arg;

    (void)stream;
    for (size_t i = 0; i < size && said->length < SAID_BYTES - 1; i++)
        said->text[said->length++] = bytes[i] >= ' ' && bytes[i] <= '~' ? bytes[i] : ' ';
    return true;
}

static enum err_code run_in(const struct server *server, struct box *box, int input,
                            struct said *said, struct box_result *ret_result, struct err *err)
{
    const struct config_file_check *check = &server->config->files.check;
    const struct box_run run = {
        .command = {.folder = "/tmp",
                    .arguments = check->command,
                    .environment = boxes_environment(server->boxes)},
        .input = input,
        .timeout_ms = (uint32_t)(check->seconds * 1000),
        .cancel = server->checks_stop_fd,
        .leftovers = BOX_KILL_LEFTOVERS,
        .take_output = take_output,
        .argument = said,
    };

    return box_run(box, &run, ret_result, err);
}

static enum err_code run(const struct server *server, int input, struct said *said,
                         struct box_result *ret_result, struct err *err)
{
    const struct config_file_check *check = &server->config->files.check;
    const struct box_folder folder = {.source = check->folder, .target = FILE_CHECK_FOLDER};
    const struct boxes_request request = {
        .container = "",
        .folders = &folder,
        .folder_count = check->folder != NULL,
        .memory = check->memory,
        .use = BOXES_ALONE,
        .cancel = server->checks_stop_fd,
    };
    struct boxes_hold *hold = NULL;
    enum err_code rc = boxes_take(server->boxes, &request, &hold, err);

    if (!rc)
        rc = run_in(server, boxes_box(hold), input, said, ret_result, err);
    boxes_give(hold);
    return rc;
}

/* ---- What becomes of the file ---- */

static enum err_code unchecked(struct err *err)
{
    return err_set(err, ERR_UPSTREAM,
                   "The file could not be checked. Please retry your request.");
}

static enum err_code shutting_down(struct err *err)
{
    return err_set(err, ERR_STORE, "The server is shutting down. Please retry your request.");
}

/* No box: the machine is busy or stops, or something is wrong that only the operator can mend. */
static enum err_code no_box(enum err_code rc, struct err *err)
{
    if (rc == ERR_LIMIT)
        return err_refuse(err, ERR_LIMIT, REASON_BUSY, NULL,
                          "Too many files are being checked. Please retry your request.");
    if (rc == ERR_CANCELLED)
        return shutting_down(err);
    log_error("files.check_command cannot be run: %s", err->text);
    return unchecked(err);
}

static enum err_code judge(const struct box_result *result, const struct said *said,
                           struct err *err)
{
    static const char *const ends[] = {
        [BOX_EXITED] = "with status",
        [BOX_SIGNALLED] = "by signal",
        [BOX_TIMED_OUT] = "at its time limit, status",
        [BOX_OVER_MEMORY] = "at its memory limit, status",
    };
    const char *end = result->why < COUNT_OF(ends) && ends[result->why]
                          ? ends[result->why]
                          : "with its box, status";

    if (result->why == BOX_EXITED && result->status == 0)
        return ERR_OK;
    if (result->why == BOX_CANCELLED)
        return shutting_down(err);
    if (result->why == BOX_EXITED && result->status == 1) {
        log_warn("files.check_command has refused an uploaded file: %s", said->text);
        return err_invalid(err, "file_rejected", "file",
                           "The file was rejected by this server's check of uploads.");
    }
    log_error("files.check_command ended %s %d: %s", end, result->status, said->text);
    return unchecked(err);
}

enum err_code file_check(const struct server *server, const struct tenant *tenant,
                         const char *blob_id, struct err *err)
{
    struct box_result result = {0};
    struct said said = {0};
    struct spool *spool = NULL;
    struct err why = {0};
    enum err_code rc;

    if (!file_check_is_on(server))
        return ERR_OK;
    rc = fetch(server, tenant, blob_id, &spool, err);
    if (rc)
        return rc;
    rc = run(server, spool->fd, &said, &result, &why);
    spool_close(spool);
    if (!rc)
        return judge(&result, &said, err);
    rc = no_box(rc, &why);
    if (err)
        *err = why;
    return rc;
}
