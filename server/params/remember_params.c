#include "server/params/remember_params.h"

#include <stddef.h>

#include "core/run/approval/grant.h"
#include "server/params/params.h"

enum err_code remember_params_check(const json_t *item, const char *path, struct err *err)
{
    /* The second is the older name, from before answers had scopes. */
    static const char *const known[] = {"remember", "persistDecision", NULL};
    const struct param_path here = param_key(path, "runnel");
    json_t *runnel = NULL;
    enum err_code rc = param_object(item, path, "runnel", PARAM_OPTIONAL, &runnel, err);

    if (rc || !runnel)
        return rc;
    rc = param_unknown(runnel, here.text, known, err);
    return rc ? rc : grant_remember_check(runnel, here.text, err);
}
