foreach(file bad_files csv document document_type html office/office office/xml_text plain_text text_writer xhtml)
    unit_test(core/document/${file} core_document)
endforeach()

# Zip files are made by libarchive, too, which the server does not link.
pkg_check_modules(ARCHIVE_WRITER REQUIRED IMPORTED_TARGET libarchive)
add_library(zip_maker STATIC ${CMAKE_SOURCE_DIR}/tests/support/zip_maker.c)
target_link_libraries(zip_maker PUBLIC core_base PkgConfig::ARCHIVE_WRITER PkgConfig::CMOCKA)
target_link_libraries(test_core_document_bad_files PRIVATE zip_maker)
target_link_libraries(test_core_document_office_office PRIVATE zip_maker)
