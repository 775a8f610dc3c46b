# On a PostgreSQL of its own; every test arms faults.
if(RUNNEL_FAULTS)
    add_executable(test_blob ${CMAKE_CURRENT_LIST_DIR}/test_blob.c
                   ${CMAKE_CURRENT_LIST_DIR}/s3_fixture.c)
    target_compile_definitions(test_blob PRIVATE
                               S3_SERVER="${CMAKE_SOURCE_DIR}/tests/e2e/python/harness/s3.py")
    target_link_libraries(test_blob PRIVATE core_blob store_samples PkgConfig::CMOCKA)
    target_compile_options(test_blob PRIVATE -Wno-missing-prototypes)
    add_test(NAME integration.core/blob COMMAND test_blob)
    set_tests_properties(integration.core/blob PROPERTIES LABELS integration)
    time_limit(integration.core/blob 120)
    begins_with_cluster(integration.core/blob)
endif()
