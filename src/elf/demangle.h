/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ELF_DEMANGLE_H
#define ELF_DEMANGLE_H

#include <stdbool.h>

#include "base/buf.h"

/**
 * Write the source-level name of @p name after what is in @p ret: C++ and Rust (both manglings) by
 * libiberty, without parameters, and OCaml. "NAME@plt" keeps its suffix.
 * @return false, and nothing written, where @p name is no mangled name (or it, or what it stands
 * for, is absurdly long).
 */
bool demangle(const char *name, struct buf *ret);

/** The same with the parameters of a C++ function. */
bool demangle_with_parameters(const char *name, struct buf *ret);

#endif
