/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OS_TERMINAL_H
#define OS_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

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

/**
 * From here on a signal that ends the process (TERM, INT, HUP, QUIT, ABRT, SEGV, BUS, ILL, FPE)
 * first puts the terminal @p fd back as it is now, and writes @p bytes there, which are copied:
 * what leaves a full-screen program. Signals that are ignored stay so. @return 0 or -errno: it is
 * no terminal; -E2BIG.
 */
int os_terminal_guard(int fd, const void *bytes, size_t size);
void os_terminal_unguard(void);

/** Stop as Ctrl-Z does; returns when the process continues. */
void os_terminal_suspend(void);

#endif
