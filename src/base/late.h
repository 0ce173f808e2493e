/* SPDX-License-Identifier: Apache-2.0
 * late.h - libraries that only some commands use: opened where they are first needed, not when the program starts.
 *
 * To load all of them took two thirds of the time of `holdup --help`.  A header of base/late/ lists the functions that we
 * call of one library, and gives each name to a pointer of a table, so that code calls them as always.  A build for any
 * Linux (-Dlibraries=linked) contains the libraries: the tables are the same, and filled from the program itself.
 */
#ifndef HU_BASE_LATE_H
#define HU_BASE_LATE_H

#include <stdatomic.h>
#include <stddef.h>

#include "base/error.h"

typedef struct {
    const char        *file;  /* what the linker of the build would have recorded: late_files.h */
    const char        *what;  /* its name and what needs it, for the error */
    const char *const *names; /* of the functions, */
    void             **table; /* whose addresses come here */
    size_t             n;
    atomic_bool        is_open;
    void *const       *ours; /* the addresses, where the library is part of the program; else NULL */
    int (*begin)(void);      /* called with them, once: what the library's constructor would do at every start; or NULL */
} hu_late;

/*
 * Fills the table of a library once; it stays open until the process ends.  Any thread may call it, before the first of
 * the library's functions.  HU_EIO where there is no such library, or an older one.
 */
int hu_late_open(hu_late *library, hu_error *err);

/* How a library says which version it is. */
typedef enum {
    HU_LATE_SILENT,
    HU_LATE_TEXT /* text(void) */,
    HU_LATE_ASKED /* text(NULL) */,
    HU_LATE_STRUCT /* nghttp2's */
} hu_late_how;

typedef struct {
    hu_late    *library;
    hu_late_how how;
    const char *function;
    void       *ours; /* its address, where the library is part of the program; else NULL */
} hu_late_version;

/* All of them, in the order of `holdup --version`; ends with a NULL library. */
extern const hu_late_version hu_late_all[];

enum { HU_LATE_VERSION_BYTES = 64 };

/* Opens it, and asks; "" where it does not say.  `path`: the file that was loaded, for as long as the process lives; NULL:
 * not known, or the library is part of the program.  HU_EIO where there is no such library. */
int hu_late_ask(const hu_late_version *row, char version[HU_LATE_VERSION_BYTES], const char **path, hu_error *err);

#define HU_LATE_POINTER(name) __typeof__(&name) name;
#define HU_LATE_NAME(name)    #name,

/* In a header, before names are given away: LIST(F) is F(name) of each function. */
#define HU_LATE_DECLARE(library, LIST)  \
    typedef struct {                    \
        LIST(HU_LATE_POINTER)           \
    } library##_functions;              \
    extern library##_functions library; \
    extern hu_late             library##_library;

#ifdef HU_LATE_LINKED
/* by the names that the linker sees, since the headers have given away those that C sees */
#define HU_LATE_SYMBOL(name)  extern const char hu_linked_##name[] __asm__(#name);
#define HU_LATE_ADDRESS(name) (void *)hu_linked_##name,
#define HU_LATE_OURS(library, LIST) \
    LIST(HU_LATE_SYMBOL)            \
    static void *const library##_ours[] = {LIST(HU_LATE_ADDRESS)};
#define HU_LATE_OURS_OF(library) library##_ours
#define HU_LATE_SAYS(name)       #name, (void *)hu_linked_##name
#else
#define HU_LATE_OURS(library, LIST)
#define HU_LATE_OURS_OF(library) NULL
#define HU_LATE_SAYS(name)       #name, NULL
#endif

#define HU_LATE_DEFINE(library, LIST, its_file, its_words, its_begin)                   \
    library##_functions      library;                                                   \
    static const char *const library##_names[] = {LIST(HU_LATE_NAME)};                  \
    HU_LATE_OURS(library, LIST)                                                         \
    hu_late library##_library = {.file = (its_file),                                    \
                                 .what = (its_words),                                   \
                                 .names = library##_names,                              \
                                 .table = (void **)&library,                            \
                                 .n = sizeof library##_names / sizeof *library##_names, \
                                 .ours = HU_LATE_OURS_OF(library),                      \
                                 .begin = its_begin};

#endif
