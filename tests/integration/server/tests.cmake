# server_test(http_heads): test_http_heads.c, spoken to through sockets.
function(server_test name)
    add_executable(test_integration_server_${name} ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/test_${name}.c)
    target_link_libraries(test_integration_server_${name} PRIVATE served_http PkgConfig::CMOCKA)
    target_compile_options(test_integration_server_${name} PRIVATE -Wno-missing-prototypes)
    add_test(NAME integration.server/${name} COMMAND test_integration_server_${name})
    set_tests_properties(integration.server/${name} PROPERTIES LABELS integration)
    time_limit(integration.server/${name} 180)
endfunction()

add_library(served_http STATIC
    ${CMAKE_CURRENT_LIST_DIR}/served_http.c
    ${CMAKE_CURRENT_LIST_DIR}/socket_client.c)
target_link_libraries(served_http PUBLIC build_flags server PkgConfig::CMOCKA)

server_test(http_answers)
server_test(http_bodies)
server_test(http_connections)
server_test(http_framing)
server_test(http_heads)
server_test(http_stop)
server_test(http_slow)
server_test(http_streams)
server_test(http_uploads)
