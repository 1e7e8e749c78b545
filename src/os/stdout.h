/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OS_STDOUT_H
#define OS_STDOUT_H

#include <stdbool.h>

/** A write to a pipe without a reader is an error (-EPIPE) from here on, not our end. */
void os_ignore_sigpipe(void);

/**
 * Put a program between standard output and the terminal: @p argv, found along PATH, reads what we
 * write.
 * @return its pid, or -errno with standard output as it was (-ENOENT: no such program).
 */
int os_stdout_page(char *const argv[]);

/** Close standard output, and wait for the program os_stdout_page() started. */
void os_stdout_page_end(int pid);

/** Are we root, or run with other rights than our user's? Then what the environment says need not
 * be what the holder of these rights wants. */
bool os_has_more_rights(void);

#endif
