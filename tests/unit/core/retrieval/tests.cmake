foreach(file fusion words)
    unit_test(core/retrieval/${file} core_retrieval)
endforeach()
