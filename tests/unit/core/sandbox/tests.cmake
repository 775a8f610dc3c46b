foreach(file box box_end box_liar cgroup check compute confine escape message tree)
    unit_test(core/sandbox/${file} core_sandbox)
endforeach()

foreach(file box box_end box_liar check escape)
    target_link_libraries(test_core_sandbox_${file} PRIVATE boxes)
endforeach()
# A kernel's cgroup has files from the beginning.
target_link_options(test_core_sandbox_cgroup PRIVATE -Wl,--wrap=mkdir)
target_compile_definitions(test_core_sandbox_check PRIVATE
    DOCKER_PROFILE="${CMAKE_SOURCE_DIR}/docker/seccomp.json")

# As static as the first process of a box, and for the same reason.
foreach(name tries liar)
    add_executable(box_${name} ${CMAKE_SOURCE_DIR}/tests/support/box_${name}.c)
    target_include_directories(box_${name} PRIVATE ${CMAKE_SOURCE_DIR})
    target_compile_definitions(box_${name} PRIVATE _GNU_SOURCE)
    target_compile_options(box_${name} PRIVATE -Wall -Wextra $<$<BOOL:${RUNNEL_WERROR}>:-Werror>)
    target_link_options(box_${name} PRIVATE -static)
    set_target_properties(box_${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
endforeach()
target_sources(box_liar PRIVATE ${CMAKE_SOURCE_DIR}/core/sandbox/message.c)
add_dependencies(test_core_sandbox_escape box_tries)
target_compile_definitions(test_core_sandbox_escape PRIVATE BOX_TRIES="$<TARGET_FILE:box_tries>")
add_dependencies(test_core_sandbox_box_liar box_liar)
target_compile_definitions(test_core_sandbox_box_liar PRIVATE BOX_LIAR="$<TARGET_FILE:box_liar>")

unit_test(core/sandbox/workspace/workspace_path core_sandbox)
foreach(file workspace workspace_archive workspace_races workspace_roots workspace_scan workspace_skills workspace_trash)
    unit_test(core/sandbox/workspace/${file} core_sandbox)
    target_link_libraries(test_core_sandbox_workspace_${file} PRIVATE workspace_ground)
endforeach()
# A box writes at the last step before the new file goes to its place.
target_link_options(test_core_sandbox_workspace_workspace_races PRIVATE -Wl,--wrap=fsync)
