foreach(file csv document document_type html office/xml_text plain_text text_writer xhtml)
    unit_test(core/document/${file} core_document)
endforeach()
