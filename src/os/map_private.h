/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OS_MAP_PRIVATE_H
#define OS_MAP_PRIVATE_H

#include "os/file.h"

/**
 * os_map_file(), writable: what is written stays in this process. For libraries that change the
 * image they are given, as libelf does when it unpacks sections. Ends with os_map_done().
 */
enum clew_err os_map_file_private(const char *path, struct os_map *ret, struct clew_diag *diag);

#endif
