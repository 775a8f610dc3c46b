/*
 * Containers: which one a call gets, what happens to its files, and that nothing is left when it ends.
 */

#include "core/container/containers.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/compiler.h"
#include "core/base/fault.h"
#include "core/base/mem.h"
#include "core/blob/blob.h"
#include "core/sandbox/workspace/workspace.h"
#include "core/store/tables/containers/containers.h"
#include "core/store/tables/files/files.h"
#include "tests/integration/core/store/opened_store.h"
#include "tests/support/pg_fixture.h"
#include "tests/support/remove_tree.h"
#include "tests/support/tenants.h"
#include "tests/support/test.h"

#define MINE   TENANT_OF("proj_boxes")
#define THEIRS TENANT_OF("proj_others")
#define MIB    ((uint64_t)1 << 20)

static char dir[] = "/tmp/runnel-containers-XXXXXX";
static struct blobs *blobs;
static struct workspaces *workspaces;
static struct containers *all;
static char ended[ID_SIZE]; /* the container whose processes were ended last */

static void end(void *argument, const char *container_id)
{
    (void)argument;
    (void)snprintf(ended, sizeof(ended), "%s", container_id);
}

static struct containers *opened(enum container_copies copies)
{
    const struct containers_options options = {
        .store = store,
        .blobs = blobs,
        .workspaces = workspaces,
        .node_id = "node_a",
        .idle_seconds = 1200,
        .first_user = geteuid() == 0 ? 1900000000 : 0,
        .copies = copies,
        .end = end,
    };
    struct containers *containers;
    struct err err;

    if (containers_open(&options, &containers, &err))
        fail_msg("%s", err.text);
    return containers;
}

static int set_up(void **state)
{
    const struct workspaces_options folders = {.data_dir = dir, .bytes = MIB, .files = 1000};
    struct blobs_options places = {.place = BLOB_DATABASE};

    if (open_store(state) || !mkdtemp(dir) || workspaces_open(&folders, &workspaces, NULL))
        return -1;
    places.store = store;
    if (blobs_open(&places, &blobs, NULL))
        return -1;
    (void)pg_fixture_ask("INSERT INTO projects (id, name, created_at)"
                         " VALUES ('proj_boxes', 'boxes', 1) RETURNING 1");
    all = opened(CONTAINER_COPIES_CITED);
    return 0;
}

static int tear_down(void **state)
{
    containers_free(all);
    workspaces_close(workspaces);
    blobs_free(blobs);
    return remove_tree(dir) || close_store(state);
}

static struct container *taken(const struct container_choice *choice)
{
    struct container *container;
    struct err err;

    if (containers_take(all, MINE, choice, &container, &err))
        fail_msg("%s", err.text);
    return container;
}

static struct container *taken_for(const char *owner)
{
    return taken(&(const struct container_choice){.owner_id = owner});
}

static void id_of(const struct container *container, char ret_id[ID_SIZE])
{
    memcpy(ret_id, container_row(container)->id, ID_SIZE);
}

static bool has_folder(const char *id)
{
    struct workspace *workspace;

    if (workspace_open(workspaces, (MINE)->project, id, &workspace, NULL))
        return false;
    workspace_close(workspace);
    return true;
}

static void make_late(const char *id)
{
    (void)pg_fixture_ask("UPDATE containers SET expires_at = 1 WHERE id = '%s' RETURNING 1",
                         id);
}

static void empty_trash(void)
{
    while (containers_empty_trash(all))
        continue;
}

/* ---- Which one ---- */

static void *take_for_thread(void *argument)
{
    *(struct container **)argument = taken_for("thread_many");
    store_thread_end(store);
    return NULL;
}

TEST(calls_that_ask_at_once_get_one_container)
{
    struct container *containers[4];
    pthread_t threads[COUNT_OF(containers)];
    size_t made = 0;

    for (size_t i = 0; i < COUNT_OF(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, take_for_thread, &containers[i]), 0);
    for (size_t i = 0; i < COUNT_OF(threads); i++)
        pthread_join(threads[i], NULL);
    for (size_t i = 0; i < COUNT_OF(threads); i++) {
        assert_string_equal(container_row(containers[i])->id, container_row(containers[0])->id);
        made += container_is_new(containers[i]);
    }
    assert_int_equal(made, 1);
    for (size_t i = 0; i < COUNT_OF(threads); i++)
        container_release(containers[i]);
}

TEST(the_container_of_the_context_comes_before_that_of_the_owner)
{
    struct container_choice choice = {.owner_id = "thread_2"};
    char first[ID_SIZE], second[ID_SIZE];
    struct container *container = taken_for("thread_1");

    id_of(container, first);
    container_release(container);
    choice.in_context = first;
    container = taken(&choice);
    assert_string_equal(container_row(container)->id, first);
    assert_false(container_is_new(container));
    container_release(container);
    choice.memory_gib = 4; /* which it does not have */
    container = taken(&choice);
    id_of(container, second);
    assert_string_not_equal(second, first);
    assert_true(container_is_new(container));
    container_release(container);
    choice.memory_gib = 0;
    make_late(first);
    container = taken(&choice);
    assert_string_equal(container_row(container)->id, second);
    container_release(container);
}

TEST(a_named_container_is_taken_or_refused)
{
    struct container_choice choice = {.named = "cntr_unknown"};
    char id[ID_SIZE];
    struct container *container;
    struct err err;

    assert_int_equal(containers_take(all, MINE, &choice, &container, &err), ERR_NOT_FOUND);
    assert_string_equal(err.text, "Container with id 'cntr_unknown' not found.");
    container = taken_for("thread_named");
    id_of(container, id);
    container_release(container);
    choice.named = id;
    container = taken(&choice);
    assert_false(container_is_new(container));
    container_release(container);
    assert_int_equal(containers_take(all, THEIRS, &choice, &container, NULL), ERR_NOT_FOUND);
    (void)pg_fixture_ask("UPDATE containers SET node_id = 'node_b' WHERE id = '%s' RETURNING 1",
                         id);
    assert_int_equal(containers_take(all, MINE, &choice, &container, &err), ERR_STORE);
    assert_int_equal(err.reason, REASON_CONTAINER_ELSEWHERE);
    make_late(id);
    assert_int_equal(containers_take(all, MINE, &choice, &container, &err), ERR_CONFLICT);
    assert_string_equal(err.text, "Container is expired.");
    assert_int_equal(containers_check(all, MINE, id, NULL), ERR_CONFLICT);
}

TEST(a_container_without_a_folder_is_not_made)
{
    const struct container_choice choice = {.owner_id = "thread_full"};
    struct container *container;

    fault_arm("container.folder", 1);
    assert_int_equal(containers_take(all, MINE, &choice, &container, NULL), ERR_INTERNAL);
    fault_disarm();
    assert_string_equal(
        pg_fixture_ask("SELECT count(*) FROM containers WHERE status = 'running'"
                       " AND owner_id = 'thread_full'"),
        "0");
}

/* ---- Its end ---- */

TEST(what_is_taken_does_not_expire)
{
    static const char soon[] = "UPDATE containers SET last_active_at = 1, expires_at = %s"
                               " WHERE id = '%s' RETURNING 1";
    static const char second[] =
        "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint + 1000000";
    struct container *kept = taken_for("thread_kept");
    struct container *left = taken_for("thread_left");
    char id[ID_SIZE];

    (void)pg_fixture_ask(soon, second, container_row(kept)->id);
    id_of(left, id);
    container_release(left);
    make_late(id);
    assert_int_equal(containers_tend(all, NULL), ERR_OK);
    assert_string_equal(
        pg_fixture_ask("SELECT status || ' ' || (expires_at > %s + 1000000000) FROM containers"
                       " WHERE id = '%s'",
                       second, container_row(kept)->id),
        "running true");
    assert_false(has_folder(id));
    assert_string_equal(ended, id);
    assert_false(container_is_gone(kept));
    container_release(kept);
}

TEST(a_container_that_is_deleted_while_it_is_taken_leaves_nothing)
{
    struct container *container = taken_for("thread_gone");
    char id[ID_SIZE];

    id_of(container, id);
    assert_int_equal(containers_delete(all, MINE, id, NULL), ERR_OK);
    assert_true(container_is_gone(container));
    assert_string_equal(ended, id);
    assert_false(has_folder(id));
    assert_int_equal(
        container_note(container, CONTAINER_FILE_ASSISTANT, "call", NULL, NULL, NULL),
        ERR_NOT_FOUND);
    *ended = '\0';
    container_release(container); /* a box may have been made meanwhile */
    assert_string_equal(ended, id);
    assert_string_equal(pg_fixture_ask("SELECT count(*) FROM containers WHERE id = '%s'", id),
                        "0");
    empty_trash();
}

TEST(a_container_that_another_node_deletes_ends_here)
{
    struct container *container = taken_for("thread_far");

    assert_int_equal(store_container_delete(store, MINE, container_row(container)->id, NULL),
                     ERR_OK);
    assert_false(container_is_gone(container));
    assert_int_equal(containers_tend(all, NULL), ERR_OK);
    assert_true(container_is_gone(container));
    container_release(container);
}

/* Ids are made so that no two are the same. A project can name those of another one all the same. */
TEST(a_project_that_names_the_id_of_another_does_not_touch_its_container)
{
    struct container *mine = taken_for("thread_same");
    struct container_choice choice = {.named = container_row(mine)->id};
    struct container *theirs;

    (void)pg_fixture_ask("INSERT INTO containers SELECT 'proj_others', id, name, status, NULL,"
                         " node_id, has_folder, memory_gib, had_python, idle_seconds,"
                         " created_at, last_active_at, expires_at FROM containers"
                         " WHERE id = '%s' RETURNING 1",
                         choice.named);
    assert_int_equal(containers_take(all, THEIRS, &choice, &theirs, NULL), ERR_OK);
    assert_int_equal(containers_delete(all, THEIRS, choice.named, NULL), ERR_OK);
    assert_true(container_is_gone(theirs));
    assert_false(container_is_gone(mine));
    container_release(theirs);
    assert_true(has_folder(choice.named));
    container_release(mine);
}

TEST(a_folder_that_cannot_be_removed_keeps_no_other_waiting)
{
    char ids[2][ID_SIZE];

    for (size_t i = 0; i < 2; i++) {
        struct container *container = taken_for(i ? "thread_next" : "thread_stuck");

        id_of(container, ids[i]);
        container_release(container);
        (void)pg_fixture_ask("UPDATE containers SET expires_at = expires_at - 1300000000"
                             " WHERE id = '%s' RETURNING 1",
                             ids[i]);
    }
    fault_arm("container.trash", 1);
    assert_int_equal(containers_tend(all, NULL), ERR_OK);
    fault_disarm();
    assert_int_equal(has_folder(ids[0]) + has_folder(ids[1]), 1);
    assert_int_equal(containers_tend(all, NULL), ERR_OK);
    assert_false(has_folder(ids[0]) || has_folder(ids[1]));
}

TEST(a_folder_without_a_container_goes_at_the_start)
{
    struct container *container = taken_for("thread_stays");
    struct workspace *stray;
    char id[ID_SIZE];

    id_of(container, id);
    container_release(container);
    assert_int_equal(workspace_make(workspaces, (MINE)->project, "cntr_stray",
                                    geteuid() == 0 ? 1900000000 : 0, &stray, NULL),
                     ERR_OK);
    workspace_close(stray);
    containers_free(all);
    all = opened(CONTAINER_COPIES_CITED);
    assert_false(has_folder("cntr_stray"));
    assert_true(has_folder(id));
}

/* ---- Files ---- */

static void write_file(const struct container *container, const char *path, const char *text)
{
    const struct workspace_target target = {.path = path, .place = WORKSPACE_ANY};

    assert_int_equal(workspace_write(container_workspace(container), &target, text,
                                     strlen(text), NULL, NULL),
                     ERR_OK);
}

/* "+a.csv ~b.csv " */
static const char *noted(struct container *container)
{
    static char text[200];
    struct changed_file *changed;
    size_t count;

    assert_int_equal(
        container_note(container, CONTAINER_FILE_ASSISTANT, "call_1", &changed, &count, NULL),
        ERR_OK);
    *text = '\0';
    for (size_t i = 0; i < count; i++)
        (void)snprintf(text + strlen(text), sizeof(text) - strlen(text), "%c%s ",
                       "+~-"[changed[i].change], changed[i].path);
    changed_files_free(changed, count);
    return text;
}

static struct container_file_row file_at(const struct container *container, const char *path)
{
    struct container_file_row row;

    assert_int_equal(
        store_container_file_at(store, MINE, container_row(container)->id, path, &row, NULL),
        ERR_OK);
    return row;
}

TEST(what_code_makes_is_listed_but_for_what_programs_keep_for_themselves)
{
    struct container *container = taken_for("thread_files");

    write_file(container, "out/table.csv", "1");
    write_file(container, ".figures/1.png", "png");
    write_file(container, ".figures/notes", "no picture");
    write_file(container, ".cache/x", "hidden");
    write_file(container, "node_modules/a/b.js", "made");
    write_file(container, "lib/__pycache__/c.pyc", "made");
    write_file(container, ".profile", "a file in a folder that is not hidden");
    assert_string_equal(noted(container), "+.figures/1.png +.profile +out/table.csv ");
    assert_string_equal(noted(container), "");
    write_file(container, "out/table.csv", "22");
    assert_int_equal(workspace_remove(container_workspace(container), ".profile", NULL),
                     ERR_OK);
    assert_string_equal(noted(container), "-.profile ~out/table.csv ");
    container_release(container);
}

static bool is_copied(const struct container *container, const char *path)
{
    CLEANUP(container_file_row_clear) struct container_file_row row = file_at(container, path);

    return *row.blob_id;
}

TEST(a_figure_is_copied_when_its_call_ends_unless_its_run_is_not_stored)
{
    struct container *container = taken_for("thread_figure");

    write_file(container, ".figures/1.png", "png");
    write_file(container, "table.csv", "1");
    (void)noted(container);
    assert_true(is_copied(container, ".figures/1.png"));
    assert_false(is_copied(container, "table.csv"));
    container_release(container);
    container = taken(
        &(const struct container_choice){.owner_id = "thread_figure", .not_stored = true});
    write_file(container, ".figures/2.png", "png");
    (void)noted(container);
    assert_false(is_copied(container, ".figures/2.png"));
    container_release(container);
}

TEST(files_are_copied_as_long_as_all_are_wanted)
{
    struct container *container;

    containers_free(all);
    all = opened(CONTAINER_COPIES_ALL);
    container = taken_for("thread_all");
    write_file(container, "table.csv", "1");
    (void)noted(container);
    assert_true(is_copied(container, "table.csv"));
    write_file(container, "table.csv", "22"); /* whose copy is another then */
    (void)noted(container);
    assert_true(is_copied(container, "table.csv"));
    container_release(container);
    containers_free(all);
    all = opened(CONTAINER_COPIES_CITED);
    container = taken_for("thread_all");
    write_file(container, "table.csv", "333");
    (void)noted(container);
    assert_false(is_copied(container, "table.csv"));
    container_release(container);
}

TEST(only_a_file_as_it_was_seen_is_copied)
{
    struct container *container = taken_for("thread_copy");
    CLEANUP(container_file_row_clear) struct container_file_row row = {0};
    struct blob_read *read;
    char bytes[8];
    size_t got;

    write_file(container, "a", "first");
    (void)noted(container);
    row = file_at(container, "a");
    write_file(container, "a", "second");
    assert_int_equal(container_copy_out(container, &row, NULL), ERR_CONFLICT);
    assert_string_equal(row.blob_id, "");
    (void)noted(container);
    container_file_row_clear(&row);
    row = file_at(container, "a");
    assert_int_equal(container_copy_out(container, &row, NULL), ERR_OK);
    assert_int_equal(blob_read_open(blobs, MINE, row.blob_id, &read, NULL), ERR_OK);
    assert_int_equal(blob_read_at(read, 0, bytes, sizeof(bytes), &got, NULL), ERR_OK);
    assert_int_equal(got, 6);
    assert_memory_equal(bytes, "second", 6);
    blob_read_free(read);
    container_release(container);
}

TEST(a_cited_file_is_copied_from_a_container_that_is_not_taken)
{
    struct container *container = taken_for("thread_cited");
    char id[ID_SIZE];
    CLEANUP(container_file_row_clear) struct container_file_row row = {0};

    id_of(container, id);
    write_file(container, "table.csv", "1");
    (void)noted(container);
    row = file_at(container, "table.csv");
    container_release(container);
    assert_int_equal(containers_copy_file(all, THEIRS, id, row.id, NULL), ERR_NOT_FOUND);
    assert_int_equal(containers_copy_file(all, MINE, id, row.id, NULL), ERR_OK);
    assert_int_equal(containers_copy_file(all, MINE, id, row.id, NULL), ERR_OK);
    assert_string_equal(pg_fixture_ask("SELECT sum(holders) FROM blobs b JOIN container_files f"
                                       " ON f.blob_id = b.id WHERE f.container_id = '%s'",
                                       id),
                        "1");
    assert_int_equal(containers_copy_file(all, MINE, id, "cfile_unknown", NULL), ERR_NOT_FOUND);
}

/* A file of the Files API with so many bytes; the caller clears it. */
static struct file_row new_file(const char *name, uint64_t bytes)
{
    static const struct idempotency no_key = {.key = ""};
    struct file_row row = {
        .filename = mem_strdup(name), .purpose = mem_strdup("assistants"), .bytes = bytes};
    AUTO_FREE char *zeros = mem_zeroed(bytes + 1, 1);
    struct blob_write *write;
    struct blob_row blob;

    assert_int_equal(blob_write_begin(blobs, MINE, &write, NULL), ERR_OK);
    assert_int_equal(blob_write_add(write, zeros, bytes, NULL), ERR_OK);
    assert_int_equal(blob_write_finish(write, &blob, NULL), ERR_OK);
    blob_write_free(write);
    id_make(row.id, "file-");
    memcpy(row.blob_id, blob.id, sizeof(blob.id));
    assert_int_equal(store_file_create(store, MINE, &no_key, 0, &row, NULL), ERR_OK);
    return row;
}

static void assert_put(struct container *container, const struct file_row *file,
                       const char *path)
{
    CLEANUP(container_file_row_clear) struct container_file_row row = {0};

    assert_int_equal(container_put_file(container, file->id, &row, NULL), ERR_OK);
    assert_string_equal(row.path, path);
    assert_int_equal(row.bytes, file->bytes);
}

/* By its id, too. */
static void assert_linked(struct container *container, const struct file_row *file)
{
    struct workspace_stat stat;

    assert_int_equal(workspace_stat(container_workspace(container), file->id, &stat, NULL),
                     ERR_OK);
    assert_int_equal(stat.size, file->bytes);
}

TEST(a_file_is_put_under_its_name_once)
{
    struct container *container = taken_for("thread_put");
    CLEANUP(file_row_clear) struct file_row first = new_file("a.tar.gz", 10);
    CLEANUP(file_row_clear) struct file_row second = new_file("a.tar.gz", 20);
    struct container_file_row row;

    assert_put(container, &first, "a.tar.gz");
    assert_put(container, &second, "a.tar-2.gz");
    assert_put(container, &first, "a.tar.gz");
    assert_linked(container, &first);
    assert_linked(container, &second);
    assert_string_equal(noted(container), "");
    assert_int_equal(workspace_remove(container_workspace(container), "a.tar.gz", NULL),
                     ERR_OK);
    assert_put(container, &first, "a.tar.gz");
    assert_int_equal(container_put_file(container, "file-unknown", &row, NULL), ERR_NOT_FOUND);
    container_release(container);
}

/* A call that puts a file on a thread of its own. */
struct putting {
    struct container *container;
    const char *file_id;
    struct container_file_row row;
    enum err_code rc;
    pthread_t thread;
};

static void *put_on_thread(void *argument)
{
    struct putting *putting = argument;

    putting->rc = container_put_file(putting->container, putting->file_id, &putting->row, NULL);
    store_thread_end(store);
    return NULL;
}

TEST(calls_that_want_a_file_at_once_get_one)
{
    CLEANUP(file_row_clear) struct file_row file = new_file("shared.csv", 1000);
    struct container *container = taken_for("thread_shared");
    struct putting puttings[4] = {0};

    for (size_t i = 0; i < COUNT_OF(puttings); i++) {
        puttings[i].container = container;
        puttings[i].file_id = file.id;
        assert_int_equal(pthread_create(&puttings[i].thread, NULL, put_on_thread, &puttings[i]),
                         0);
    }
    for (size_t i = 0; i < COUNT_OF(puttings); i++)
        pthread_join(puttings[i].thread, NULL);
    for (size_t i = 0; i < COUNT_OF(puttings); i++) {
        assert_int_equal(puttings[i].rc, ERR_OK);
        assert_string_equal(puttings[i].row.path, "shared.csv");
        container_file_row_clear(&puttings[i].row);
    }
    container_release(container);
}

TEST(a_file_that_does_not_fit_is_refused)
{
    struct container *container = taken_for("thread_room");
    CLEANUP(file_row_clear) struct file_row file = new_file("large", 2 * MIB);
    struct container_file_row row;
    struct err err;

    assert_int_equal(container_put_file(container, file.id, &row, &err), ERR_INVALID);
    assert_int_equal(err.reason, REASON_CONTAINER_FULL);
    assert_string_equal(noted(container), "");
    container_release(container);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_that_ask_at_once_get_one_container),
        cmocka_unit_test(the_container_of_the_context_comes_before_that_of_the_owner),
        cmocka_unit_test(a_named_container_is_taken_or_refused),
        cmocka_unit_test(a_container_without_a_folder_is_not_made),
        cmocka_unit_test(what_is_taken_does_not_expire),
        cmocka_unit_test(a_container_that_is_deleted_while_it_is_taken_leaves_nothing),
        cmocka_unit_test(a_container_that_another_node_deletes_ends_here),
        cmocka_unit_test(a_project_that_names_the_id_of_another_does_not_touch_its_container),
        cmocka_unit_test(a_folder_that_cannot_be_removed_keeps_no_other_waiting),
        cmocka_unit_test(a_folder_without_a_container_goes_at_the_start),
        cmocka_unit_test(what_code_makes_is_listed_but_for_what_programs_keep_for_themselves),
        cmocka_unit_test(a_figure_is_copied_when_its_call_ends_unless_its_run_is_not_stored),
        cmocka_unit_test(files_are_copied_as_long_as_all_are_wanted),
        cmocka_unit_test(only_a_file_as_it_was_seen_is_copied),
        cmocka_unit_test(a_cited_file_is_copied_from_a_container_that_is_not_taken),
        cmocka_unit_test(a_file_is_put_under_its_name_once),
        cmocka_unit_test(calls_that_want_a_file_at_once_get_one),
        cmocka_unit_test(a_file_that_does_not_fit_is_refused),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
