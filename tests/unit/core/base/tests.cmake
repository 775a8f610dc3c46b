foreach(file base64 buf clock err fault ids json json_number json_span lock log mem regex seal spool utf8 webhook_key yaml)
    unit_test(core/base/${file} core_base)
endforeach()
