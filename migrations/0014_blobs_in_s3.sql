-- expand

-- A third place for bytes: a bucket of S3, whose id is in `home`. See place.h.
ALTER TABLE blobs DROP CONSTRAINT blobs_place_check;
ALTER TABLE blobs ADD CONSTRAINT blobs_place_check CHECK (place IN ('dir', 'database', 's3'));
