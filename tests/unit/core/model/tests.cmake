unit_test(core/model/chat/chat_chunk core_model)
unit_test(core/model/chat/chat_error core_model)
unit_test(core/model/mask core_model)
foreach(dialect chat responses)
    unit_test(core/model/${dialect}/${dialect}_answer core_model)
    target_sources(test_core_model_${dialect}_${dialect}_answer
        PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/core/model/answer_story.c
                ${CMAKE_SOURCE_DIR}/tests/support/answer_pieces.c)
endforeach()
unit_test(core/model/tokens/tokenizer core_model)
unit_test(core/model/upstreams core_model)
unit_test(core/model/model core_model)
target_sources(test_core_model_model
    PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/core/model/scripted_server.c)

# Built with the tests so that it always compiles; run by hand.
