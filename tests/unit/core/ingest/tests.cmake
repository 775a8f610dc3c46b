unit_test(core/ingest/segment_cache core_ingest)
