foreach(file box cgroup check compute message)
    unit_test(core/sandbox/${file} core_sandbox)
endforeach()

target_link_libraries(test_core_sandbox_check PRIVATE boxes)
target_link_libraries(test_core_sandbox_box PRIVATE boxes)
