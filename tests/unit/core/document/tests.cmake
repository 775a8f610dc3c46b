foreach(file bad_files bundle/bundle csv document document_type html office/office office/xml_text page/page_task pictures plain_text scan text_writer xhtml)
    unit_test(core/document/${file} core_document)
endforeach()

target_link_libraries(test_core_document_bad_files PRIVATE zip_maker)
target_link_libraries(test_core_document_office_office PRIVATE zip_maker)
target_link_libraries(test_core_document_bundle_bundle PRIVATE zip_maker)
