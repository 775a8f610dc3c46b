/*
 * The cache of segments: what it has is right or missing, and it has no more than it may.
 */

#include "core/ingest/segment_cache.h"

#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/fault.h"
#include "core/base/mem.h"
#include "tests/support/test.h"

#define MAPS 8

static char dir[64];

static int make_dir(void **state)
{
    (void)state;
    snprintf(dir, sizeof(dir), "/tmp/runnel-segments-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static size_t files(void)
{
    DIR *opened = opendir(dir);
    size_t count = 0;

    for (struct dirent *entry; (entry = readdir(opened));)
        count += entry->d_name[0] != '.' || entry->d_name[1] > '.';
    closedir(opened);
    return count;
}

static int remove_dir(void **state)
{
    DIR *listed = opendir(dir);

    (void)state;
    for (struct dirent *entry; (entry = readdir(listed));)
        (void)unlinkat(dirfd(listed), entry->d_name, 0);
    closedir(listed);
    return rmdir(dir);
}

static struct segment_cache *opened(uint64_t limit)
{
    struct segment_cache *cache;

    assert_int_equal(segment_cache_open(dir, limit, MAPS, &cache, NULL), ERR_OK);
    return cache;
}

/* A segment of one chunk; the caller frees. */
static char *segment_of(const char *text, size_t *ret_size)
{
    struct segment_builder *builder = segment_builder_new();
    struct buf bytes = {0};

    segment_builder_add(builder, text, strlen(text));
    segment_builder_finish(builder, &bytes);
    segment_builder_free(builder);
    *ret_size = bytes.length;
    return buf_take(&bytes);
}

static struct held_segment *put(struct segment_cache *cache, const char *id)
{
    struct held_segment *held;
    size_t size;
    char *bytes = segment_of("one two three", &size);

    assert_int_equal(segment_cache_put(cache, id, bytes, size, &held, NULL), ERR_OK);
    assert_int_equal(held_index(held)->terms.chunks, 1);
    return held;
}

TEST(what_was_put_is_found_also_after_a_restart)
{
    struct segment_cache *cache = opened(1 << 20);
    struct held_segment *held;

    assert_null(segment_cache_find(cache, "doc_1"));
    segment_cache_release(cache, put(cache, "doc_1"));
    held = segment_cache_find(cache, "doc_1");
    assert_non_null(held);
    assert_int_equal(held_index(held)->terms.words, 3);
    segment_cache_release(cache, held);
    segment_cache_free(cache);
    cache = opened(1 << 20);
    held = segment_cache_find(cache, "doc_1");
    assert_non_null(held);
    assert_int_equal(held_index(held)->terms.words, 3);
    segment_cache_release(cache, held);
    segment_cache_free(cache);
}

TEST(a_damaged_file_is_missing_and_strangers_go)
{
    struct segment_cache *cache = opened(1 << 20);
    AUTO_FREE char *path = mem_printf("%s/doc_1", dir);
    AUTO_FREE char *other = mem_printf("%s/other", dir);
    FILE *file;

    segment_cache_release(cache, put(cache, "doc_1"));
    segment_cache_free(cache);
    file = fopen(path, "r+");
    fseek(file, 70, SEEK_SET);
    fputc('!', file);
    fclose(file);
    fclose(fopen(other, "w"));
    cache = opened(1 << 20);
    assert_int_not_equal(access(other, F_OK), 0);
    assert_null(segment_cache_find(cache, "doc_1"));
    assert_int_equal(files(), 0);
    segment_cache_release(cache, put(cache, "doc_1"));
    segment_cache_free(cache);
}

TEST(bytes_that_are_no_segment_are_refused)
{
    struct segment_cache *cache = opened(1 << 20);
    struct held_segment *held;

    assert_int_equal(segment_cache_put(cache, "doc_1", mem_strdup("nonsense"), 8, &held, NULL),
                     ERR_INVALID);
    assert_int_equal(files(), 0);
    segment_cache_free(cache);
}

TEST(the_least_recently_used_go_and_what_is_held_stays)
{
    struct segment_cache_stats stats;
    struct segment_cache *cache;
    struct held_segment *held;
    size_t size;

    free(segment_of("one two three", &size));
    cache = opened(2 * size);
    held = put(cache, "doc_1");
    segment_cache_release(cache, put(cache, "doc_2"));
    segment_cache_release(cache, put(cache, "doc_3")); /* 2 goes: 1 is held */
    assert_null(segment_cache_find(cache, "doc_2"));
    assert_int_equal(held_index(held)->terms.words, 3);
    segment_cache_release(cache, held);
    segment_cache_release(cache, segment_cache_find(cache, "doc_3"));
    segment_cache_release(cache, put(cache, "doc_4")); /* 1 goes: 3 was used later */
    assert_null(segment_cache_find(cache, "doc_1"));
    held = segment_cache_find(cache, "doc_3");
    assert_non_null(held);
    segment_cache_release(cache, held);
    segment_cache_stats(cache, &stats);
    assert_int_equal(stats.count, 2);
    assert_int_equal(stats.bytes, 2 * size);
    assert_int_equal(files(), 2);
    segment_cache_free(cache);
    cache = opened(size);
    assert_int_equal(files(), 1);
    segment_cache_free(cache);
}

static struct held_segment *put_number(struct segment_cache *cache, int number)
{
    AUTO_FREE char *id = mem_printf("doc_%d", number);

    return put(cache, id);
}

/* As a search over more documents than may be mapped does. */
TEST(what_is_held_beyond_the_mappings_is_in_memory)
{
    struct segment_cache *cache = opened(1 << 20);
    struct segment_cache_stats stats;
    struct held_segment *held[2 * MAPS];

    for (int i = 0; i < 2 * MAPS; i++)
        held[i] = put_number(cache, i);
    segment_cache_stats(cache, &stats);
    assert_int_equal(stats.maps, MAPS);
    assert_int_equal(files(), MAPS);
    assert_null(segment_cache_find(cache, "doc_15"));
    assert_int_equal(held_index(held[2 * MAPS - 1])->terms.words, 3);
    for (int i = 0; i < 2 * MAPS; i++)
        segment_cache_release(cache, held[i]);
    /* The next one has a place again. */
    segment_cache_release(cache, put(cache, "doc_15"));
    held[0] = segment_cache_find(cache, "doc_15");
    assert_non_null(held[0]);
    segment_cache_release(cache, held[0]);
    segment_cache_stats(cache, &stats);
    assert_in_range(stats.maps, 1, MAPS);
    assert_int_equal(files(), stats.count);
    segment_cache_free(cache);
}

#ifdef RUNNEL_FAULTS
TEST(a_disk_that_does_not_want_it_is_no_reason_to_find_less)
{
    static const char *const points[] = {"segment_cache.write", "segment_cache.map"};

    for (size_t i = 0; i < COUNT_OF(points); i++) {
        struct segment_cache *cache = opened(1 << 20);
        struct held_segment *held;

        fault_arm(points[i], 1);
        held = put(cache, "doc_1");
        assert_true(fault_fired());
        fault_disarm();
        assert_int_equal(held_index(held)->terms.words, 3);
        segment_cache_release(cache, held);
        assert_null(segment_cache_find(cache, "doc_1"));
        assert_int_equal(files(), 0);
        segment_cache_free(cache);
    }
}
#endif

/* ---- Several threads that miss the same segments, in a cache that is too small ---- */

enum { THREADS = 4, ROUNDS = 400, DOCUMENTS = 5 };

static void *use(void *arg)
{
    struct segment_cache *cache = arg;

    for (int i = 0; i < ROUNDS; i++) {
        AUTO_FREE char *id = mem_printf("doc_%d", (i * 7) % DOCUMENTS);
        struct held_segment *held = segment_cache_find(cache, id);

        if (!held)
            held = put(cache, id);
        assert_int_equal(held_index(held)->terms.words, 3);
        segment_cache_release(cache, held);
    }
    return NULL;
}

TEST(threads_share_it)
{
    struct segment_cache_stats stats;
    pthread_t threads[THREADS];
    struct segment_cache *cache;
    size_t size;

    free(segment_of("one two three", &size));
    cache = opened(3 * size);
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, use, cache), 0);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    segment_cache_stats(cache, &stats);
    assert_true(stats.count <= 3);
    assert_int_equal(stats.bytes, stats.count * size);
    segment_cache_free(cache);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_was_put_is_found_also_after_a_restart, make_dir,
                                        remove_dir),
        cmocka_unit_test_setup_teardown(a_damaged_file_is_missing_and_strangers_go, make_dir,
                                        remove_dir),
        cmocka_unit_test_setup_teardown(bytes_that_are_no_segment_are_refused, make_dir,
                                        remove_dir),
        cmocka_unit_test_setup_teardown(the_least_recently_used_go_and_what_is_held_stays,
                                        make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(what_is_held_beyond_the_mappings_is_in_memory, make_dir,
                                        remove_dir),
#ifdef RUNNEL_FAULTS
        cmocka_unit_test_setup_teardown(a_disk_that_does_not_want_it_is_no_reason_to_find_less,
                                        make_dir, remove_dir),
#endif
        cmocka_unit_test_setup_teardown(threads_share_it, make_dir, remove_dir),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
