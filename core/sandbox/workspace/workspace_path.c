#include "core/sandbox/workspace/workspace_path.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/base/utf8.h"

/* Bytes of a path in an error. */
#define SHOWN ((size_t)200)

/* Folders beside /mnt that boxes have, or that people expect there. */
static const char *const system_folders[] = {
    "bin",  "boot", "dev", "etc",  "home", "lib", "lib64", "media", "opt",
    "proc", "root", "run", "sbin", "srv",  "sys", "tmp",   "usr",   "var",
};

char *workspace_path_shown(const char *text)
{
    size_t length = strlen(text), kept = length > SHOWN ? utf8_fit(text, SHOWN) : length;
    AUTO_BUF shown = {0};

    for (size_t at = 0; at < kept;) {
        uint32_t point;
        size_t size = utf8_take(text + at, kept - at, &point);

        if (point < 0x20 || (point >= 0x7f && point < 0xa0))
            buf_add_char(&shown, '?');
        else if (point == 0xfffd)
            buf_add_text(&shown, UTF8_REPLACEMENT);
        else
            buf_add(&shown, text + at, size);
        at += size;
    }
    if (kept < length)
        buf_add_text(&shown, "...");
    return buf_take(&shown);
}

enum err_code workspace_path_outside(const char *text, struct err *err)
{
    AUTO_FREE char *shown = workspace_path_shown(text);

    return err_set(err, ERR_FORBIDDEN, "%s is outside of the workspace.", shown);
}

/* The path without its last part. */
static bool drop_part(struct buf *path)
{
    if (!path->length)
        return false;
    while (path->length && path->data[path->length - 1] != '/')
        path->length--;
    path->length -= path->length > 0;
    return true;
}

/* Adds the parts of `text` to an empty path. False: `..` leaves it. Nothing is above `/`. */
static bool add_parts(struct buf *path, const char *text)
{
    bool from_root = *text == '/';

    while (*text) {
        size_t length = strcspn(text, "/");

        if (length == 2 && memcmp(text, "..", 2) == 0) {
            if (!drop_part(path) && !from_root)
                return false;
        } else if (length && !(length == 1 && *text == '.')) {
            if (path->length)
                buf_add_char(path, '/');
            buf_add(path, text, length);
        }
        text += length;
        text += *text == '/';
    }
    buf_add(path, "", 0);
    return true;
}

static bool begins_with_part(const char *path, const char *part)
{
    size_t length = strlen(part);

    return strncmp(path, part, length) == 0 && (path[length] == '/' || !path[length]);
}

/* Of a path from `/` on: the part within the workspace, or NULL. */
static const char *within(const char *path)
{
    if (begins_with_part(path, &WORKSPACE_MOUNT[1])) {
        path += strlen(&WORKSPACE_MOUNT[1]);
        return path + (*path == '/');
    }
    if (begins_with_part(path, "mnt"))
        return NULL;
    for (size_t i = 0; i < COUNT_OF(system_folders); i++) {
        if (begins_with_part(path, system_folders[i]))
            return NULL;
    }
    return path;
}

enum err_code workspace_path_parse(const char *text, char **ret_path, struct err *err)
{
    AUTO_BUF path = {0};
    const char *inner;

    if (!*text)
        return err_set(err, ERR_INVALID, "The path is empty.");
    if (strlen(text) > WORKSPACE_PATH_LIMIT)
        return err_set(err, ERR_INVALID, "The path has more than %zu bytes.",
                       WORKSPACE_PATH_LIMIT);
    if (!add_parts(&path, text))
        return workspace_path_outside(text, err);
    inner = path.length ? path.data : "";
    if (*text == '/')
        inner = within(inner);
    if (!inner)
        return workspace_path_outside(text, err);
    *ret_path = mem_strdup(*inner ? inner : ".");
    return ERR_OK;
}

char *workspace_path_in_box(const char *path)
{
    return strcmp(path, ".") == 0 ? mem_strdup(WORKSPACE_MOUNT)
                                  : mem_printf(WORKSPACE_MOUNT "/%s", path);
}

char *workspace_path_root(const char *text, char **ret_path)
{
    static const char mount[] = "mnt/roots/";
    AUTO_BUF path = {0};
    const char *name, *end;

    if (*text != '/' || strlen(text) > WORKSPACE_PATH_LIMIT || !add_parts(&path, text) ||
        !path.length || strncmp(path.data, mount, strlen(mount)) != 0)
        return NULL;
    name = path.data + strlen(mount);
    end = name + strcspn(name, "/");
    if (end == name || (size_t)(end - name) > WORKSPACE_ROOT_NAME_LIMIT)
        return NULL;
    if (ret_path)
        *ret_path = mem_strdup(*end && end[1] ? end + 1 : ".");
    return mem_strndup(name, (size_t)(end - name));
}
