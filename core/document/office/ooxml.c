#include "core/document/office/ooxml.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"

void xml_ignore_end(void *arg, struct xml *xml, const char *name)
{
    (void)arg;
    (void)xml;
    (void)name;
}

void xml_ignore_text(void *arg, const char *text, size_t length)
{
    (void)arg;
    (void)text;
    (void)length;
}

/* ---- Parts as XML ---- */

struct part_read {
    struct package *package;
    const struct xml_handler *handler;
    void *arg;
    enum reading end;
};

enum reading ooxml_read_entry(struct package *package, struct package_entry *entry,
                              const struct xml_handler *handler, void *arg)
{
    enum reading end = xml_read(package_entry_read, entry, handler, arg);

    return package->problem ? package->problem : end;
}

static bool visit_part(void *arg, struct package_entry *entry)
{
    struct part_read *read = arg;

    read->end = ooxml_read_entry(read->package, entry, read->handler, read->arg);
    return false;
}

enum reading ooxml_read(struct package *package, const char *part,
                        const struct xml_handler *handler, void *arg)
{
    struct part_read read = {.package = package, .handler = handler, .arg = arg};
    enum reading problem = package_visit_one(package, part, visit_part, &read);

    return problem ? problem : read.end;
}

/* ---- Relations ---- */

struct relations_reader {
    struct relations *relations;
    const char *part;
};

static const char *last_word(const char *uri)
{
    const char *slash = uri ? strrchr(uri, '/') : NULL;

    return slash ? slash + 1 : uri;
}

static void begin_relation(void *arg, struct xml *xml, const char *name)
{
    struct relations_reader *reader = arg;
    struct relations *relations = reader->relations;
    const char *mode = xml_attribute(xml, "TargetMode");
    struct relation relation = {0};

    if (strcmp(name, "Relationship") != 0 || (mode && strcmp(mode, "External") == 0))
        return;
    relation.id = mem_strdup(xml_attribute(xml, "Id"));
    relation.type = mem_strdup(last_word(xml_attribute(xml, "Type")));
    if (xml_attribute(xml, "Target"))
        relation.part = package_resolve(reader->part, xml_attribute(xml, "Target"));
    if (!relation.id || !relation.type || !relation.part) {
        free(relation.id);
        free(relation.type);
        free(relation.part);
        return;
    }
    relations->list = package_room(relations->list, relations->count, sizeof(*relations->list));
    relations->list[relations->count++] = relation;
}

static int compare_relations(const void *left, const void *right)
{
    const struct relation *a = left, *b = right;

    return strcmp(a->id, b->id);
}

enum reading relations_read(struct package_entry *entry, const char *part,
                            struct relations *ret_relations)
{
    static const struct xml_handler handler = {begin_relation, xml_ignore_end, xml_ignore_text};
    struct relations_reader reader = {ret_relations, part};
    enum reading end = xml_read(package_entry_read, entry, &handler, &reader);

    if (ret_relations->count)
        qsort(ret_relations->list, ret_relations->count, sizeof(*ret_relations->list),
              compare_relations);
    return end;
}

char *relations_name(const char *part)
{
    const char *slash = strrchr(part, '/'), *file = slash ? slash + 1 : part;

    return mem_printf("%.*s_rels/%s.rels", (int)(file - part), part, file);
}

struct relations_search {
    const char *part;
    struct relations *relations;
    enum reading end;
};

static bool visit_relations(void *arg, struct package_entry *entry)
{
    struct relations_search *search = arg;

    search->end = relations_read(entry, search->part, search->relations);
    return false;
}

enum reading relations_find(struct package *package, const char *part,
                            struct relations *ret_relations)
{
    AUTO_FREE char *name = relations_name(part);
    struct relations_search search = {.part = part, .relations = ret_relations};
    enum reading problem = package_visit_one(package, name, visit_relations, &search);

    if (problem == READING_INCOMPLETE)
        return READING_DONE;
    return problem ? problem : search.end;
}

const struct relation *relations_by_id(const struct relations *relations, const char *id)
{
    struct relation key = {.id = (char *)(uintptr_t)id};

    return id && relations->count ? bsearch(&key, relations->list, relations->count,
                                            sizeof(key), compare_relations)
                                  : NULL;
}

const struct relation *relations_by_type(const struct relations *relations, const char *type)
{
    for (size_t i = 0; i < relations->count; i++) {
        if (strcmp(relations->list[i].type, type) == 0)
            return &relations->list[i];
    }
    return NULL;
}

void relations_clear(struct relations *relations)
{
    for (size_t i = 0; i < relations->count; i++) {
        free(relations->list[i].id);
        free(relations->list[i].type);
        free(relations->list[i].part);
    }
    free(relations->list);
    *relations = (struct relations){0};
}
