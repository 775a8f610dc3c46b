#ifndef RUNNEL_CORE_STORE_TABLES_FILES_PICTURE_SQL_H
#define RUNNEL_CORE_STORE_TABLES_FILES_PICTURE_SQL_H

/*
 * picture_sql.h -- steps of statements that insert or delete items: pictures.h says what a picture is.
 *
 * A statement that deletes items notes of their pictures that the keeper has to look. It takes no lock that uploads
 * take, and counts nothing: a purge removes many items at once.
 */

/* Only such items have pictures of this kind, so others cost nothing. */
#define PICTURE_ITEMS "'image_generation_call'"

/* The items (id, type) of project $1 in `gone` were deleted. */
#define PICTURES_LET_GO(gone)                                                                  \
    "UPDATE pictures p SET check_at = "                                                        \
    "  (extract(epoch FROM clock_timestamp()) * 1000000)::bigint"                              \
    " FROM item_pictures m, " gone " g WHERE g.type = " PICTURE_ITEMS " AND m.project_id = $1" \
    " AND m.item_id = g.id AND p.project_id = $1 AND p.id = m.picture_id"

/* The rows (project_id, id, picture_id) of `shown` are items with pictures, or without ('' or NULL). */
#define PICTURES_SHOWN(shown)                                                            \
    "INSERT INTO item_pictures (project_id, item_id, picture_id)"                        \
    " SELECT n.project_id, n.id, n.picture_id FROM " shown " n WHERE n.picture_id <> ''" \
    " ON CONFLICT (project_id, item_id) DO NOTHING"

#endif
