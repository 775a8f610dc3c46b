unit_test(core/blob/s3_xml core_blob)
