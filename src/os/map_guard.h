/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OS_MAP_GUARD_H
#define OS_MAP_GUARD_H

/**
 * Others may cut off a file while it is mapped here: a program's libraries while that runs, by
 * whoever owns them. From here on what lies after such an end reads as zeros, as a damaged file
 * may have them, and is no SIGBUS. For programs, once, before any thread is started: the signal's
 * handler is the process's. A SIGBUS of any other cause kills as before.
 */
void os_map_guard(void);

#endif
