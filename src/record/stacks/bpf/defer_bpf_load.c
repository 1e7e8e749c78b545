/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "os/file.h"
#include "os/proc.h"
#include "os/thread.h"
#include "record/stacks/bpf/defer_bpf_impl.h"
#include "record/stacks/bpf/defer_bpf_text.h"

enum { RING_BYTES = 8 << 20, MAX_TASKS = 1 << 16, MAX_FILES = 1 << 16, MAX_SCRATCH = 1024 };
enum { MAX_BTF = 256 << 20 };

/* libbpf's printing is one function for the process, without a context. */
static _Thread_local struct defer_log *current;

static int take_line(enum libbpf_print_level level, const char *format, va_list args)
{
	size_t n;

	if (!current || level != LIBBPF_WARN)
		return 0;
	n = strlen(current->text);
	vsnprintf(current->text + n, sizeof(current->text) - n, format, args);
	for (char *c = current->text + n; *c; c++) {
		if (*c == '\n')
			*c = ' ';
	}
	return 0;
}

void defer_log_begin(struct defer_log *l)
{
	l->text[0] = '\0';
	l->outer = current;
	current = l;
	libbpf_set_print(
		take_line); /* for good: what it says outside a log is not for stderr either */
}

void defer_log_end(struct defer_log *l)
{
	current = l->outer;
}

/* Parsing the kernel's types takes libbpf long, and it does so anyway; their names are enough here.
 */
enum clew_err defer_check_kernel(const struct defer_bpf_opts *o, enum defer_task_work *ret,
				 struct rec_error *error)
{
	static const char name[] = "\0bpf_task_work_schedule_resume";
	size_t size;
	char *types;
	bool has_plain, has_impl;

	if (os_read_file("/sys/kernel/btf/vmlinux", MAX_BTF, &types, &size, NULL))
		return rec_fail(error, CLEW_UNSUPPORTED,
				"the kernel describes no types (/sys/kernel/btf/vmlinux): it is "
				"built without CONFIG_DEBUG_INFO_BTF");
	has_plain = memmem(types, size, name, sizeof(name));
	has_impl = memmem(types, size, "\0bpf_task_work_schedule_resume_impl", sizeof(name) + 5);
	mem_free(types);
	/* Later kernels have both, and another shape of _impl. */
	*ret = o->is_immediate ? DEFER_NO_TASK_WORK
	     : has_plain       ? DEFER_TASK_WORK_PLAIN
			       : DEFER_TASK_WORK_IMPL;
	if (!o->is_immediate && !has_plain && !has_impl)
		return rec_fail(error, CLEW_UNSUPPORTED,
				"the kernel has no bpf_task_work_schedule_resume (mainline since "
				"Linux 6.18): user stacks cannot be deferred to the return to "
				"user mode");
	return CLEW_OK;
}

static uint32_t pow2_at_least(uint64_t n)
{
	uint32_t r = 1;

	while (r < n && r < 1u << 31)
		r <<= 1;
	return r;
}

static void set_entries(struct defer_bpf *d, const char *name, uint32_t n)
{
	struct bpf_map *m = bpf_object__find_map_by_name(d->object, name);

	if (m)
		bpf_map__set_max_entries(m, n);
}

/* Verifying one takes up to 0.1 s: the rest comes when it is asked for. */
static void choose_programs(struct bpf_object *o, const char *const *names, size_t nr)
{
	struct bpf_program *p;

	bpf_object__for_each_program(p, o)
	{
		bool is_wanted = false;

		for (size_t i = 0; i < nr; i++)
			is_wanted |= !strcmp(bpf_program__name(p), names[i]);
		bpf_program__set_autoload(p, is_wanted);
	}
}

static void *section(struct bpf_object *o, const char *name, size_t wanted,
		     const struct bpf_map **ret_map)
{
	struct bpf_map *m;
	size_t size;
	void *ret;

	bpf_object__for_each_map(m, o)
	{
		*ret_map = m;
		if (!strstr(bpf_map__name(m), name))
			continue;
		ret = (void *)bpf_map__initial_value(m, &size);
		if (ret && size >= wanted)
			return ret;
	}
	return NULL;
}

/* Of the other bits of a return address aarch64 makes a signature. */
static uint64_t code_bits(void)
{
	return UNW_OWN_ARCH == UNW_AARCH64 ? UINT64_MAX >> (64 - os_address_bits()) : UINT64_MAX;
}

static void configure(struct defer_bpf *d)
{
	const struct defer_bpf_opts *o = &d->opts;
	size_t ring = pow2_at_least(o->ring_bytes ? o->ring_bytes : RING_BYTES);
	uint32_t nr_scratch = pow2_at_least(o->nr_cpus * 16ull);
	const struct bpf_map *map;
	struct cb_config *c = section(d->object, ".rodata", sizeof(*c), &map);

	if (ring < 1 << 16)
		ring = 1 << 16;
	nr_scratch = nr_scratch < 128 ? 128 : nr_scratch > MAX_SCRATCH ? MAX_SCRATCH : nr_scratch;
	set_entries(d, "stacks", (uint32_t)ring);
	set_entries(d, "requests", (uint32_t)(ring / 4));
	set_entries(d, "scratch", nr_scratch);
	set_entries(d, "files", MAX_FILES);
	set_entries(d, "tasks", o->max_tasks ? o->max_tasks : MAX_TASKS);
	if (!c)
		return;
	c->max_stack = o->max_stack && o->max_stack < CB_MAX_DEPTH ? o->max_stack : CB_MAX_DEPTH;
	c->clockid = o->clockid;
	c->is_system_wide = o->is_system_wide;
	c->nr_scratch = nr_scratch;
	c->request_wake = ring / 16;
	c->stack_wake = ring / 4;
	c->code_bits = code_bits();
	c->page_shift = (uint32_t)__builtin_ctz(os_page_bytes());
}

static void find_text(void *ctx)
{
	defer_find_text(ctx);
}

/* The kernel is long in writing down its symbols. */
static int load_with_text(struct bpf_object *o)
{
	struct cb_text text = {0}, *to;
	const struct bpf_map *map;
	const uint32_t zero = 0;
	struct os_thread *t = os_thread_start(find_text, &text);
	int err = bpf_object__load(o);

	if (t)
		os_thread_join(t);
	else
		defer_find_text(&text);
	to = err ? NULL : section(o, ".bss", sizeof(*to), &map);
	if (!to)
		return err;
	*to = text;
	return bpf_map_update_elem(bpf_map__fd(map), &zero, to, BPF_ANY);
}

static enum clew_err not_loaded(int err, const struct defer_log *log, struct rec_error *error)
{
	return rec_fail_os(error, err, "cannot load the BPF programs%s%.400s",
			   log->text[0] ? ": " : "", log->text);
}

static struct bpf_object *open_object(const struct defer_bpf *d)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = "clew");

	switch (d->task_work) {
	case DEFER_NO_TASK_WORK:
		break;
	case DEFER_TASK_WORK_IMPL:
		return bpf_object__open_mem(defer_bpf_object1, defer_bpf_object1_bytes, &opts);
	case DEFER_TASK_WORK_PLAIN:
		return bpf_object__open_mem(defer_bpf_object2, defer_bpf_object2_bytes, &opts);
	}
	return bpf_object__open_mem(defer_bpf_object0, defer_bpf_object0_bytes, &opts);
}

enum clew_err defer_load(struct defer_bpf *d, struct rec_error *error)
{
	static const char *const deferred[] = {"on_sample", "on_exit", "on_each_vma",
					       "requests_left"};
	static const char *const immediate[] = {"on_sample_now", "on_each_vma", "requests_left"};
	struct defer_log log;
	int err = 0;

	defer_log_begin(&log);
	d->object = open_object(d);
	if (!d->object) {
		err = errno;
	} else {
		if (d->opts.is_immediate)
			choose_programs(d->object, immediate, 3);
		else
			choose_programs(d->object, deferred, 4);
		configure(d);
		err = load_with_text(d->object);
	}
	defer_log_end(&log);
	return err ? not_loaded(err, &log, error) : CLEW_OK;
}

/* --- later --- */

static int load_more(struct defer_bpf *d, struct bpf_object *o, const char *name)
{
	struct bpf_map *m;
	int err = 0;

	choose_programs(o, &name, 1);
	bpf_object__for_each_map(m, o)
	{
		int fd = defer_map_fd(d, bpf_map__name(m));

		if (fd >= 0 && !err)
			err = bpf_map__reuse_fd(m, fd);
	}
	return err ? err : bpf_object__load(o);
}

static struct bpf_program *find_loaded(struct bpf_object *o, const char *name)
{
	struct bpf_program *p = bpf_object__find_program_by_name(o, name);

	return p && bpf_program__fd(p) >= 0 ? p : NULL;
}

struct bpf_program *defer_program(struct defer_bpf *d, const char *name, struct rec_error *error)
{
	struct bpf_program *p = find_loaded(d->object, name);
	struct bpf_object *o;
	struct defer_log log;
	int err;

	vec_for_each (&d->more, other)
		p = p ? p : find_loaded(*other, name);
	if (p)
		return p;
	if (!vec_reserve(&d->more, d->more.nr + 1)) {
		rec_fail_memory(error);
		return NULL;
	}
	defer_log_begin(&log);
	o = open_object(d);
	err = o ? load_more(d, o, name) : errno;
	defer_log_end(&log);
	if (err) {
		bpf_object__close(o);
		not_loaded(err, &log, error);
		return NULL;
	}
	d->more.data[d->more.nr++] = o;
	return find_loaded(o, name);
}

void defer_unload(struct defer_bpf *d)
{
	vec_for_each (&d->more, o)
		bpf_object__close(*o);
	vec_done(&d->more);
	bpf_object__close(d->object);
}
