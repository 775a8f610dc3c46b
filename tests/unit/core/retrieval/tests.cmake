foreach(file chunker fusion lexical segment words)
    unit_test(core/retrieval/${file} core_retrieval)
endforeach()
