# On a PostgreSQL of its own.
add_executable(test_ingest_search ${CMAKE_CURRENT_LIST_DIR}/test_search.c)
target_link_libraries(test_ingest_search PRIVATE core_ingest store_samples fakemodel PkgConfig::CMOCKA)
target_compile_options(test_ingest_search PRIVATE -Wno-missing-prototypes)
add_test(NAME integration.core/ingest/search COMMAND test_ingest_search)
set_tests_properties(integration.core/ingest/search PROPERTIES LABELS integration)
time_limit(integration.core/ingest/search 120)
begins_with_cluster(integration.core/ingest/search)
