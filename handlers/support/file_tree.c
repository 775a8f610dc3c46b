#include "handlers/support/file_tree.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"

/* ---- Walking ---- */

struct walk {
    struct tool_call *call;
    const struct file_tree *tree;
    bool stopped;
};

static char *joined(const char *folder, const char *name)
{
    return *folder ? mem_printf("%s/%s", folder, name) : mem_strdup(name);
}

/* `below`: from where the walk begins; "" is that folder. */
static enum err_code walk_folder(struct walk *walk, const char *below, size_t depth,
                                 struct err *err)
{
    const struct file_tree *tree = walk->tree;
    AUTO_FREE char *path = *below && strcmp(tree->folder, ".") != 0
                               ? mem_printf("%s/%s", tree->folder, below)
                               : mem_strdup(*below ? below : tree->folder);
    struct workspace_list list = {0};
    enum err_code rc = workspace_list(tree->workspace, path, FILE_TREE_ENTRIES, &list, err);

    if (rc)
        return depth == 1 ? rc : ERR_OK;
    for (size_t i = 0; i < list.count && !walk->stopped && !rc; i++) {
        AUTO_FREE char *at = joined(below, list.entries[i].name);
        const struct file_tree_entry entry = {at, list.entries[i].name, depth,
                                              &list.entries[i].stat};
        enum file_tree_next next = tree->take(tree->argument, &entry);

        walk->stopped = next == FILE_TREE_STOP;
        if (tool_call_cancelled(walk->call))
            rc = ERR_CANCELLED;
        else if (next == FILE_TREE_ENTER && entry.stat->kind == WORKSPACE_FOLDER &&
                 depth < tree->depth && depth < FILE_TREE_DEPTH)
            rc = walk_folder(walk, at, depth + 1, err);
    }
    workspace_list_clear(&list);
    return rc;
}

enum err_code file_tree_walk(struct tool_call *call, const struct file_tree *tree,
                             struct err *err)
{
    struct walk walk = {.call = call, .tree = tree};

    return walk_folder(&walk, "", 1, err);
}

/* ---- Forms of names ---- */

/* One part, without `/`: goes back to the last `*` only, which is enough. */
static bool part_matches(const char *pattern, size_t pattern_length, const char *text,
                         size_t length)
{
    size_t p = 0, t = 0, star = SIZE_MAX, mark = 0;

    while (t < length) {
        if (p < pattern_length && pattern[p] == '*') {
            star = p++;
            mark = t;
        } else if (p < pattern_length && (pattern[p] == '?' || pattern[p] == text[t])) {
            p++;
            t++;
        } else if (star != SIZE_MAX) {
            p = star + 1;
            t = ++mark;
        } else {
            return false;
        }
    }
    while (p < pattern_length && pattern[p] == '*')
        p++;
    return p == pattern_length;
}

static const char *next_part(const char *part, size_t *ret_length)
{
    *ret_length = strcspn(part, "/");
    return part + *ret_length + (part[*ret_length] == '/');
}

/* The same idea for parts, where `**` is the star. */
bool file_tree_matches(const char *pattern, const char *path)
{
    const char *star = NULL, *mark = NULL;

    while (*path) {
        size_t pattern_length, length;
        const char *after = next_part(pattern, &pattern_length);
        const char *rest = next_part(path, &length);

        if (pattern_length == 2 && memcmp(pattern, "**", 2) == 0) {
            star = pattern = after;
            mark = path;
            if (!*pattern)
                return true;
        } else if (*pattern && part_matches(pattern, pattern_length, path, length)) {
            pattern = after;
            path = rest;
        } else if (star) {
            (void)next_part(mark, &length);
            pattern = star;
            path = mark = next_part(mark, &length);
        } else {
            return false;
        }
    }
    return !*pattern;
}
