/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OS_STDOUT_H
#define OS_STDOUT_H

/** A write to a pipe nobody reads is an error (-EPIPE) from here on, not our end. */
void os_ignore_sigpipe(void);

/**
 * Put a program between standard output and the terminal: @p shell_command reads what we write.
 * @return its pid, or -errno with standard output as it was.
 */
int os_stdout_page(const char *shell_command);

/** Close standard output, and wait for the program os_stdout_page() started. */
void os_stdout_page_end(int pid);

#endif
