unit_test(core/sandbox/compute core_sandbox)
