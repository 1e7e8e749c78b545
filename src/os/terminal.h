/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OS_TERMINAL_H
#define OS_TERMINAL_H

#include <stdbool.h>

/** Columns of the terminal @p fd is; 0: it is none, or does not say. */
unsigned int os_terminal_columns(int fd);

/** Is the terminal @p fd ours to write to: not one with another job in the foreground? */
bool os_is_foreground(int fd);

/**
 * What SIGINT still does before it ends us, as it does by default: take away the unfinished line
 * on standard error, where there is one (os_interrupt_line()), and let the reader of our standard
 * output finish (os_stdout_page()). A SIGINT that is ignored stays so. Once is enough.
 */
void os_interrupt_init(void);

/** Does an unfinished line stand on standard error? */
void os_interrupt_line(bool is_there);

/** The process to wait for, after our standard output leads nowhere; 0: none. */
void os_interrupt_reader(int pid);

#endif
