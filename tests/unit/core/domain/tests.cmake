foreach(file fair_queue filter item_type permission run_settings search_resources status/approval_status status/call_status
        status/container_status status/run_status status/upload_status tenant variable)
    unit_test(core/domain/${file} core_domain)
endforeach()
target_compile_definitions(test_core_domain_permission PRIVATE
    VECTORS="${CMAKE_SOURCE_DIR}/tests/unit/vectors")
# Reads what past_calls.c makes of a withheld result.
unit_test(core/domain/withheld core_run)
