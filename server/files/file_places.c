#include "server/files/file_places.h"

#include <string.h>

#include "core/base/mem.h"

static enum blob_place place_of(const struct config *config)
{
    switch ((enum file_storage)config->file_storage) {
    case FILE_STORAGE_DIR: return BLOB_DIR;
    case FILE_STORAGE_DATABASE: return BLOB_DATABASE;
    case FILE_STORAGE_S3: return BLOB_S3;
    case FILE_STORAGE_AUTO: break;
    }
    return strcmp(config->database_url, "embedded") == 0 ? BLOB_DIR : BLOB_DATABASE;
}

enum err_code file_places_open(const struct config *config, enum file_places which,
                               struct store *store, struct blobs **ret_blobs, struct err *err)
{
    enum blob_place place = place_of(config);
    AUTO_FREE char *dir = config->files_dir ? mem_strdup(config->files_dir)
                                            : mem_printf("%s/files", config->data_dir);
    const struct blobs_options options = {
        .store = store,
        .dir = which == FILE_PLACES_ALL || place == BLOB_DIR ? dir : NULL,
        .place = place,
        .s3 = config->files.has_s3 ? &config->files.s3 : NULL,
    };

    return blobs_open(&options, ret_blobs, err);
}
