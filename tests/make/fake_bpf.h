/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TESTS_MAKE_FAKE_BPF_H
#define TESTS_MAKE_FAKE_BPF_H

#include "base/vec.h"
#include "record/stacks/bpf/defer_bpf.h"

/** In the place of record/stacks/bpf: what a test lays down here comes with the next poll. */
struct defer_bpf {
	struct {
		VEC(struct defer_request);
	} requests;
	struct {
		VEC(struct defer_stack);
	} stacks, asleep; /* asleep: come when the recording ends */
	struct {
		VEC(struct defer_want);
	} wants;
	int nr_hidden; /* polls that find nothing, as another CPU is still writing */
	int nr_attached, nr_later, nr_none, nr_tables, nr_freed;
	bool refuses, is_stopped;
	size_t nr_left;
};

extern struct defer_bpf bpf;

#endif
