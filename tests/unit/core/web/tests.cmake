unit_test(core/web/plain_line core_web)
