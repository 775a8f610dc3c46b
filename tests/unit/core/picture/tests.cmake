unit_test(core/picture/picture_answer core_picture)
unit_test(core/picture/picture_request core_picture)
