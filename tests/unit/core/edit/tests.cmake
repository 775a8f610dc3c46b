foreach(file lines strategies)
    unit_test(core/edit/${file} core_edit)
endforeach()
target_compile_definitions(test_core_edit_strategies PRIVATE
    VECTORS="${CMAKE_SOURCE_DIR}/tests/unit/vectors")
