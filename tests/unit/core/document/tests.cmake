foreach(file document document_type html plain_text)
    unit_test(core/document/${file} core_document)
endforeach()
