unit_test(core/tool/arguments core_tool)
unit_test(core/tool/channel core_tool)
unit_test(core/tool/channel_interleavings core_tool)
# The test sees every broadcast, so that it can tell who was told of what.
target_link_options(test_core_tool_channel_interleavings PRIVATE -Wl,--wrap=pthread_cond_broadcast)
unit_test(core/tool/cut core_tool)
target_compile_definitions(test_core_tool_cut PRIVATE
    VECTORS="${CMAKE_SOURCE_DIR}/tests/unit/vectors")
unit_test(core/tool/executor core_tool)
unit_test(core/tool/files_view core_tool)
unit_test(core/tool/permission core_tool)
target_compile_definitions(test_core_tool_permission PRIVATE
    VECTORS="${CMAKE_SOURCE_DIR}/tests/unit/vectors")
unit_test(core/tool/registry core_tool)
unit_test(core/tool/result core_tool)
unit_test(core/tool/rules core_tool)
unit_test(core/tool/skill core_tool)
unit_test(core/tool/schema core_tool)
unit_test(core/tool/schema_suite core_tool)
unit_test(core/tool/var_ref core_tool)
target_compile_definitions(test_core_tool_var_ref PRIVATE
    VECTORS="${CMAKE_SOURCE_DIR}/tests/unit/vectors")
unit_test(core/tool/variable core_tool)
unit_test(core/tool/variable_memory core_tool)
