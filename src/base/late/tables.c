/* SPDX-License-Identifier: Apache-2.0
 * tables.c - the tables of base/late/.  The build says what the libraries' files are called; without it, as on Debian. */
#include "base/late/crypt.h"
#include "base/late/gnutls.h"
#include "base/late/isal.h"
#include "base/late/microhttpd.h"
#include "base/late/nghttp2.h"
#include "base/late/sqlite.h"
#include "base/late/yaml.h"
#include "base/late/zstd.h"
/* last: its macros are named like anything */
#include "base/late/ncurses.h"

#ifndef HU_FILE_ISAL
#define HU_FILE_ISAL       "libisal.so.2"
#define HU_FILE_ZSTD       "libzstd.so.1"
#define HU_FILE_SQLITE     "libsqlite3.so.0"
#define HU_FILE_MICROHTTPD "libmicrohttpd.so.12"
#define HU_FILE_NGHTTP2    "libnghttp2.so.14"
#define HU_FILE_GNUTLS     "libgnutls.so.30"
#define HU_FILE_YAML       "libyaml-0.so.2"
#define HU_FILE_NCURSES    "libncursesw.so.6"
#define HU_FILE_CRYPT      "libcrypt.so.1"
#endif

#ifdef HU_LATE_LINKED
/*
 * GnuTLS begins in a constructor, which took half of the instructions of `holdup --help`, unless the program has this
 * function, as its GNUTLS_SKIP_GLOBAL_INIT would write it.  libmicrohttpd is built without its own (scripts/dist).
 */
int hu_late_skips_constructor(void) __asm__("_gnutls_global_init_skip");
int hu_late_begin_gnutls(void) __asm__("gnutls_global_init");

int hu_late_skips_constructor(void)
{
    return 1;
}
#define BEGIN_GNUTLS hu_late_begin_gnutls
#else
#define BEGIN_GNUTLS NULL
#endif

HU_LATE_DEFINE(hu_isal, HU_ISAL_FUNCTIONS, HU_FILE_ISAL, "ISA-L, which reads and writes gzip,", NULL)
HU_LATE_DEFINE(hu_zstd, HU_ZSTD_FUNCTIONS, HU_FILE_ZSTD, "libzstd, which reads .zst,", NULL)
HU_LATE_DEFINE(hu_sqlite, HU_SQLITE_FUNCTIONS, HU_FILE_SQLITE, "SQLite", NULL)
HU_LATE_DEFINE(hu_microhttpd, HU_MICROHTTPD_FUNCTIONS, HU_FILE_MICROHTTPD, "libmicrohttpd, which serves pages,", NULL)
HU_LATE_DEFINE(hu_nghttp2, HU_NGHTTP2_FUNCTIONS, HU_FILE_NGHTTP2, "libnghttp2, which asks the kubelet,", NULL)
HU_LATE_DEFINE(hu_gnutls, HU_GNUTLS_FUNCTIONS, HU_FILE_GNUTLS, "GnuTLS", BEGIN_GNUTLS)
HU_LATE_DEFINE(hu_yaml, HU_YAML_FUNCTIONS, HU_FILE_YAML, "libyaml, which reads --web-config,", NULL)
HU_LATE_DEFINE(hu_ncurses, HU_NCURSES_FUNCTIONS, HU_FILE_NCURSES, "ncurses, which draws screens,", NULL)
HU_LATE_DEFINE(hu_crypt, HU_CRYPT_FUNCTIONS, HU_FILE_CRYPT, "libcrypt, which checks passwords,", NULL)

#ifdef HU_LATE_LINKED
HU_LATE_SYMBOL(ZSTD_versionString)
HU_LATE_SYMBOL(sqlite3_libversion)
HU_LATE_SYMBOL(MHD_get_version)
HU_LATE_SYMBOL(nghttp2_version)
HU_LATE_SYMBOL(gnutls_check_version)
HU_LATE_SYMBOL(yaml_get_version_string)
HU_LATE_SYMBOL(curses_version)
#endif

const hu_late_version hu_late_all[] = {
    {&hu_isal_library, HU_LATE_SILENT, NULL, NULL},
    {&hu_zstd_library, HU_LATE_TEXT, HU_LATE_SAYS(ZSTD_versionString)},
    {&hu_sqlite_library, HU_LATE_TEXT, HU_LATE_SAYS(sqlite3_libversion)},
    {&hu_microhttpd_library, HU_LATE_TEXT, HU_LATE_SAYS(MHD_get_version)},
    {&hu_nghttp2_library, HU_LATE_STRUCT, HU_LATE_SAYS(nghttp2_version)},
    {&hu_gnutls_library, HU_LATE_ASKED, HU_LATE_SAYS(gnutls_check_version)},
    {&hu_yaml_library, HU_LATE_TEXT, HU_LATE_SAYS(yaml_get_version_string)},
    {&hu_crypt_library, HU_LATE_SILENT, NULL, NULL},
    {&hu_ncurses_library, HU_LATE_TEXT, HU_LATE_SAYS(curses_version)},
    {NULL, HU_LATE_SILENT, NULL, NULL},
};
