/*
 * The files of a container: from the folder to rows, from blobs to the folder, and back.
 */

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/lock.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/base/utf8.h"
#include "core/blob/blob.h"
#include "core/container/containers_internal.h"
#include "core/domain/file_name.h"
#include "core/sandbox/workspace/workspace.h"
#include "core/sandbox/workspace/workspace_scan.h"
#include "core/store/tables/containers/containers.h"
#include "core/store/tables/files/files.h"

#define LISTED_FILES ((size_t)10000) /* files of a container that have rows */
#define LISTED_PATH  ((size_t)1024)  /* bytes of their paths: an index has them */
#define PIECE        ((size_t)256 << 10)
#define NAME_TRIES   100 /* report.csv, report-2.csv ... report-100.csv */
#define NAME_STEM    ((size_t)200)

/* ---- What is listed ---- */

/* .figures/<id>.png are figures; what else is in a hidden folder belongs to programs, such as .cache and .git. */
static bool is_figure(const char *path)
{
    static const char folder[] = ".figures/";
    size_t length = strlen(path);

    return strncmp(path, folder, strlen(folder)) == 0 && length > 4 &&
           strcmp(path + length - 4, ".png") == 0 && !strchr(path + strlen(folder), '/');
}

static bool is_listed(const char *path)
{
    static const char *const made[] = {"node_modules/", "__pycache__/"};

    if (strlen(path) > LISTED_PATH)
        return false;
    if (is_figure(path))
        return true;
    for (const char *part = path, *slash; (slash = strchr(part, '/')) != NULL;
         part = slash + 1) {
        if (*part == '.')
            return false;
        for (size_t i = 0; i < COUNT_OF(made); i++)
            if (strncmp(part, made[i], strlen(made[i])) == 0)
                return false;
    }
    return true;
}

/* The caller frees the array; the paths are the scan's. */
static struct seen_file *listed_files(const struct workspace_scan *scan, size_t *ret_count)
{
    struct seen_file *seen = mem_new_array(struct seen_file, scan->count + 1);
    size_t count = 0;

    for (size_t i = 0; i < scan->count && count < LISTED_FILES; i++) {
        const struct workspace_file *file = &scan->files[i];

        if (is_listed(file->path))
            seen[count++] = (struct seen_file){.path = file->path,
                                               .bytes = file->stat.size,
                                               .modified_ns = file->stat.mtime_ns,
                                               .inode = file->stat.inode};
    }
    *ret_count = count;
    return seen;
}

/* ---- In ---- */

/* A name that means a folder is none for a file. */
static const char *file_name(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ? "file" : name;
}

char *container_file_name(const char *full_name, unsigned n)
{
    const char *name = file_name(full_name);
    const char *end = strrchr(name, '.');
    size_t stem = end && end != name ? (size_t)(end - name) : strlen(name);

    if (n == 1)
        return mem_strdup(name);
    if (strlen(name + stem) > FILE_NAME_LIMIT - NAME_STEM - 8)
        stem = strlen(name); /* that is no suffix */
    if (stem > NAME_STEM)
        stem = utf8_fit(name, NAME_STEM);
    return mem_printf("%.*s-%u%s", (int)stem, name, n, strlen(name) > stem && end ? end : "");
}

static enum err_code check_room(const struct container *container, uint64_t bytes,
                                struct err *err)
{
    const struct workspaces_options *limits =
        workspaces_options(container->all->options.workspaces);
    struct workspace_usage usage;
    enum err_code rc = workspace_usage(container->workspace, &usage, err);

    if (rc)
        return rc;
    if (bytes <= limits->bytes && usage.bytes <= limits->bytes - bytes)
        return ERR_OK;
    return err_refuse(
        err, ERR_INVALID, REASON_CONTAINER_FULL, NULL,
        "The file does not fit into the container: %llu MiB of %llu MiB are used.",
        (unsigned long long)(usage.bytes >> 20), (unsigned long long)(limits->bytes >> 20));
}

static enum err_code copy_in(struct blob_read *read, struct workspace_writer *writer,
                             struct err *err)
{
    AUTO_FREE char *piece = mem_new_array(char, PIECE);
    uint64_t at = 0;
    size_t got;
    enum err_code rc;

    for (;;) {
        rc = blob_read_at(read, at, piece, PIECE, &got, err);
        if (!rc && got)
            rc = workspace_writer_add(writer, piece, got, err);
        if (rc || !got)
            return rc;
        at += got;
    }
}

/* ERR_CONFLICT: the name is taken. */
static enum err_code write_file(const struct container *container, struct blob_read *read,
                                const char *name, struct workspace_stat *ret_stat,
                                struct err *err)
{
    const struct workspace_target target = {.path = name, .place = WORKSPACE_FREE};
    struct workspace_writer *writer = NULL;
    struct workspace_written written;
    enum err_code rc = workspace_writer_new(container->workspace, &target, &writer, err);

    if (rc)
        return rc;
    rc = copy_in(read, writer, err);
    if (!rc)
        rc = workspace_writer_finish(writer, &written, err);
    workspace_writer_free(writer);
    if (!rc)
        *ret_stat = written.stat;
    return rc;
}

/* Under the first name that is free. It is looked at first, because a file that finds its name taken was written in
 * vain. */
static enum err_code write_free(const struct container *container, struct blob_read *read,
                                const char *name, char **ret_path,
                                struct workspace_stat *ret_stat, struct err *err)
{
    for (unsigned n = 1; n <= NAME_TRIES; n++) {
        AUTO_FREE char *path = container_file_name(name, n);
        struct workspace_stat there;
        enum err_code rc = workspace_stat(container->workspace, path, &there, err);

        if (!rc)
            continue;
        if (rc == ERR_NOT_FOUND)
            rc = write_file(container, read, path, ret_stat, err);
        if (rc == ERR_CONFLICT)
            continue;
        if (!rc)
            *ret_path = TAKE(path);
        return rc;
    }
    return err_set(err, ERR_CONFLICT, "The container has %d files of the name %.100s.",
                   NAME_TRIES, name);
}

/* Prompts written for OpenAI open a file by its id. Code may have made something else of that name, which stays. */
static void link_id(const struct container *container, const struct container_file_row *row)
{
    struct err err = {0};

    if (*row->origin_id &&
        workspace_link(container->workspace, row->origin_id, row->path, &err))
        log_info("container %s: %s is no link: %s", container->row.id, row->origin_id,
                 err.text);
}

static enum err_code put(struct container *container, const char *name, const char *blob_id,
                         const char *origin_id, struct container_file_row *ret_row,
                         struct err *err)
{
    const struct containers_options *options = &container->all->options;
    CLEANUP(container_file_row_clear)
    struct container_file_row row = {.source = CONTAINER_FILE_USER,
                                     .created_at = clock_wall_us()};
    struct workspace_stat stat = {0};
    struct blob_read *read;
    enum err_code rc = blob_read_open(options->blobs, &container->tenant, blob_id, &read, err);

    if (rc)
        return rc;
    rc = check_room(container, blob_read_row(read)->bytes, err);
    if (!rc)
        rc = write_free(container, read, name, &row.path, &stat, err);
    blob_read_free(read);
    if (rc)
        return rc;
    id_make(row.id, "cfile_");
    memcpy(row.container_id, container->row.id, sizeof(row.container_id));
    memcpy(row.origin_id, origin_id, strlen(origin_id) + 1);
    link_id(container, &row);
    row.bytes = stat.size;
    row.modified_ns = stat.mtime_ns;
    row.inode = stat.inode;
    rc = store_container_file_put(options->store, &container->tenant, &row,
                                  container->row.epoch, err);
    if (!rc) {
        *ret_row = row;
        row = (struct container_file_row){0};
    }
    return rc;
}

enum err_code container_put_back(const struct container *container,
                                 struct container_file_row *row, struct err *err)
{
    struct workspace_stat stat = {0};
    struct blob_read *read;
    enum err_code rc = blob_read_open(container->all->options.blobs, &container->tenant,
                                      row->blob_id, &read, err);

    if (rc)
        return rc;
    rc = write_file(container, read, row->path, &stat, err);
    blob_read_free(read);
    if (rc)
        return rc;
    row->bytes = stat.size;
    row->modified_ns = stat.mtime_ns;
    row->inode = stat.inode;
    link_id(container, row);
    return ERR_OK;
}

enum err_code container_put_blob(struct container *container, const char *name,
                                 const char *blob_id, struct container_file_row *ret_row,
                                 struct err *err)
{
    return put(container, name, blob_id, "", ret_row, err);
}

/* Of two calls that want the same file at once, the second one finds that of the first. */
void container_begin_put(const struct container *container)
{
    struct containers *all = container->all;

    lock_acquire(&all->lock);
    while (container->use->putting)
        lock_wait(&all->lock, &all->put_ended);
    container->use->putting = true;
    lock_release(&all->lock);
}

void container_end_put(const struct container *container)
{
    struct containers *all = container->all;

    lock_acquire(&all->lock);
    container->use->putting = false;
    pthread_cond_broadcast(&all->put_ended);
    lock_release(&all->lock);
}

static enum err_code put_missing(struct container *container, const char *file_id,
                                 struct container_file_row *ret_row, struct err *err)
{
    struct store *store = container->all->options.store;
    CLEANUP(file_row_clear) struct file_row file = {0};
    CLEANUP(container_file_row_clear) struct container_file_row row = {0};
    struct workspace_stat stat;
    enum err_code rc = store_file_get(store, &container->tenant, file_id, &file, err);

    if (rc)
        return rc;
    rc = store_container_file_from(store, &container->tenant, container->row.id, file_id, &row,
                                   err);
    if (!rc)
        rc = workspace_stat(container->workspace, row.path, &stat, err);
    if (rc == ERR_NOT_FOUND)
        return put(container, file.filename, file.blob_id, file.id, ret_row, err);
    if (!rc) {
        *ret_row = row;
        row = (struct container_file_row){0};
    }
    return rc;
}

enum err_code container_put_file(struct container *container, const char *file_id,
                                 struct container_file_row *ret_row, struct err *err)
{
    enum err_code rc;

    container_begin_put(container);
    rc = put_missing(container, file_id, ret_row, err);
    container_end_put(container);
    return rc;
}

/* Code may have removed it. */
static bool is_there(const struct container *container, const struct container_file_row *rows,
                     size_t count, const char *file_id)
{
    for (size_t i = 0; i < count; i++) {
        struct workspace_stat stat;
        struct err gone;

        if (strcmp(rows[i].origin_id, file_id) == 0)
            return !workspace_stat(container->workspace, rows[i].path, &stat, &gone);
    }
    return false;
}

static enum err_code put_all_missing(struct container *container, const char *const *file_ids,
                                     size_t count, struct err *err)
{
    struct container_file_row *rows = NULL;
    size_t row_count = 0;
    enum err_code rc =
        store_container_files_from(container->all->options.store, &container->tenant,
                                   container->row.id, file_ids, count, &rows, &row_count, err);

    if (rc)
        return rc;
    for (size_t i = 0; !rc && i < count; i++) {
        struct container_file_row row;

        if (is_there(container, rows, row_count, file_ids[i]))
            continue;
        rc = put_missing(container, file_ids[i], &row, err);
        if (!rc)
            container_file_row_clear(&row);
        else if (rc == ERR_NOT_FOUND)
            rc = ERR_OK;
    }
    container_file_rows_free(rows, row_count);
    return rc;
}

enum err_code container_put_files(struct container *container, const char *const *file_ids,
                                  size_t count, struct err *err)
{
    enum err_code rc;

    if (!count)
        return ERR_OK;
    container_begin_put(container);
    rc = put_all_missing(container, file_ids, count, err);
    container_end_put(container);
    return rc;
}

enum err_code container_remove_file(struct container *container, const char *id,
                                    struct err *err)
{
    struct store *store = container->all->options.store;
    CLEANUP(container_file_row_clear) struct container_file_row row = {0};
    enum err_code rc =
        store_container_file_get(store, &container->tenant, container->row.id, id, &row, err);

    if (rc)
        return rc;
    rc = workspace_remove(container->workspace, row.path, err);
    if (rc && rc != ERR_NOT_FOUND)
        return rc;
    return store_container_file_delete(store, &container->tenant, container->row.id, id, err);
}

/* ---- Out ---- */

static enum err_code copy_bytes(int fd, uint64_t bytes, struct blob_write *write,
                                struct err *err)
{
    AUTO_FREE char *piece = mem_new_array(char, PIECE);
    enum err_code rc = ERR_OK;

    for (uint64_t left = bytes; !rc && left;) {
        ssize_t got = read(fd, piece, left < PIECE ? (size_t)left : PIECE);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return err_set(err, ERR_CONFLICT, "the file was changed while it was read");
        rc = blob_write_add(write, piece, (size_t)got, err);
        left -= (uint64_t)got;
    }
    return rc;
}

/* The file as the row has it, or ERR_CONFLICT. */
static enum err_code open_same(const struct container *container,
                               const struct container_file_row *row, int *ret_fd,
                               struct err *err)
{
    struct workspace_stat stat;
    int fd;
    enum err_code rc = workspace_read_fd(container->workspace, row->path, &fd, &stat, err);

    if (rc)
        return rc;
    if (stat.size != row->bytes || stat.mtime_ns != row->modified_ns ||
        stat.inode != row->inode) {
        close(fd);
        return err_set(err, ERR_CONFLICT, "%s has changed since it was looked at", row->id);
    }
    *ret_fd = fd;
    return ERR_OK;
}

static enum err_code make_blob(const struct container *container,
                               const struct container_file_row *row, struct blob_row *ret_blob,
                               struct err *err)
{
    struct blob_write *write = NULL;
    int fd = -1;
    enum err_code rc = open_same(container, row, &fd, err);

    if (rc)
        return rc;
    rc = blob_write_begin(container->all->options.blobs, &container->tenant, &write, err);
    if (!rc)
        rc = copy_bytes(fd, row->bytes, write, err);
    if (!rc)
        rc = blob_write_finish(write, ret_blob, err);
    blob_write_free(write);
    close(fd);
    return rc;
}

enum err_code container_copy_out(struct container *container, struct container_file_row *row,
                                 struct err *err)
{
    const struct containers_options *options = &container->all->options;
    struct blob_row blob;
    struct err left;
    enum err_code rc;

    if (*row->blob_id)
        return ERR_OK;
    rc = make_blob(container, row, &blob, err);
    if (rc)
        return rc;
    memcpy(row->blob_id, blob.id, sizeof(blob.id));
    rc = store_container_file_copied(options->store, &container->tenant, row, err);
    if (rc) {
        *row->blob_id = '\0';
        if (blob_remove(options->blobs, &container->tenant, blob.id, &left))
            log_info("%s is removed later: %s", blob.id, left.text);
    }
    return rc;
}

/* ---- After a call ---- */

static enum err_code copy_by_id(struct container *container, const char *id, struct err *err)
{
    CLEANUP(container_file_row_clear) struct container_file_row row = {0};
    enum err_code rc = store_container_file_get(
        container->all->options.store, &container->tenant, container->row.id, id, &row, err);

    return rc ? rc : container_copy_out(container, &row, err);
}

enum err_code containers_copy_file(struct containers *containers, const struct tenant *tenant,
                                   const char *id, const char *file_id, struct err *err)
{
    const struct container_choice choice = {.named = id};
    struct container *container;
    enum err_code rc = containers_take(containers, tenant, &choice, &container, err);

    if (rc)
        return rc;
    rc = copy_by_id(container, file_id, err);
    container_release(container);
    return rc;
}

/* *room: bytes that the container's copies may still have. */
static bool wants_copy(const struct container *container, const struct changed_file *file,
                       uint64_t *room)
{
    if (file->change == CONTAINER_FILE_DELETED || file->bytes > *room)
        return false;
    if (!is_figure(file->path) && (container->all->options.copies != CONTAINER_COPIES_ALL ||
                                   file->bytes > CONTAINER_COPY_BYTES))
        return false;
    *room -= file->bytes;
    return true;
}

/* The call has had its effect, and its files are there: a copy that fails is for the log. */
static void copy_changed(struct container *container, const struct changed_file *changed,
                         size_t count)
{
    uint64_t used = 0, room;
    struct err err = {0};
    enum err_code rc = store_container_copied_bytes(
        container->all->options.store, &container->tenant, container->row.id, &used, &err);

    room = used < CONTAINER_COPIES_BYTES ? CONTAINER_COPIES_BYTES - used : 0;
    for (size_t i = 0; !rc && i < count; i++)
        if (wants_copy(container, &changed[i], &room))
            rc = copy_by_id(container, changed[i].id, &err);
    if (rc)
        log_warn("container %s: not all files are copied: %s", container->row.id, err.text);
}

enum err_code container_note(struct container *container, enum container_source source,
                             const char *call_id, struct changed_file **ret_changed,
                             size_t *ret_count, struct err *err)
{
    CLEANUP(workspace_scan_clear) struct workspace_scan scan = {0};
    AUTO_FREE struct seen_file *seen = NULL;
    struct changed_file *changed;
    size_t seen_count, count;
    enum err_code rc = workspace_scan(container->workspace, &scan, err);

    if (rc)
        return rc;
    seen = listed_files(&scan, &seen_count);
    rc = store_container_files_seen(container->all->options.store, &container->tenant,
                                    container->row.id, container->row.epoch, seen, seen_count,
                                    scan.cut ? SEEN_PART : SEEN_ALL, source, call_id, &changed,
                                    &count, err);
    if (rc)
        return rc;
    if (*call_id && count && !container->copies_nothing)
        copy_changed(container, changed, count);
    if (ret_changed) {
        *ret_changed = changed;
        *ret_count = count;
    } else {
        changed_files_free(changed, count);
    }
    return ERR_OK;
}
