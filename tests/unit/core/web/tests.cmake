unit_test(core/web/plain_line core_web)
unit_test(core/web/provider core_web)
unit_test(core/web/search_cache core_web)
