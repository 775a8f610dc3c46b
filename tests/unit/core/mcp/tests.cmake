foreach(file mcp_extra mcp_message mcp_result mcp_session mcp_tools)
    unit_test(core/mcp/${file} core_mcp)
endforeach()
target_link_libraries(test_core_mcp_mcp_session PRIVATE tiny_server)
