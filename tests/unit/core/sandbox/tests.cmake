foreach(file box box_end cgroup check compute escape message)
    unit_test(core/sandbox/${file} core_sandbox)
endforeach()

foreach(file box box_end check escape)
    target_link_libraries(test_core_sandbox_${file} PRIVATE boxes)
endforeach()
target_compile_definitions(test_core_sandbox_check PRIVATE
    DOCKER_PROFILE="${CMAKE_SOURCE_DIR}/docker/seccomp.json")

# As static as the first process of a box, and for the same reason.
add_executable(box_tries ${CMAKE_SOURCE_DIR}/tests/support/box_tries.c)
target_compile_definitions(box_tries PRIVATE _GNU_SOURCE)
target_compile_options(box_tries PRIVATE -Wall -Wextra $<$<BOOL:${RUNNEL_WERROR}>:-Werror>)
target_link_options(box_tries PRIVATE -static)
set_target_properties(box_tries PROPERTIES POSITION_INDEPENDENT_CODE OFF)
add_dependencies(test_core_sandbox_escape box_tries)
target_compile_definitions(test_core_sandbox_escape PRIVATE BOX_TRIES="$<TARGET_FILE:box_tries>")
