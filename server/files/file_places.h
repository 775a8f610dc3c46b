#ifndef RUNNEL_SERVER_FILES_FILE_PLACES_H
#define RUNNEL_SERVER_FILES_FILE_PLACES_H

#include "core/base/err.h"
#include "core/blob/blob.h"
#include "core/store/store.h"
#include "server/config/config.h"

/*
 * file_places.h -- from the settings to the places where the bytes of files lie, for serve and for the import.
 */

enum file_places {
    FILE_PLACES_ALL,
    FILE_PLACES_OF_NEW, /* no directory, if new bytes go elsewhere */
};

/* As blobs_open(), which says what can fail. The caller frees with blobs_free(). */
enum err_code file_places_open(const struct config *config, enum file_places which,
                               struct store *store, struct blobs **ret_blobs,
                               struct err *err) MUST_CHECK;

#endif
