# store_test(runs): test_runs.c, on a PostgreSQL of its own.
function(store_test name)
    add_executable(test_store_${name} ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/test_${name}.c ${ARGN})
    target_link_libraries(test_store_${name} PRIVATE pg_fixture core_store PkgConfig::CMOCKA)
    target_compile_options(test_store_${name} PRIVATE -Wno-missing-prototypes)
    add_test(NAME integration.core/store/${name} COMMAND test_store_${name})
    set_tests_properties(integration.core/store/${name} PROPERTIES
        LABELS integration TIMEOUT 120)
endfunction()

# For the integration tests of other layers too.
add_library(pg_fixture STATIC ${CMAKE_CURRENT_LIST_DIR}/../../../support/pg_fixture.c)
target_link_libraries(pg_fixture PUBLIC build_flags core_store)

store_test(approvals ${CMAKE_CURRENT_LIST_DIR}/samples.c)
store_test(assistants)
store_test(conversations ${CMAKE_CURRENT_LIST_DIR}/samples.c)
store_test(deleted ${CMAKE_CURRENT_LIST_DIR}/samples.c)
store_test(embedded)
store_test(grants ${CMAKE_CURRENT_LIST_DIR}/samples.c)
store_test(keys)
store_test(outage ${CMAKE_CURRENT_LIST_DIR}/samples.c)
store_test(prompts)
store_test(runs ${CMAKE_CURRENT_LIST_DIR}/samples.c)
store_test(secrets)
store_test(threads)
store_test(tool_settings)
store_test(variables ${CMAKE_CURRENT_LIST_DIR}/samples.c)
store_test(wakeups ${CMAKE_CURRENT_LIST_DIR}/samples.c)
store_test(writer ${CMAKE_CURRENT_LIST_DIR}/samples.c)
# It compares the store's variables with those in memory.
target_link_libraries(test_store_variables PRIVATE core_tool)
