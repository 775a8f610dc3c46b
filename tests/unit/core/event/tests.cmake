unit_test(core/event/frames core_event)
