foreach(file lines)
    unit_test(core/edit/${file} core_edit)
endforeach()
