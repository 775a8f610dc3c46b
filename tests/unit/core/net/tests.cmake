foreach(file egress loop proxy/domain proxy/proxy proxy/proxy_head sse_parser)
    unit_test(core/net/${file} core_net)
endforeach()

add_library(tiny_server STATIC ${CMAKE_CURRENT_LIST_DIR}/tiny_server.c)
target_link_libraries(tiny_server PUBLIC core_base)
add_library(http_exchange STATIC
    ${CMAKE_CURRENT_LIST_DIR}/http_endings.c
    ${CMAKE_CURRENT_LIST_DIR}/http_exchange.c
    ${CMAKE_CURRENT_LIST_DIR}/http_pages.c
    ${CMAKE_CURRENT_LIST_DIR}/name_server.c)
target_link_libraries(http_exchange PUBLIC core_net tiny_server PkgConfig::CMOCKA)
foreach(part http_ask http_client http_client_cancel http_client_failures http_client_idle
        http_client_places http_client_reuse)
    unit_test(core/net/${part} core_net)
    target_link_libraries(test_core_net_${part} PRIVATE http_exchange)
endforeach()
