unit_test(core/run/approval_status core_status)
unit_test(core/run/approval_answer core_run)
unit_test(core/run/approval_webhook core_run)
unit_test(core/run/grant core_run)
target_compile_definitions(test_core_run_grant PRIVATE
    VECTORS="${CMAKE_SOURCE_DIR}/tests/unit/vectors")
unit_test(core/run/run_status core_status)
unit_test(core/run/call_outputs core_run)
unit_test(core/run/chain core_run)
unit_test(core/run/chain_log core_run)
target_compile_definitions(test_core_run_chain_log PRIVATE
    VECTORS="${CMAKE_SOURCE_DIR}/tests/unit/vectors")
unit_test(core/run/context_responses core_run)
unit_test(core/run/held_leases core_run)
unit_test(core/run/input_text core_run)
unit_test(core/run/tool_set core_run)
unit_test(core/run/tool_settings core_run)
unit_test(core/run/slots core_run)
unit_test(core/run/unwritten core_run)
unit_test(core/run/withheld core_run)

foreach(file budget context context_fit long_messages told_costs)
    unit_test(core/run/${file} core_run)
    target_sources(test_core_run_${file} PRIVATE ${CMAKE_CURRENT_LIST_DIR}/history.c)
endforeach()

# The engine in a world of the test's own: engine/README.md.
add_library(engine_world STATIC
    ${CMAKE_CURRENT_LIST_DIR}/engine/scenarios.c
    ${CMAKE_CURRENT_LIST_DIR}/engine/schedule.c
    ${CMAKE_CURRENT_LIST_DIR}/engine/world.c
    ${CMAKE_CURRENT_LIST_DIR}/engine/world_client.c
    ${CMAKE_CURRENT_LIST_DIR}/engine/world_database.c
    ${CMAKE_CURRENT_LIST_DIR}/engine/world_loop.c
    ${CMAKE_CURRENT_LIST_DIR}/engine/world_model.c
    ${CMAKE_CURRENT_LIST_DIR}/engine/world_rules.c
    ${CMAKE_CURRENT_LIST_DIR}/engine/world_store.c
    ${CMAKE_CURRENT_LIST_DIR}/engine/world_stream.c
    ${CMAKE_CURRENT_LIST_DIR}/engine/world_tools.c)
target_link_libraries(engine_world PUBLIC build_flags server PkgConfig::CMOCKA)
foreach(file background foreground held run waiting)
    unit_test(core/run/engine/schedules_${file} engine_world)
endforeach()
