foreach(file egress http_client loop sse_parser)
    unit_test(core/net/${file} core_net)
endforeach()
