foreach(file diff edit lines numbered patch search_replace strategies text_file)
    unit_test(core/edit/${file} core_edit)
endforeach()
foreach(file edit numbered patch search_replace strategies text_file)
    target_compile_definitions(test_core_edit_${file} PRIVATE
        VECTORS="${CMAKE_SOURCE_DIR}/tests/unit/vectors")
endforeach()
