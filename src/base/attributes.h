/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef BASE_ATTRIBUTES_H
#define BASE_ATTRIBUTES_H

/** Of functions that are called when something failed: out of the way of those that work. */
#define CLEW_COLD __attribute__((cold, noinline))

/** The compiler checks argument @p a on, by the format in argument @p f. */
#define CLEW_PRINTF(f, a) __attribute__((format(printf, f, a)))

#endif
