unit_test(core/ingest/embeddings_answer core_ingest)
unit_test(core/ingest/segment_cache core_ingest)
