# The scripted upstream: a layer of its own, as it shares nothing with the server but core/base
# and the socket.
# demo_script.yaml becomes part of the program.
set(demo_script_c ${CMAKE_BINARY_DIR}/generated/upstream_demo_script.c)
add_custom_command(
    OUTPUT ${demo_script_c}
    COMMAND ${CMAKE_COMMAND} -DNAME=upstream_demo_script -DOUTPUT=${demo_script_c}
            -DFILE=${CMAKE_SOURCE_DIR}/server/demo_script.yaml
            -P ${CMAKE_SOURCE_DIR}/server/embed_text.cmake
    DEPENDS ${CMAKE_SOURCE_DIR}/server/demo_script.yaml
            ${CMAKE_SOURCE_DIR}/server/embed_text.cmake
    VERBATIM)

layer(upstream
    SOURCES
        ${CMAKE_SOURCE_DIR}/server/listen.c
        ${CMAKE_SOURCE_DIR}/server/upstream_chat.c
        ${CMAKE_SOURCE_DIR}/server/upstream_events.c
        ${CMAKE_SOURCE_DIR}/server/upstream_prompt.c
        ${CMAKE_SOURCE_DIR}/server/upstream_reply.c
        ${CMAKE_SOURCE_DIR}/server/upstream_responses.c
        ${CMAKE_SOURCE_DIR}/server/upstream_rules.c
        ${CMAKE_SOURCE_DIR}/server/upstream_script.c
        ${CMAKE_SOURCE_DIR}/server/upstream_server.c
        ${CMAKE_SOURCE_DIR}/server/upstream_template.c
        ${CMAKE_SOURCE_DIR}/server/upstream_words.c
        ${demo_script_c}
    USES core_base PkgConfig::MHD PkgConfig::YAML m)
