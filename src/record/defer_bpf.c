/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <bpf/btf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "os/file.h"
#include "os/perf_event.h"
#include "perfdata/perf_attr.h"
#include "record/defer_bpf_impl.h"
#include "record/defer_bpf_text.h"

enum {
	RING_BYTES = 8 << 20,
	MAX_TASKS = 1 << 16,
	MAX_FILES = 1 << 16,
	MAX_SCRATCH = 1024,
	COPY_BYTES = 4 << 20, /* between two polls */
	MAX_ROUNDS = 1000,
};

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
	current = l;
	l->before = libbpf_set_print(take_line);
}

void defer_log_end(struct defer_log *l)
{
	libbpf_set_print(l->before);
	current = NULL;
}

int defer_map_fd(const struct defer_bpf *d, const char *name)
{
	return bpf_object__find_map_fd_by_name(d->object, name);
}

void defer_set(struct defer_bpf *d, enum cb_control what, uint64_t value)
{
	uint32_t key = what;

	bpf_map_update_elem(d->controls_fd, &key, &value, BPF_ANY);
}

/* --- loading --- */

static enum clew_err check_kernel(const struct defer_bpf_opts *o, struct rec_error *error)
{
	static const char *const names[] = {"bpf_task_work_schedule_resume",
					    "bpf_task_work_schedule_resume_impl"};
	struct btf *btf = btf__load_vmlinux_btf();
	bool has = o->is_immediate;

	if (!btf)
		return rec_fail(error, CLEW_UNSUPPORTED,
				"the kernel describes no types (/sys/kernel/btf/vmlinux): it is "
				"built without CONFIG_DEBUG_INFO_BTF");
	for (size_t i = 0; i < 2 && !has; i++)
		has = btf__find_by_name_kind(btf, names[i], BTF_KIND_FUNC) > 0;
	btf__free(btf);
	if (!has)
		return rec_fail(error, CLEW_UNSUPPORTED,
				"the kernel has no bpf_task_work_schedule_resume (mainline since "
				"Linux 6.18): user stacks cannot be put off to the return to user "
				"mode");
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

static void choose_programs(struct defer_bpf *d)
{
	static const char *const names[][2] = {
		{"on_sample",     "on_sample_now"    },
		{"on_tracepoint", "on_tracepoint_now"},
		{"on_probe",      "on_probe_now"     }
        };
	struct bpf_program **at[] = {&d->sample, &d->tracepoint, &d->probe};

	for (size_t i = 0; i < 3; i++) {
		struct bpf_program *not_used = bpf_object__find_program_by_name(
			d->object, names[i][!d->opts.is_immediate]);

		*at[i] =
			bpf_object__find_program_by_name(d->object, names[i][d->opts.is_immediate]);
		if (not_used)
			bpf_program__set_autoload(not_used, false);
	}
	if (d->opts.is_immediate) {
		static const char *const others[] = {"on_exit", "on_pending_task"};

		for (size_t i = 0; i < 2; i++) {
			struct bpf_program *p =
				bpf_object__find_program_by_name(d->object, others[i]);

			if (p)
				bpf_program__set_autoload(p, false);
		}
	}
}

static void configure(struct defer_bpf *d)
{
	const struct defer_bpf_opts *o = &d->opts;
	size_t ring = pow2_at_least(o->ring_bytes ? o->ring_bytes : RING_BYTES);
	uint32_t nr_scratch = pow2_at_least(o->nr_cpus * 16ull);
	struct cb_config *c;
	struct bpf_map *m;
	size_t size;

	if (ring < 1 << 16)
		ring = 1 << 16;
	nr_scratch = nr_scratch < 128 ? 128 : nr_scratch > MAX_SCRATCH ? MAX_SCRATCH : nr_scratch;
	set_entries(d, "stacks", (uint32_t)ring);
	set_entries(d, "requests", (uint32_t)(ring / 4));
	set_entries(d, "scratch", nr_scratch);
	set_entries(d, "files", MAX_FILES);
	set_entries(d, "tasks", o->max_tasks ? o->max_tasks : MAX_TASKS);
	bpf_object__for_each_map(m, d->object)
	{
		if (!strstr(bpf_map__name(m), ".rodata") ||
		    !(c = (struct cb_config *)bpf_map__initial_value(m, &size)) ||
		    size < sizeof(*c))
			continue;
		c->max_stack =
			o->max_stack && o->max_stack < CB_MAX_DEPTH ? o->max_stack : CB_MAX_DEPTH;
		c->clockid = o->clockid;
		c->is_system_wide = o->is_system_wide;
		c->nr_scratch = nr_scratch;
		c->request_wake = ring / 16;
		c->stack_wake = ring / 4;
		defer_find_text(c);
	}
}

static enum clew_err load(struct defer_bpf *d, struct rec_error *error)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = "clew");
	struct defer_log log;
	int err = 0;

	defer_log_begin(&log);
	d->object = bpf_object__open_mem(defer_bpf_object, defer_bpf_object_bytes, &opts);
	if (!d->object) {
		err = errno;
	} else {
		choose_programs(d);
		configure(d);
		err = bpf_object__load(d->object);
	}
	defer_log_end(&log);
	if (err)
		return rec_fail_os(error, err, "cannot load the BPF programs%s%.400s",
				   log.text[0] ? ": " : "", log.text);
	return CLEW_OK;
}

static int on_request(void *ctx, void *data, size_t size)
{
	struct defer_bpf *d = ctx;
	const struct cb_request *r = data;
	struct defer_request out;

	if (size < sizeof(*r) || !d->sink)
		return 0;
	out = (struct defer_request){.time = r->time,
				     .cookie = r->cookie,
				     .tid = r->tid,
				     .cpu = r->cpu,
				     .event = r->event};
	d->sink->request(d->sink->ctx, &out);
	return 0;
}

static enum clew_err open_rings(struct defer_bpf *d, struct rec_error *error)
{
	struct bpf_program *left = bpf_object__find_program_by_name(d->object, "requests_left");

	d->left_fd = left ? bpf_program__fd(left) : -1;
	d->tables_fd = defer_map_fd(d, "tables");
	d->files_fd = defer_map_fd(d, "files");
	d->memo_fd = defer_map_fd(d, "memo");
	d->controls_fd = defer_map_fd(d, "controls");
	d->counts_fd = defer_map_fd(d, "counts");
	d->rings = ring_buffer__new(defer_map_fd(d, "requests"), on_request, d, NULL);
	if (!d->rings)
		return rec_fail_os(error, errno, "cannot map the ring of requests");
	if (ring_buffer__add(d->rings, defer_map_fd(d, "stacks"), defer_on_stack, d))
		return rec_fail_os(error, errno, "cannot map the ring of stacks");
	return CLEW_OK;
}

static enum clew_err attach_exit(struct defer_bpf *d, struct rec_error *error)
{
	struct bpf_program *p = bpf_object__find_program_by_name(d->object, "on_exit");

	if (d->opts.is_immediate || !p)
		return CLEW_OK;
	d->exit_link = bpf_raw_tracepoint_open("sched_process_exit", bpf_program__fd(p));
	if (d->exit_link < 0)
		return rec_fail_os(error, d->exit_link,
				   "cannot attach to the tracepoint sched_process_exit");
	return CLEW_OK;
}

enum clew_err defer_bpf_open(struct defer_bpf **ret, const struct defer_bpf_opts *o,
			     struct rec_error *error)
{
	enum clew_err err = check_kernel(o, error);
	struct defer_bpf *d;

	if (err)
		return err;
	d = mem_zalloc(sizeof(*d));
	if (!d)
		return rec_fail(error, CLEW_NO_MEMORY, "out of memory");
	d->opts = *o;
	d->exit_link = -1;
	err = load(d, error);
	if (!err)
		err = open_rings(d, error);
	if (!err)
		err = attach_exit(d, error);
	if (err) {
		defer_bpf_free(d);
		return err;
	}
	defer_set(d, CB_COPY_BYTES, COPY_BYTES);
	*ret = d;
	return CLEW_OK;
}

void defer_bpf_free(struct defer_bpf *d)
{
	if (!d)
		return;
	vec_for_each (&d->links, l) {
		os_close(*l);
	}
	vec_done(&d->links);
	if (d->exit_link >= 0)
		os_close(d->exit_link);
	ring_buffer__free(d->rings);
	bpf_object__close(d->object);
	defer_copies_done(d);
	defer_tables_done(d);
	mem_free(d);
}

/* --- running --- */

/* Not libbpf's attach function: that one enables the event. */
static enum clew_err link_to(struct defer_bpf *d, const struct bpf_program *p, int perf_fd,
			     uint32_t event, int *ret)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts, .perf_event.bpf_cookie = event);

	if (!vec_reserve(&d->links, d->links.nr + 1))
		return CLEW_NO_MEMORY;
	*ret = bpf_link_create(bpf_program__fd(p), perf_fd, BPF_PERF_EVENT, &opts);
	if (*ret < 0)
		return CLEW_OS;
	d->links.data[d->links.nr++] = *ret;
	return CLEW_OK;
}

static enum clew_err not_linked(enum clew_err err, int os_err, struct rec_error *error)
{
	if (err == CLEW_NO_MEMORY)
		return rec_fail(error, err, "out of memory");
	return rec_fail_os(error, os_err, "cannot run a BPF program on the event");
}

enum clew_err defer_bpf_attach(struct defer_bpf *d, int perf_fd, uint32_t event, bool is_traced,
			       struct rec_error *error)
{
	int link = 0;
	enum clew_err err = link_to(d, is_traced ? d->probe : d->sample, perf_fd, event, &link);

	if (err == CLEW_OS && link == -EINVAL && is_traced)
		err = link_to(d, d->tracepoint, perf_fd, event, &link);
	if (err == CLEW_OS && link == -EEXIST && is_traced)
		return CLEW_OK;
	return err ? not_linked(err, link, error) : CLEW_OK;
}

enum clew_err defer_bpf_attach_tracepoint(struct defer_bpf *d, uint64_t id, uint32_t event,
					  struct rec_error *error)
{
	struct perf_attr attr = {.size = PERF_ATTR_SIZE_VER0,
				 .type = PERF_TYPE_TRACEPOINT,
				 .config = id,
				 .sample_period = 1,
				 .flags = PERF_ATTR_DISABLED};
	uint8_t bytes[PERF_ATTR_SIZE_VER9];
	int fd, link = 0;
	enum clew_err err;

	if (!vec_reserve(&d->links, d->links.nr + 2))
		return rec_fail(error, CLEW_NO_MEMORY, "out of memory");
	perf_attr_for_kernel(&attr, bytes);
	fd = os_perf_open(bytes, 0, -1, -1, 0);
	if (fd < 0)
		return rec_fail_os(error, fd, "cannot open the tracepoint");
	d->links.data[d->links.nr++] = fd;
	err = link_to(d, d->tracepoint, fd, event, &link);
	if (err == CLEW_OS && link == -EINVAL) /* a probe made through tracefs */
		err = link_to(d, d->probe, fd, event, &link);
	if (err == CLEW_OS && link == -EEXIST) /* another event of the same tracepoint */
		return CLEW_OK;
	return err ? not_linked(err, link, error) : CLEW_OK;
}

static bool requests_left(const struct defer_bpf *d)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);

	return d->left_fd >= 0 && !bpf_prog_test_run_opts(d->left_fd, &opts) && opts.retval;
}

enum clew_err defer_bpf_poll(struct defer_bpf *d, const struct defer_sink *sink)
{
	int n = 0;

	defer_set(d, CB_COPY_BYTES, COPY_BYTES);
	d->sink = sink;
	/* The reader stops at a record that another CPU is just writing, which may stand before
	 * whole ones. */
	for (int i = 0; i < MAX_ROUNDS && n >= 0; i++) {
		n = ring_buffer__consume(d->rings);
		if (!requests_left(d))
			break;
	}
	d->sink = NULL;
	return n < 0 ? CLEW_OS : CLEW_OK;
}

int defer_bpf_fd(const struct defer_bpf *d)
{
	return ring_buffer__epoll_fd(d->rings);
}

void defer_bpf_stop(struct defer_bpf *d)
{
	defer_set(d, CB_STOPPED, 1);
}

void defer_bpf_counts(struct defer_bpf *d, struct defer_counts *ret)
{
	int nr_cpus = libbpf_num_possible_cpus();
	clew_auto(mem_free_at) uint64_t *of_cpu = NULL;
	uint64_t sum[NR_CB_COUNTS] = {0};

	memset(ret, 0, sizeof(*ret));
	of_cpu = nr_cpus > 0 ? mem_calloc((size_t)nr_cpus, sizeof(*of_cpu)) : NULL;
	for (uint32_t i = 0; of_cpu && i < NR_CB_COUNTS; i++) {
		if (bpf_map_lookup_elem(d->counts_fd, &i, of_cpu))
			continue;
		for (int cpu = 0; cpu < nr_cpus; cpu++)
			sum[i] += of_cpu[cpu];
	}
	ret->nr_requests = sum[CB_REQUESTS];
	ret->nr_entries = sum[CB_ENTRIES];
	ret->nr_stacks = sum[CB_STACKS];
	ret->nr_refused = sum[CB_REFUSED];
	ret->nr_map_full = sum[CB_MAP_FULL];
	ret->nr_ring_full = sum[CB_RING_FULL];
	ret->nr_kernel_tasks = sum[CB_KERNEL_TASKS];
	ret->nr_tables = d->nr_tables;
	ret->table_bytes = d->table_bytes;
	ret->nr_evicted = d->nr_evicted;
}
