/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_PLAN_BTF_H
#define RECORD_PLAN_BTF_H

#include "base/bytes.h"

/**
 * Does the BTF in @p btf, such as /sys/kernel/btf/vmlinux, describe a function @p name? Linear in
 * the number of types; bytes that are no BTF hold no function.
 * Spec: Linux Documentation/bpf/btf.rst.
 */
bool btf_has_function(struct bytes btf, const char *name);

/**
 * The names of functions by the numbers of their types: ret[i] is that of @p ids[i], in @p btf's
 * strings and NUL-terminated; NULL: that is no function. One pass over the types.
 */
void btf_function_names(struct bytes btf, const uint32_t *ids, size_t nr, const char **ret);

#endif
