unit_test(core/run/approval/approval_answer core_run)
unit_test(core/run/approval/approval_webhook core_run)
unit_test(core/run/approval/grant core_run)
target_compile_definitions(test_core_run_approval_grant PRIVATE
    VECTORS="${CMAKE_SOURCE_DIR}/tests/unit/vectors")
unit_test(core/run/calls/call_end core_run)
unit_test(core/run/context/call_outputs core_run)
unit_test(core/run/context/chain core_run)
unit_test(core/run/context/chain_log core_run)
target_compile_definitions(test_core_run_context_chain_log PRIVATE
    VECTORS="${CMAKE_SOURCE_DIR}/tests/unit/vectors")
unit_test(core/run/context/context_responses core_run)
unit_test(core/run/engine/file_waits core_run)
unit_test(core/run/engine/held_leases core_run)
unit_test(core/run/citation/citation core_run)
unit_test(core/run/turn/input_text core_run)
unit_test(core/run/context/fingerprint core_run)
unit_test(core/run/context/past_programs core_run)
target_link_libraries(test_core_run_context_past_programs PRIVATE handlers)
unit_test(core/run/catalog/programmatic core_run)
target_link_libraries(test_core_run_catalog_programmatic PRIVATE handlers)
unit_test(core/run/catalog/tool_set core_run)
target_link_libraries(test_core_run_catalog_tool_set PRIVATE handlers)
unit_test(core/run/catalog/tool_settings core_run)
unit_test(core/run/catalog/unavailable core_run)
target_link_libraries(test_core_run_catalog_unavailable PRIVATE handlers)
unit_test(core/run/catalog/passed_tools core_run)
target_link_libraries(test_core_run_catalog_passed_tools PRIVATE handlers)
unit_test(core/run/engine/slots core_run)
unit_test(core/run/citation/overlap core_run)
unit_test(core/run/citing/run_made core_run)
unit_test(core/run/citing/run_links core_run)
target_link_libraries(test_core_run_citing_run_links PRIVATE handlers)
unit_test(core/run/citation/link core_run)
unit_test(core/run/turn/unwritten core_run)
unit_test(core/run/turn/run_write core_run)

foreach(file budget context context_fit long_messages context_costs past_reasoning)
    unit_test(core/run/context/${file} core_run)
    target_sources(test_core_run_context_${file} PRIVATE ${CMAKE_CURRENT_LIST_DIR}/context/history.c)
endforeach()
# What past calls of the client's tools were to the model, their handlers say.
foreach(file context context_fit)
    target_link_libraries(test_core_run_context_${file} PRIVATE handlers)
endforeach()

unit_test(core/run/context/past/past_text core_run)
target_sources(test_core_run_context_past_past_text PRIVATE ${CMAKE_CURRENT_LIST_DIR}/context/history.c)
target_link_libraries(test_core_run_context_past_past_text PRIVATE handlers)

# The engine in a world of the test's own: engine/README.md.
add_library(engine_world STATIC
    ${CMAKE_CURRENT_LIST_DIR}/engine/scenarios.c
    ${CMAKE_CURRENT_LIST_DIR}/engine/schedule.c
    ${CMAKE_CURRENT_LIST_DIR}/engine/world.c
    ${CMAKE_CURRENT_LIST_DIR}/engine/world_client.c
    ${CMAKE_CURRENT_LIST_DIR}/engine/world_database.c
    ${CMAKE_CURRENT_LIST_DIR}/engine/world_grants.c
    ${CMAKE_CURRENT_LIST_DIR}/engine/world_log.c
    ${CMAKE_CURRENT_LIST_DIR}/engine/world_loop.c
    ${CMAKE_CURRENT_LIST_DIR}/engine/world_model.c
    ${CMAKE_CURRENT_LIST_DIR}/engine/world_rules.c
    ${CMAKE_CURRENT_LIST_DIR}/engine/world_store.c
    ${CMAKE_CURRENT_LIST_DIR}/engine/world_stream.c
    ${CMAKE_CURRENT_LIST_DIR}/engine/world_tools.c
    ${CMAKE_CURRENT_LIST_DIR}/engine/world_wakeups.c)
target_link_libraries(engine_world PUBLIC build_flags server PkgConfig::CMOCKA)
# ThreadSanitizer would learn nothing: all of it happens on one thread.
if(NOT RUNNEL_SANITIZE STREQUAL "thread")
    foreach(file background foreground held run waiting)
        unit_test(core/run/engine/schedules_${file} engine_world)
        # Up to a minute of CPU each: on a machine with five times the load that is still no hang.
        time_limit(unit.core/run/engine/schedules_${file} 600)
        takes_seconds(20 unit.core/run/engine/schedules_${file})
    endforeach()
endif()
