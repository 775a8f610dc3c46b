foreach(file csv document document_type html plain_text text_writer xhtml)
    unit_test(core/document/${file} core_document)
endforeach()
