foreach(file approval_status call_status fair_queue filter item_type permission run_settings run_status search_resources tenant upload_status variable)
    unit_test(core/domain/${file} core_domain)
endforeach()
target_compile_definitions(test_core_domain_permission PRIVATE
    VECTORS="${CMAKE_SOURCE_DIR}/tests/unit/vectors")
# Reads what past_calls.c makes of a withheld result.
unit_test(core/domain/withheld core_run)
