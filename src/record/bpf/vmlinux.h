/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RECORD_BPF_VMLINUX_H
#define RECORD_BPF_VMLINUX_H

/*
 * The kernel types that our programs use, and of them only the members that they touch: where these
 * lie in the running kernel is filled in when the program is loaded (CO-RE). A name with ___x is
 * another kernel's shape of the same type.
 */
#include <stdbool.h>
#include <stdint.h>

typedef uint8_t __u8;
typedef int8_t __s8;
typedef uint16_t __u16;
typedef int16_t __s16;
typedef uint32_t __u32;
typedef int32_t __s32;
typedef unsigned long long __u64;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;

/* Of <linux/time.h>. */
enum { CLOCK_BOOTTIME = 7, CLOCK_TAI = 11 };

/* Of <linux/mm.h> and <linux/errno.h>. */
enum { VM_EXEC = 4, EBUSY = 16 };

/* Of <linux/bpf.h>. */
enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_ARRAY_OF_MAPS = 12,
	BPF_MAP_TYPE_RINGBUF = 27,
};
/* Of <linux/perf_event.h>. */
enum { PERF_TYPE_SOFTWARE = 1, PERF_COUNT_SW_TASK_CLOCK = 1, PERF_SAMPLE_TIME = 1 << 2 };
enum { BPF_ANY, BPF_NOEXIST };
enum { BPF_F_NO_PREALLOC = 1 << 0, BPF_F_INNER_MAP = 1 << 12 };
enum { BPF_RB_NO_WAKEUP = 1 << 0, BPF_RB_FORCE_WAKEUP = 1 << 1, BPF_RB_AVAIL_DATA = 0 };

struct bpf_task_work {
	__u64 __opaque;
} __attribute__((aligned(8)));

/* Defined: libbpf compares the shape of kfuncs, and a declaration is another shape. */
struct bpf_map {
	uint32_t id;
};

typedef int (*bpf_task_work_callback_t)(struct bpf_map *map, void *key, void *value);

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct super_block {
	uint32_t s_dev;
};

struct inode {
	struct super_block *i_sb;
	unsigned long i_ino;
	long long i_size;
	uint32_t i_generation;
	long long i_mtime_sec; /* since 6.11 */
	uint32_t i_mtime_nsec;
};

struct timespec64___6_10 {
	long long tv_sec;
	long tv_nsec;
};

struct inode___6_6 {
	struct timespec64___6_10 i_mtime;
};

struct inode___6_10 {
	struct timespec64___6_10 __i_mtime;
};

struct file {
	struct inode *f_inode;
};

struct vdso_image;

typedef struct {
	uint64_t ctx_id; /* x86 */
	void *vdso;
} mm_context_t;

typedef struct seqcount {
	unsigned int sequence;
} seqcount_t;

/* Of kernel/events/uprobes.c: where functions with a probed return return to. */
struct xol_area {
	unsigned long vaddr;
};

struct uprobes_state {
	struct xol_area *xol_area;
};

/* Of one call with a probed return. */
struct return_instance {
	unsigned long stack; /* where its return address lay */
	unsigned long orig_ret_vaddr;
	struct return_instance *next; /* of an earlier call */
};

struct uprobe_task {
	struct return_instance *return_instances;
};

struct mm_struct {
	seqcount_t mm_lock_seq;
	mm_context_t context;
	struct uprobes_state uprobes_state;
};

struct mm_struct___6_4 {
	int mm_lock_seq;
};

struct refcount_struct {
	int counter;
};

struct vm_area_struct {
	unsigned long vm_start, vm_end;
	struct refcount_struct vm_refcnt; /* since 6.15; 0: not, or no longer, a mapping */
	struct mm_struct *vm_mm;
	unsigned long vm_flags;
	unsigned long vm_pgoff;
	struct file *vm_file;
};

struct perf_event_context;

struct perf_sample_data {
	uint64_t sample_flags; /* since 6.1: PERF_SAMPLE_ bits of what is filled in */
	uint64_t time;
};

struct perf_event_attr {
	uint32_t type;
	uint64_t config;
};

struct perf_event {
	struct perf_event_attr attr;
	struct perf_event *parent; /* the event that this is a copy of, for another task */
	uint64_t bpf_cookie;
};

struct bpf_perf_event_data_kern {
	struct perf_sample_data *data;
	struct perf_event *event;
};

struct task_struct {
	unsigned int flags;
	int pid, tgid;
	struct mm_struct *mm;
	uint64_t start_time;
	uint64_t self_exec_id; /* counts what it has executed */
	struct task_struct *group_leader;
	unsigned long nvcsw, nivcsw;
	struct perf_event_context *perf_event_ctxp;
	struct uprobe_task *utask;
};

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

struct bpf_iter__task_vma {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
	struct vm_area_struct *vma;
};

#pragma clang attribute pop

#endif
