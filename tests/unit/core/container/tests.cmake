unit_test(core/container/kept_output core_container)
