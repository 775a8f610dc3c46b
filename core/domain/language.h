#ifndef RUNNEL_CORE_DOMAIN_LANGUAGE_H
#define RUNNEL_CORE_DOMAIN_LANGUAGE_H

/*
 * language.h -- the language of what this server writes for the model: rules, hints and notes.
 *
 * A request chooses it with runnel.rules.language. Each text that the server writes has both.
 */

enum language {
    LANGUAGE_ENGLISH, /* "en", and where the request says nothing */
    LANGUAGE_CHINESE, /* "zh" */
    LANGUAGE_COUNT
};

#endif
