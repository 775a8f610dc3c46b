unit_test(core/ingest/embeddings core_ingest)
target_link_libraries(test_core_ingest_embeddings PRIVATE fakemodel)
unit_test(core/ingest/embeddings_answer core_ingest)
unit_test(core/ingest/segment_cache core_ingest)
