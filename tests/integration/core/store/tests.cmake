# store_test(runs): test_runs.c, on a PostgreSQL of its own. The second argument is the room that it is in.
function(store_test name)
    add_executable(test_store_${name} ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/${ARGN}/test_${name}.c)
    target_link_libraries(test_store_${name} PRIVATE store_samples PkgConfig::CMOCKA)
    target_compile_options(test_store_${name} PRIVATE -Wno-missing-prototypes)
    add_test(NAME integration.core/store/${name} COMMAND test_store_${name})
    set_tests_properties(integration.core/store/${name} PROPERTIES LABELS integration)
    time_limit(integration.core/store/${name} 120)
    begins_with_cluster(integration.core/store/${name})
endfunction()

# For the integration tests of other layers too.
add_library(pg_fixture STATIC
    ${CMAKE_SOURCE_DIR}/tests/support/copy_cluster.c
    ${CMAKE_SOURCE_DIR}/tests/support/pg_fixture.c)
target_link_libraries(pg_fixture PUBLIC build_flags core_store)
add_library(store_samples STATIC
    ${CMAKE_CURRENT_LIST_DIR}/opened_store.c
    ${CMAKE_CURRENT_LIST_DIR}/run_samples.c
    ${CMAKE_CURRENT_LIST_DIR}/samples.c
    ${CMAKE_CURRENT_LIST_DIR}/variable_samples.c
    ${CMAKE_CURRENT_LIST_DIR}/vector_stores/vector_samples.c)
target_link_libraries(store_samples PUBLIC pg_fixture PkgConfig::CMOCKA)

store_test(approvals)
store_test(assistants)
store_test(container_files containers)
store_test(containers containers)
store_test(conversations)
store_test(deleted)
store_test(document_vectors vector_stores)
store_test(documents vector_stores)
store_test(embedded)
store_test(file_change vector_stores)
store_test(files)
store_test(embedding_models vector_stores)
store_test(filter_sql vector_stores)
store_test(grants)
store_test(keys)
store_test(leases)
store_test(log_reader)
store_test(migrate)
store_test(outage)
store_test(prompts)
store_test(runs)
store_test(secrets)
store_test(thread_store)
store_test(threads)
store_test(tool_settings)
store_test(variable_races)
store_test(variable_scopes)
store_test(variable_twins)
store_test(uploads)
store_test(variables)
store_test(vector_stores vector_stores)
store_test(wakeups)
store_test(writer)
if(RUNNEL_FAULTS)
    store_test(commit)
endif()
# It compares the store's variables with those in memory.
target_link_libraries(test_store_variable_twins PRIVATE core_tool)
