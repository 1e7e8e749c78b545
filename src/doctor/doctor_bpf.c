/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "doctor/doctor_rows.h"
#include "os/file.h"
#include "record/plan/btf.h"

enum { MAX_BTF = 256 << 20 };

#define BTF_PATH "/sys/kernel/btf/vmlinux"

void doctor_no_bpf(struct doctor *d, const char *id, const char *title)
{
	doctor_no(d, id, title, doctor_setcap(d), "needs CAP_BPF and CAP_PERFMON");
}

static void allowed(struct doctor *d)
{
	if (os_caps_may_load_bpf(&d->world.caps))
		doctor_yes(d, "bpf", "loading BPF programs", "%s", "");
	else
		doctor_no_bpf(d, "bpf", "loading BPF programs");
}

/* Work that a BPF program leaves for the task's return to user mode: deferred user stacks on a
 * stock kernel need it. 6.18 calls them ..._impl, later kernels do not. */
static void task_work(struct doctor *d, struct bytes btf)
{
	static const char *const names[] = {"bpf_task_work_schedule_resume",
					    "bpf_task_work_schedule_resume_impl"};
	static const char id[] = "task-work", title[] = "BPF task work (kfunc)";

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (btf_has_function(btf, names[i])) {
			doctor_yes(d, id, title, "%s", names[i]);
			return;
		}
	}
	doctor_no(d, id, title, NULL,
		  "the kernel has no bpf_task_work_schedule_resume (mainline since Linux 6.18): "
		  "user stacks cannot be deferred to the return to user mode");
}

void doctor_bpf(struct doctor *d)
{
	char *btf;
	size_t n;

	d->section = "BPF";
	allowed(d);
	if (os_read_file(BTF_PATH, MAX_BTF, &btf, &n, NULL)) {
		doctor_no(d, "btf", "kernel types (BTF)", NULL,
			  BTF_PATH
			  " is missing: the kernel is built without CONFIG_DEBUG_INFO_BTF");
		doctor_no(d, "task-work", "BPF task work (kfunc)", NULL, "unknown without BTF");
		return;
	}
	doctor_yes(d, "btf", "kernel types (BTF)", "%s, %zu KiB", BTF_PATH, n >> 10);
	task_work(d, bytes_of(btf, n));
	mem_free(btf);
}
