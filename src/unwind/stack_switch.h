/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef UNWIND_STACK_SWITCH_H
#define UNWIND_STACK_SWITCH_H

#include "unwind/unw_image.h"
#include "unwind/unw_table.h"

/**
 * Rows of UNW_WHY_NEW_STACK for the functions of Go's runtime that go over to another stack, from
 * the instruction that does to their end: Go's .debug_frame has one rule for all of such a
 * function, by which the frame after it is whatever lies on the other stack. By symbols, amd64.
 * O(symbols).
 * @return CLEW_NOT_FOUND: no such function.
 */
enum clew_err stack_switch_rows(const struct unw_image *image, struct unw_list *ret);

#endif
