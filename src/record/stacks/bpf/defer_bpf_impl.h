/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_STACKS_BPF_DEFER_BPF_IMPL_H
#define RECORD_STACKS_BPF_DEFER_BPF_IMPL_H

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/cleanup.h"
#include "base/map_u64.h"
#include "base/vec.h"
#include "record/bpf/clew_bpf.h"
#include "record/stacks/bpf/defer_bpf.h"

/* A table in the kernel. */
struct defer_table {
	struct defer_file_key key;
	uint32_t index; /* 0: taken away */
	uint64_t bytes;
};

/* A stack that user space has to end: regs and the pieces that came so far. */
struct defer_copy {
	uint64_t cookie;
	struct unw_regs regs;
	uint8_t *data; /* CB_MAX_COPY */
	uint64_t start;
	size_t bytes;
};

enum { DEFER_NR_COPIES = 64 };

/* A table that the walk does not know yet. */
struct defer_held {
	struct defer_file_key key;
	struct cb_file file;
	int fd;
};

/* What the kernel has to put a walk off: CLEW_TASK_WORK of stacks.bpf.c. */
enum defer_task_work { DEFER_NO_TASK_WORK, DEFER_TASK_WORK_IMPL, DEFER_TASK_WORK_PLAIN };

struct defer_bpf {
	struct defer_bpf_opts opts;
	enum defer_task_work task_work;
	struct bpf_object *object;
	struct {
		VEC(struct bpf_object *);
	} more; /* the same once more for programs loaded later, with the maps of the first */
	struct ring_buffer *rings;
	struct {
		VEC(int);
	} links;
	int exit_link, left_fd;
	const struct defer_sink *sink; /* during a call */

	struct {
		VEC(struct defer_table);
	} tables;
	struct {
		VEC(struct defer_held);
	} held;
	bool is_holding;
	struct map_u64 tries; /* hash of a key: how often its file was not found */
	size_t hand;          /* of the clock */
	uint32_t last_index;
	uint64_t table_bytes, nr_tables, nr_evicted, generation;
	int tables_fd, files_fd, memo_fd, controls_fd, counts_fd;

	struct defer_copy copies[DEFER_NR_COPIES];
	size_t next_copy;
	uint8_t methods[CB_MAX_DEPTH];
	uint64_t ips[CB_MAX_DEPTH];
};

/* stacks.bpf.c, by enum defer_task_work. */
extern const unsigned char defer_bpf_object0[], defer_bpf_object1[], defer_bpf_object2[];
extern const size_t defer_bpf_object0_bytes, defer_bpf_object1_bytes, defer_bpf_object2_bytes;

/* What libbpf prints while this is in force goes to @p text, and not to stderr. */
struct defer_log {
	char text[512];
	struct defer_log *outer;
};
void defer_log_begin(struct defer_log *l);
void defer_log_end(struct defer_log *l);

enum clew_err defer_check_kernel(const struct defer_bpf_opts *o, enum defer_task_work *ret,
				 struct rec_error *error);
enum clew_err defer_load(struct defer_bpf *d, struct rec_error *error);
/* The program, loaded now if it was not yet. */
struct bpf_program *defer_program(struct defer_bpf *d, const char *name, struct rec_error *error);
void defer_unload(struct defer_bpf *d);

int defer_map_fd(const struct defer_bpf *d, const char *name);
void defer_set(struct defer_bpf *d, enum cb_control what, uint64_t value);

void defer_tables_done(struct defer_bpf *d);

/* Records of the ring of stacks. */
int defer_on_stack(void *ctx, void *data, size_t size);
void defer_put_want(const struct defer_sink *sink, const struct cb_want *w);
void defer_copies_done(struct defer_bpf *d);

#endif
