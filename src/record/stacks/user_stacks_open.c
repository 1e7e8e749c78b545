/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/pid_view.h"
#include "os/poll_set.h"
#include "os/proc.h"
#include "record/stacks/tables/preload.h"
#include "record/stacks/user_stacks_impl.h"

#define PRELOAD_NS 5000000000ull

/* --- opening --- */

static bool find_tracker(struct user_stacks *u)
{
	vec_for_each (&u->counters->list, e)
		if (e->is_tracking)
			u->tracker = e;
	if (!u->tracker)
		u->tracker = u->counters->list.data;
	for (size_t i = 0; i < u->counters->nr_places && !u->tracker_id; i++)
		if (u->tracker->fds[i] >= 0)
			u->tracker_id = u->tracker->ids[i];
	return u->tracker;
}

static enum defer_source source_of(const struct rec_counter *e)
{
	if (e->event && e->event->probe_path)
		return DEFER_UPROBE;
	return e->event && e->event->pmu && !strcmp(e->event->pmu, "kprobe") ? DEFER_KPROBE
									     : DEFER_COUNTER;
}

static enum clew_err attach_all(struct user_stacks *u, const struct rec_counter *e, uint32_t event,
				enum defer_source source, struct rec_error *error)
{
	enum clew_err err = CLEW_OK;

	for (size_t place = 0; place < u->counters->nr_places && err == CLEW_OK; place++)
		if (e->fds[place] >= 0)
			err = defer_bpf_attach(u->bpf, e->fds[place], event, source, error);
	return err;
}

/* Tracepoints and probes run their programs before the sample is made: it has another time. */
static enum clew_err attach_one(struct user_stacks *u, const struct rec_counter *e, uint32_t event,
				struct rec_error *error)
{
	uint64_t tracepoint = rec_counter_tracepoint(e);
	enum defer_source source = source_of(e);
	enum clew_err err;

	if (tracepoint)
		err = defer_bpf_attach_tracepoint(u->bpf, tracepoint, event, &source, error);
	else
		err = attach_all(u, e, event, source, error);
	if (source == DEFER_UPROBE)
		defer_join_by_task(&u->join, event);
	/* From 6.3 on a sample is made up before its BPF program runs, which has its time. */
	else if (source == DEFER_COUNTER && !tracepoint && os_kernel_is_from(6, 3))
		defer_join_demand_equal(&u->join, event);
	return err;
}

static enum clew_err attach(struct user_stacks *u, struct rec_error *error)
{
	enum clew_err err = CLEW_OK;

	for (uint32_t i = 0; i < u->counters->list.nr && err == CLEW_OK; i++) {
		const struct rec_counter *e = &u->counters->list.data[i];

		if (rec_stacks_is_bpf(e->stacks))
			err = attach_one(u, e, i, error);
	}
	return err;
}

static enum clew_err open_bpf(struct user_stacks *u, uint32_t nr_cpus, struct rec_error *error)
{
	u->sink = user_stacks_sink(u);
	if (!find_tracker(u) || !defer_join_init(&u->join, nr_cpus, (uint32_t)u->counters->list.nr))
		return rec_fail_memory(error);
	return attach(u, error);
}

static bool ask_for_file(void *ctx, uint32_t file, const struct live_mapping *m)
{
	struct user_stacks *u = ctx;

	return table_worker_file(u->worker, file, m);
}

static enum clew_err open_copy(struct user_stacks *u, struct rec_error *error)
{
	const struct rec_options *o = u->options;

	if (!find_tracker(u) || !copy_stacks_init(&u->copy, rec_stack_plan_frames(&o->stacks)))
		return rec_fail_memory(error);
	live_space_set_ask(u->copy.live, ask_for_file, u);
	return CLEW_OK;
}

static enum clew_err open_all(struct user_stacks *u, bool has_copy, struct rec_error *error)
{
	enum clew_err err = CLEW_OK;

	u->worker = table_worker_new(u->options->cache_dir, PERF_DEFERRED_MAX_FRAMES);
	if (!u->worker || !ring_merge_init(&u->merge, u->counters))
		return rec_fail_memory(error);
	if (u->bpf)
		err = open_bpf(u, rec_nr_possible_cpus(), error);
	if (err == CLEW_OK && has_copy)
		err = open_copy(u, error);
	return err;
}

enum clew_err user_stacks_open(struct rec_source *ret, struct rec_counters *c,
			       const struct rec_options *o, struct rec_stack_choice *choice,
			       struct rec_error *error)
{
	struct defer_bpf *bpf = clew_take(choice->bpf);
	bool has_copy = false, is_rewritten = false;
	struct user_stacks *u;
	enum clew_err err;

	*ret = (struct rec_source){0};
	vec_for_each (&c->list, e) {
		has_copy |= e->stacks == REC_STACKS_COPY;
		is_rewritten |= rec_stacks_is_rewritten(e->stacks);
	}
	u = is_rewritten ? mem_alloc(sizeof(*u)) : NULL;
	if (!u) { /* each event has a kind of its own */
		defer_bpf_free(bpf);
		return is_rewritten ? rec_fail_memory(error) : CLEW_OK;
	}
	*u = (struct user_stacks){.options = o, .ui = choice->ui, .counters = c, .bpf = bpf};
	*ret = (struct rec_source){&user_stacks_ops, u, .owns_rings = true};
	err = open_all(u, has_copy, error);
	if (err == CLEW_OK)
		return CLEW_OK;
	ret->ops->done(u);
	*ret = (struct rec_source){0};
	return err;
}

/* --- before the start --- */

static void wait_for_tables(struct user_stacks *u)
{
	uint64_t until = os_clock_ns() + PRELOAD_NS;
	struct os_poll none = {0};
	size_t all = table_worker_nr_pending(u->worker), nr;

	if (u->bpf)
		defer_bpf_hold_tables(u->bpf);
	progress_begin_count(u->ui->steps, "reading unwind tables", all);
	while ((nr = table_worker_nr_pending(u->worker)) && os_clock_ns() < until) {
		os_poll_wait(&none, 1);
		user_stacks_take_ready(u);
		progress_at(u->ui->steps, nr < all ? all - nr : 0);
	}
	user_stacks_take_results(u);
}

/* BPF knows files by what the kernel knows of them: mapped here, they become wants as any other. */
static void preload_files(struct user_stacks *u, const struct rec_paths *paths)
{
	struct {
		VEC(struct os_map);
	} maps = {0};
	int self = os_pid();

	for (size_t i = 0; i < paths->nr; i++) {
		struct os_map m;

		if (u->copy.live)
			table_worker_warm(u->worker, paths->data[i]);
		if (u->bpf && os_map_file_executable(paths->data[i], &m, NULL) == CLEW_OK &&
		    !vec_push(&maps, m))
			os_map_done(&m);
	}
	if (u->bpf && maps.nr)
		defer_bpf_scan(u->bpf, &self, 1, &u->sink);
	wait_for_tables(u); /* they are opened through our mappings */
	vec_for_each (&maps, m)
		os_map_done(m);
	vec_done(&maps);
}

/* Compiling while samples come would let the rings run over. */
static void preload_processes(struct user_stacks *u, const struct rec_target *target)
{
	uint64_t until = os_clock_ns() + PRELOAD_NS;
	struct os_pid_view view;
	struct os_dir *d;
	int pid;

	vec_for_each (&target->pids, p)
		live_space_preload(u->copy.live, (uint32_t)*p);
	os_pid_view_read(&view);
	if (!target->is_system_wide || !view.is_own)
		return;
	d = os_dir_open("/proc", NULL);
	while (d && os_clock_ns() < until && (pid = os_dir_next_number(d)) >= 0)
		live_space_preload(u->copy.live, (uint32_t)pid);
	os_dir_close(d);
}

/* Tables of the command's binary and of what that is linked to, or of what the watched processes
 * have mapped. */
void user_stacks_prepare(void *ctx)
{
	struct user_stacks *u = ctx;
	const struct rec_target *target = u->counters->target;
	const struct rec_options *o = u->options;
	struct rec_paths paths = {0};
	struct arena memory = {0};
	char program[4096];

	progress_begin(u->ui->steps, "reading unwind tables", 0);
	if (o->argv && rec_find_program(o->argv[0], o->search_path, program, sizeof(program)))
		rec_preload_list(program, &memory, &paths);
	/* Where a probe is hit, and mostly who calls there. */
	vec_for_each (&u->counters->list, e) {
		if (e->event && e->event->probe_path)
			rec_preload_list(e->event->probe_path, &memory, &paths);
	}
	if (paths.nr)
		preload_files(u, &paths);
	if (u->bpf && (target->is_system_wide || target->is_attached))
		defer_bpf_scan(u->bpf, target->is_system_wide ? NULL : target->pids.data,
			       target->is_system_wide ? 0 : target->pids.nr, &u->sink);
	if (u->copy.live)
		preload_processes(u, target);
	wait_for_tables(u);
	vec_done(&paths);
	arena_done(&memory);
}
