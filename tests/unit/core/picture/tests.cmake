unit_test(core/picture/picture_request core_picture)
