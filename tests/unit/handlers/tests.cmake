# Each test of a handler is found by its name; those of test handlers are in test_handlers alone.
file(GLOB files CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/test_*.c ${CMAKE_CURRENT_LIST_DIR}/*/test_*.c)
foreach(file ${files})
    file(RELATIVE_PATH path ${CMAKE_CURRENT_LIST_DIR} ${file})
    string(REGEX REPLACE "test_([^/]*)[.]c$" "\\1" path ${path})
    if(path STREQUAL test_handlers AND NOT RUNNEL_TEST_HANDLERS)
        continue()
    endif()
    unit_test(handlers/${path} handlers)
endforeach()
target_compile_definitions(test_handlers_memory_variables PRIVATE
    VECTORS="${CMAKE_SOURCE_DIR}/tests/unit/vectors")
target_compile_definitions(test_handlers_support_bash_class PRIVATE
    VECTORS="${CMAKE_SOURCE_DIR}/tests/unit/vectors")
foreach(name code_commands code_files files_tools hosted_container_shell script_scripts)
    target_link_libraries(test_handlers_${name} PRIVATE boxes workspace_ground)
endforeach()
