/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/stacks/bpf/defer_bpf_impl.h"

int defer_map_fd(const struct defer_bpf *d, const char *name)
{
	return bpf_object__find_map_fd_by_name(d->object, name);
}

void defer_set(struct defer_bpf *d, enum cb_control what, uint64_t value)
{
	uint32_t key = what;

	bpf_map_update_elem(d->controls_fd, &key, &value, BPF_ANY);
}
