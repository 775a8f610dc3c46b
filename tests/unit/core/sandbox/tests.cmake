foreach(file box box_end cgroup check compute message)
    unit_test(core/sandbox/${file} core_sandbox)
endforeach()

foreach(file box box_end check)
    target_link_libraries(test_core_sandbox_${file} PRIVATE boxes)
endforeach()
