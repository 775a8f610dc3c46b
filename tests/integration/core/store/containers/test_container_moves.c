/*
 * Containers that go from node to node: who gets one, and what an earlier owner can still write.
 *
 * A node is alive while its row in `nodes` is young. The tests make it so, or make it old, by an UPDATE.
 */

#include "core/store/tables/containers/container_moves.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/store/tables/containers/container_files.h"
#include "core/store/tables/containers/containers.h"
#include "tests/integration/core/store/opened_store.h"
#include "tests/support/pg_fixture.h"
#include "tests/support/tenants.h"
#include "tests/support/test.h"

#define MINE TENANT_OF("proj_moves")

static char box[ID_SIZE];

static void new_container(void)
{
    static const struct idempotency no_key = {.key = ""};
    CLEANUP(container_row_clear)
    struct container_row row = {.name = mem_strdup("moves"),
                                .node_id = mem_strdup("node_a"),
                                .memory_gib = 1,
                                .idle_seconds = 1200};

    id_make(row.id, "cntr_");
    memcpy(box, row.id, sizeof(box));
    assert_int_equal(store_container_create(store, MINE, &no_key, 0, &row, NULL), ERR_OK);
}

static void node_lives(const char *id, bool lives)
{
    pg_fixture_ask(
        "INSERT INTO nodes (id, boot, started_at, seen_at) SELECT '%s', 'boot_1', 1, %s"
        " ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at",
        id, lives ? "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint" : "1");
}

static enum err_code look(int64_t epoch)
{
    const struct seen_file seen = {.path = "a.txt", .bytes = 1, .modified_ns = 1, .inode = 1};
    struct changed_file *changed = NULL;
    size_t count = 0;
    enum err_code rc =
        store_container_files_seen(store, MINE, box, epoch, &seen, 1, SEEN_ALL,
                                   CONTAINER_FILE_ASSISTANT, "", &changed, &count, NULL);

    if (!rc)
        changed_files_free(changed, count);
    return rc;
}

static bool taken_by(const char *node, int64_t epoch)
{
    bool taken = false;

    assert_int_equal(store_container_take_over(store, MINE, box, epoch, node, &taken, NULL),
                     ERR_OK);
    return taken;
}

TEST(one_of_two_nodes_takes_a_container_over_from_a_dead_one)
{
    new_container();
    node_lives("node_a", true);
    assert_false(taken_by("node_b", 1));
    node_lives("node_a", false);
    assert_true(taken_by("node_b", 1));
    assert_false(taken_by("node_c", 1));
    assert_string_equal(pg_fixture_ask("SELECT node_id || epoch || arriving || left_node"
                                       " FROM containers WHERE id = '%s'",
                                       box),
                        "node_b2truenode_a");
}

TEST(what_an_earlier_owner_has_seen_is_not_noted)
{
    new_container();
    assert_int_equal(look(1), ERR_OK);
    node_lives("node_a", false);
    assert_true(taken_by("node_b", 1));
    assert_int_equal(look(1), ERR_NOT_FOUND);
    assert_int_equal(store_container_give(store, MINE, box, 1, "node_c", "", NULL),
                     ERR_NOT_FOUND);
    assert_int_equal(look(2), ERR_OK);
}

static size_t asked_of(const char *node, struct asked_container *ret_first)
{
    AUTO_FREE struct asked_container *asked = NULL;
    size_t count;

    assert_int_equal(store_containers_asked(store, node, 10, &asked, &count, NULL), ERR_OK);
    if (count)
        *ret_first = asked[0];
    return count;
}

TEST(what_was_asked_long_ago_is_not_answered)
{
    struct asked_container asked;

    new_container();
    assert_int_equal(store_container_ask(store, MINE, box, "node_b", NULL), ERR_OK);
    assert_int_equal(asked_of("node_b", &asked), 0);
    assert_int_equal(asked_of("node_a", &asked), 1);
    assert_string_equal(asked.id, box);
    assert_string_equal(asked.wanted_by, "node_b");
    pg_fixture_ask("UPDATE containers SET wanted_at = wanted_at - 6000000 WHERE id = '%s'",
                   box);
    assert_int_equal(asked_of("node_a", &asked), 0);
}

/* What waits for a call to end is asked for as long as its node says so. */
TEST(a_node_that_is_about_to_give_is_asked_for_longer)
{
    struct asked_container asked;

    new_container();
    assert_int_equal(store_container_ask(store, MINE, box, "node_b", NULL), ERR_OK);
    pg_fixture_ask("UPDATE containers SET wanted_at = wanted_at - 6000000 WHERE id = '%s'",
                   box);
    assert_int_equal(store_container_giving(store, MINE, box, 2, true, NULL), ERR_OK);
    assert_int_equal(asked_of("node_a", &asked), 0); /* of another epoch */
    assert_int_equal(store_container_giving(store, MINE, box, 1, true, NULL), ERR_OK);
    assert_int_equal(asked_of("node_a", &asked), 1);
    assert_int_equal(store_container_giving(store, MINE, box, 1, false, NULL), ERR_OK);
    assert_int_equal(asked_of("node_a", &asked), 0);
}

static int64_t holders(const char *blob)
{
    return pg_fixture_count("SELECT holders FROM blobs WHERE id = '%s'", blob);
}

static void new_blob(const char *blob)
{
    pg_fixture_ask("INSERT INTO blobs (project_id, id, place, home, bytes, sha256, holders,"
                   " changed_at) VALUES ('proj_moves', '%s', 'database', '', 1, '\\x00', 0, 1)",
                   blob);
}

static enum err_code archive_of(char ret_blob[ID_SIZE])
{
    return store_container_archive(store, MINE, box, ret_blob, NULL);
}

TEST(an_archive_is_held_until_it_has_arrived)
{
    char blob[ID_SIZE];

    new_container();
    new_blob("blob_arrives");
    assert_int_equal(archive_of(blob), ERR_OK);
    assert_string_equal(blob, "");
    assert_int_equal(store_container_give(store, MINE, box, 1, "node_b", "blob_none", NULL),
                     ERR_STORE);
    assert_int_equal(store_container_give(store, MINE, box, 1, "node_b", "blob_arrives", NULL),
                     ERR_OK);
    assert_int_equal(holders("blob_arrives"), 1);
    assert_int_equal(store_container_give(store, MINE, box, 2, "node_c", "", NULL), ERR_OK);
    assert_int_equal(archive_of(blob), ERR_OK);
    assert_string_equal(blob, "blob_arrives");
    assert_int_equal(store_container_arrived(store, MINE, box, 2, NULL, 0, NULL, NULL),
                     ERR_NOT_FOUND);
    assert_int_equal(store_container_arrived(store, MINE, box, 3, NULL, 0, NULL, NULL), ERR_OK);
    assert_int_equal(holders("blob_arrives"), 0);
    assert_int_equal(archive_of(blob), ERR_OK);
    assert_string_equal(blob, "");
}

TEST(an_archive_goes_with_its_container)
{
    char blob[ID_SIZE];

    new_container();
    new_blob("blob_goes");
    assert_int_equal(store_container_give(store, MINE, box, 1, "node_b", "blob_goes", NULL),
                     ERR_OK);
    assert_int_equal(store_container_delete(store, MINE, box, NULL), ERR_OK);
    assert_int_equal(holders("blob_goes"), 0);
    assert_int_equal(archive_of(blob), ERR_OK);
    assert_string_equal(blob, "");
}

static bool is_found_on_its_node(void)
{
    char node[ID_SIZE];

    assert_int_equal(store_container_node(store, MINE, box, "", node, NULL), ERR_OK);
    return *node != '\0';
}

TEST(no_run_is_made_for_a_node_that_is_going_down)
{
    new_container();
    node_lives("node_a", true);
    assert_true(is_found_on_its_node());
    pg_fixture_ask("UPDATE nodes SET draining = true WHERE id = 'node_a'");
    assert_false(is_found_on_its_node());
    pg_fixture_ask("UPDATE nodes SET draining = false WHERE id = 'node_a'");
}

/* The row of one that was deleted on the way stays until both nodes have removed their folders. */
TEST(each_node_removes_the_folder_that_it_had)
{
    AUTO_FREE struct left_container *left = NULL;
    size_t count;

    pg_fixture_ask("UPDATE containers SET left_node = NULL"); /* those of other tests */
    new_container();
    assert_int_equal(store_container_give(store, MINE, box, 1, "node_b", "", NULL), ERR_OK);
    assert_int_equal(store_container_delete(store, MINE, box, NULL), ERR_OK);
    assert_int_equal(store_container_cleared(store, MINE, box, NULL), ERR_OK);
    assert_int_equal(store_containers_left(store, "node_a", 10, &left, &count, NULL), ERR_OK);
    assert_int_equal(count, 1);
    assert_true(left[0].moved);
    assert_int_equal(store_container_left_cleared(store, MINE, box, "node_a", NULL), ERR_OK);
    assert_int_equal(pg_fixture_count("SELECT count(*) FROM containers WHERE id = '%s'", box),
                     0);
}

TEST(a_folder_on_a_node_that_lives_is_not_forgotten)
{
    size_t count;

    new_container();
    node_lives("node_a", true);
    assert_int_equal(store_container_delete(store, MINE, box, NULL), ERR_OK);
    pg_fixture_ask("UPDATE containers SET expires_at = 1 WHERE id = '%s'", box);
    assert_int_equal(store_containers_forget(store, 100, &count, NULL), ERR_OK);
    assert_int_equal(pg_fixture_count("SELECT count(*) FROM containers WHERE id = '%s'", box),
                     1);
    node_lives("node_a", false);
    assert_int_equal(store_containers_forget(store, 100, &count, NULL), ERR_OK);
    assert_int_equal(pg_fixture_count("SELECT count(*) FROM containers WHERE id = '%s'", box),
                     0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_of_two_nodes_takes_a_container_over_from_a_dead_one),
        cmocka_unit_test(what_an_earlier_owner_has_seen_is_not_noted),
        cmocka_unit_test(what_was_asked_long_ago_is_not_answered),
        cmocka_unit_test(a_node_that_is_about_to_give_is_asked_for_longer),
        cmocka_unit_test(an_archive_is_held_until_it_has_arrived),
        cmocka_unit_test(an_archive_goes_with_its_container),
        cmocka_unit_test(no_run_is_made_for_a_node_that_is_going_down),
        cmocka_unit_test(each_node_removes_the_folder_that_it_had),
        cmocka_unit_test(a_folder_on_a_node_that_lives_is_not_forgotten),
    };

    return cmocka_run_group_tests(tests, open_store, close_store);
}
