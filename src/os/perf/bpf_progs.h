/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OS_PERF_BPF_PROGS_H
#define OS_PERF_BPF_PROGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/*
 * The BPF programs that the kernel has loaded, and where their machine code lies.
 * Spec: Linux 7.3 include/uapi/linux/bpf.h, struct bpf_prog_info.
 */
enum { OS_BPF_MAX_PARTS = 512, OS_BPF_TAG_BYTES = 8, OS_BPF_NAME_BYTES = 16 };

/** A function of a program: what the kernel calls a subprogram. The first is the program itself. */
struct os_bpf_part {
	uint64_t start;
	uint32_t bytes;
	uint32_t type; /* its function in the program's BTF; 0: unknown */
	uint8_t tag[OS_BPF_TAG_BYTES];
};

struct os_bpf_prog {
	uint32_t id, btf_id; /* btf_id 0: no BTF */
	uint8_t tag[OS_BPF_TAG_BYTES];
	char name[OS_BPF_NAME_BYTES + 1]; /* cut by the kernel */
	uint32_t nr;                      /* 0: not compiled, or its addresses are hidden from us */
	struct os_bpf_part part[OS_BPF_MAX_PARTS];
};

/**
 * Calls @p each with every program. Without the right to look for others' (CAP_SYS_ADMIN), with
 * those alone that this process holds. Programs that go meanwhile are omitted.
 * @p room: filled in for each call.
 */
void os_bpf_progs(struct os_bpf_prog *room, void (*each)(void *ctx, const struct os_bpf_prog *p),
		  void *ctx);

/** What @p ret holds becomes the BTF with that id. @return false: none that we may see. */
bool os_bpf_btf(uint32_t id, struct buf *ret);

#endif
