foreach(file cgroup compute message)
    unit_test(core/sandbox/${file} core_sandbox)
endforeach()
