#include "tests/integration/core/store/vector_stores/vector_samples.h"

#include <string.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/store/tables/files/blobs.h"
#include "core/store/tables/files/files.h"
#include "tests/integration/core/store/opened_store.h"
#include "tests/support/pg_fixture.h"
#include "tests/support/test.h"

static const struct idempotency no_key = {.key = ""};

struct sample_id sample_file(const struct tenant *tenant)
{
    struct file_row row = {.filename = mem_strdup("手册.txt"),
                           .purpose = mem_strdup("assistants"),
                           .bytes = 7,
                           .created_at = clock_wall_us()};
    struct blob_row blob = {.place = BLOB_DATABASE, .bytes = 7};
    struct sample_id id;

    id_make(row.id, "file-");
    id_make(blob.id, "blob_");
    memcpy(row.blob_id, blob.id, sizeof(blob.id));
    assert_int_equal(store_blob_begin(store, tenant, &blob, NULL), ERR_OK);
    assert_int_equal(store_blob_written(store, tenant, &blob, NULL), ERR_OK);
    assert_int_equal(store_file_create(store, tenant, &no_key, 0, &row, NULL), ERR_OK);
    memcpy(id.text, row.id, sizeof(id.text));
    file_row_clear(&row);
    return id;
}

struct sample_id sample_store(const struct tenant *tenant)
{
    struct vector_store_row row = {.name = mem_strdup("Handbook"),
                                   .metadata = mem_strdup("{}"),
                                   .created_at = clock_wall_us()};
    struct sample_id id;

    id_make(row.id, "vs_");
    memcpy(id.text, row.id, sizeof(id.text));
    assert_int_equal(store_vector_store_create(store, tenant, &no_key, NULL, 0, &row, NULL),
                     ERR_OK);
    vector_store_row_clear(&row);
    return id;
}

enum err_code try_attach(const struct tenant *tenant, struct sample_id store_id,
                         struct sample_id file_id, int chunk_tokens, struct err *err)
{
    const struct store_file_new file = {.file_id = file_id.text,
                                        .chunk_tokens = chunk_tokens,
                                        .overlap_tokens = chunk_tokens / 2};

    return store_files_attach(store, tenant, store_id.text, &file, 1, err);
}

void attach(const struct tenant *tenant, struct sample_id store_id, struct sample_id file_id)
{
    assert_int_equal(try_attach(tenant, store_id, file_id, 800, NULL), ERR_OK);
}

struct document_work claimed(void)
{
    struct document_work work;
    bool found = false;

    assert_int_equal(store_document_claim(store, &work, &found, NULL), ERR_OK);
    assert_true(found);
    return work;
}

enum err_code publish(const struct document_work *work, const char *text, struct err *err)
{
    const struct document_text page = {text, strlen(text)};
    const struct document_chunk chunk = {.page = 1, .heading = "Safety", .text = text};
    const struct document_made made = {
        .texts = &page,
        .text_count = 1,
        .chunks = &chunk,
        .chunk_count = 1,
        .segment = "segment",
        .segment_size = 7,
        .pages = 1,
        .usage_bytes = 10,
    };

    return store_document_publish(store, work, &made, err);
}

size_t publish_all(void)
{
    size_t count = 0;

    for (;;) {
        struct document_work work;
        bool found = false;
        enum err_code rc;

        assert_int_equal(store_document_claim(store, &work, &found, NULL), ERR_OK);
        if (!found)
            return count;
        rc = publish(&work, "text", NULL);
        assert_true(rc == ERR_OK || rc == ERR_CANCELLED); /* no longer waited for */
        document_work_clear(&work);
        count++;
    }
}

void assert_counters(struct sample_id store_id, const char *expected)
{
    assert_string_equal(
        pg_fixture_ask("SELECT in_progress || ' ' || completed || ' ' || failed || ' ' ||"
                       " cancelled || ' bytes ' || usage_bytes FROM vector_stores"
                       " WHERE id = '%s'",
                       store_id.text),
        expected);
    assert_int_equal(
        pg_fixture_count(
            "SELECT count(*) FROM vector_stores v,"
            " LATERAL (SELECT count(*) FILTER (WHERE status = 'in_progress') a,"
            "  count(*) FILTER (WHERE status = 'completed') b,"
            "  count(*) FILTER (WHERE status = 'failed') c,"
            "  count(*) FILTER (WHERE status = 'cancelled') d, coalesce(sum(usage_bytes), 0) e"
            "  FROM vector_store_files f WHERE f.project_id = v.project_id"
            "  AND f.vector_store_id = v.id) s"
            " WHERE (v.in_progress, v.completed, v.failed, v.cancelled, v.usage_bytes)"
            "  <> (s.a, s.b, s.c, s.d, s.e)"),
        0);
}

void assert_nothing_orphaned(void)
{
    size_t count = 100;

    while (count == 100)
        assert_int_equal(store_documents_sweep(store, 0, 100, &count, NULL), ERR_OK);
    assert_int_equal(
        pg_fixture_count(
            "SELECT count(*) FROM documents d WHERE state <> 'queued' AND NOT EXISTS"
            " (SELECT FROM vector_store_files f WHERE f.project_id = d.project_id"
            "  AND d.id IN (f.document_id, f.searched_id))"),
        0);
    assert_int_equal(
        pg_fixture_count(
            "SELECT count(*) FROM (SELECT project_id, document_id FROM document_texts"
            " UNION SELECT project_id, document_id FROM chunks"
            " UNION SELECT project_id, document_id FROM document_segments) x"
            " WHERE NOT EXISTS (SELECT FROM documents d WHERE d.project_id = x.project_id"
            "  AND d.id = x.document_id AND (d.state = 'ready' OR d.cut))"),
        0);
    assert_int_equal(
        pg_fixture_count(
            "SELECT count(*) FROM chunk_vectors x WHERE NOT EXISTS (SELECT FROM documents d"
            " WHERE d.project_id = x.project_id AND d.id = x.document_id AND d.cut"
            "  AND d.state IN ('queued', 'parsing'))"),
        0);
    assert_int_equal(
        pg_fixture_count(
            "SELECT count(*) FROM storage_use s WHERE document_bytes <> (SELECT"
            " coalesce(sum(d.usage_bytes), 0) FROM documents d WHERE d.project_id ="
            "  s.project_id AND d.state = 'ready')"),
        0);
    /* What is searched is there. */
    assert_int_equal(
        pg_fixture_count(
            "SELECT count(*) FROM vector_store_files f WHERE searched_id IS NOT NULL"
            " AND NOT EXISTS (SELECT FROM documents d WHERE d.project_id ="
            " f.project_id AND d.id = f.searched_id AND d.state = 'ready')"),
        0);
}
