foreach(file chunker fusion index lexical segment vectors words)
    unit_test(core/retrieval/${file} core_retrieval)
endforeach()
