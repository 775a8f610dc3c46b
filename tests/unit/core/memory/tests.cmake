foreach(file message_cache skill var_ref variable_memory)
    unit_test(core/memory/${file} core_memory)
endforeach()
target_compile_definitions(test_core_memory_var_ref PRIVATE
    VECTORS="${CMAKE_SOURCE_DIR}/tests/unit/vectors")
