/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/mem.h"
#include "os/clock.h"
#include "os/poll_set.h"
#include "perfdata/sample_rewrite.h"
#include "record/stacks/user_stacks_impl.h"

enum {
	FLUSH_BYTES = 256 * 1024,
	MAX_BACKLOG = 256 << 20,
	SLEEP_MS = 10,
	BUSY_SLEEP_MS = 5,
};

#define HOLD_NS 10000000000ull /* rounds are held no longer than so */
#define WAIT_NS 100000000ull   /* for requests, in one pass */

/* --- requests, stacks and wants, as BPF brings them --- */

static void on_request(void *ctx, const struct defer_request *r)
{
	struct user_stacks *u = ctx;

	u->is_failed |= !defer_join_request(&u->join, r);
}

static void put_stack(struct user_stacks *u, struct buf *b, const struct defer_stack *s,
		      uint32_t nr)
{
	const struct perf_deferred_stack stack = {s->cookie, s->ips,  s->methods,
						  nr,        s->stop, s->why};
	const struct perf_sample_id id = {.time = s->time,
					  .id = u->tracker_id,
					  .stream_id = u->tracker_id,
					  .pid = s->pid,
					  .tid = s->tid,
					  .cpu = s->cpu};

	perf_deferred_put(b, &stack, &u->tracker->attr, &id);
}

static void write_stack(struct user_stacks *u, const struct defer_stack *s)
{
	uint32_t nr = s->nr < PERF_DEFERRED_MAX_FRAMES ? s->nr : PERF_DEFERRED_MAX_FRAMES;

	put_stack(u, &u->stacks, s, nr);
	u->counts.nr_stacks++;
	u->counts.nr_frames += nr;
	u->counts.by_stop[s->stop < NR_UNW_STOPS ? s->stop : UNW_STOP_NONE]++;
}

static void on_stack(void *ctx, const struct defer_stack *s)
{
	struct user_stacks *u = ctx;

	defer_join_stack(&u->join, s->tid, s->cookie);
	if (s->regs && table_worker_finish(u->worker, s))
		return;
	write_stack(u, s);
}

static void on_want(void *ctx, const struct defer_want *w)
{
	struct user_stacks *u = ctx;

	u->is_failed |= !table_worker_want(u->worker, w);
}

struct defer_sink user_stacks_sink(struct user_stacks *u)
{
	return (struct defer_sink){on_request, on_stack, on_want, u};
}

/* A process that ended before we came to it leaves the name of the file it had mapped. */
static bool ask_by_name(struct user_stacks *u, const struct table_result *r)
{
	const struct mapped_name *name =
		r->was_named ? NULL : mapped_names_find(&u->names, r->want.pid, r->want.start);

	return name && table_worker_want_named(u->worker, &r->want, name);
}

static void put_table(struct user_stacks *u, const struct table_result *r)
{
	enum clew_err err;

	if (!r->code) {
		if (!ask_by_name(u, r))
			defer_bpf_put_later(u->bpf, &r->want.key);
		return;
	}
	if (!r->code->table.head) {
		u->counts.nr_no_tables++;
		defer_bpf_put_none(u->bpf, &r->want.key);
		return;
	}
	err = defer_bpf_put_table(u->bpf, &r->want.key, r->code);
	u->counts.nr_tables += err == CLEW_OK;
	u->counts.nr_over_budget += err != CLEW_OK;
}

void user_stacks_take_ready(struct user_stacks *u)
{
	struct table_result r;

	while (table_worker_next(u->worker, &r)) {
		if (r.is_file) {
			live_space_set_code(u->copy.live, r.file, r.code);
		} else if (!r.stack) {
			put_table(u, &r);
		} else if (!vec_push(&u->finished, r.stack)) {
			held_stack_free(r.stack);
			u->is_failed = true;
		}
	}
}

/* The walk continued in maps that were read later than the stack: is the result doubtful because
 * they changed where it walked, or may have ended it? */
static bool has_changed(const struct user_stacks *u, const struct held_stack *h)
{
	const struct defer_stack *s = &h->stack;
	uint32_t first = h->nr_before - 1;

	if (s->stop != UNW_STOP_OUTERMOST && s->stop != UNW_STOP_MAX_DEPTH)
		return map_changes_any(&u->changes, s->pid, s->time);
	return map_changes_at(&u->changes, s->pid, s->time, s->ips + first, s->nr - first);
}

void user_stacks_take_results(struct user_stacks *u)
{
	if (u->bpf)
		defer_bpf_hold_tables(u->bpf);
	user_stacks_take_ready(u);
	if (u->bpf)
		u->counts.nr_over_budget += defer_bpf_release_tables(u->bpf) != CLEW_OK;
}

static void write_finished(struct user_stacks *u)
{
	vec_for_each (&u->finished, h) {
		struct defer_stack *s = &(*h)->stack;

		if (table_worker_again(u->worker, *h))
			continue;
		if (has_changed(u, *h)) {
			s->nr = (*h)->nr_before;
			s->stop = (*h)->stop_before;
			u->counts.nr_discarded++;
		}
		u->counts.nr_finished += s->stop != (*h)->stop_before;
		write_stack(u, s);
		held_stack_free(*h);
	}
	u->finished.nr = 0;
}

/* --- passes --- */

static void note_change(struct user_stacks *u, const struct ring_record *r)
{
	const struct perf_record record = ring_record_view(r);
	struct perf_mmap m;
	struct perf_comm c;

	if (r->header.type == PERF_RECORD_MMAP2)
		mapped_names_record(&u->names, &record);
	if (r->header.type == PERF_RECORD_MMAP2 || r->header.type == PERF_RECORD_COMM ||
	    r->header.type == PERF_RECORD_FORK || r->header.type == PERF_RECORD_EXIT)
		u->is_failed |= !table_worker_record(u->worker, &record);
	if (r->header.type == PERF_RECORD_COMM && perf_comm_parse(&record, &c) == CLEW_OK &&
	    c.is_exec)
		u->is_failed |= !map_changes_add(&u->changes, c.pid, r->time, 0, UINT64_MAX);
	else if (r->header.type == PERF_RECORD_MMAP2 && perf_mmap_parse(&record, &m) == CLEW_OK &&
		 !m.is_data)
		u->is_failed |=
			!map_changes_add(&u->changes, m.pid, r->time, m.start, m.start + m.len);
}

/* A request is made before its sample, but cannot be read while another CPU is writing an earlier
 * one, which lasts as long as a hypervisor holds that CPU. */
static void wait_for_request(struct user_stacks *u, uint32_t cpu, uint32_t event,
			     const struct perf_sample *s)
{
	uint64_t start = os_clock_ns(), waited = 0;
	struct os_poll nothing = {0};

	while (!defer_join_is_ready(&u->join, cpu, event, s->tid, s->time) &&
	       waited < u->wait_left_ns && defer_bpf_has_unread(u->bpf)) {
		if (waited)
			os_poll_wait(&nothing, 1);
		defer_bpf_poll(u->bpf, &u->sink);
		waited = os_clock_ns() - start;
	}
	u->wait_left_ns -= waited < u->wait_left_ns ? waited : u->wait_left_ns;
}

static void bpf_sample(struct user_stacks *u, const struct rec_counter *e,
		       const struct ring_record *r)
{
	const struct bytes body = {r->data + sizeof(r->header), r->data + r->header.size};
	uint64_t words[2] = {PERF_CONTEXT_USER_DEFERRED};
	const struct sample_edit edit = {.words = words, .nr_words = 2};
	struct perf_sample s;
	uint32_t cpu;

	if (perf_sample_parse(body, r->header.misc, false, &e->attr, &s) != CLEW_OK) {
		buf_add(&u->out, r->data, r->header.size);
		return;
	}
	cpu = r->cpu >= 0 ? (uint32_t)r->cpu : s.cpu;
	wait_for_request(u, cpu, r->event, &s);
	words[1] = defer_join_sample(&u->join, cpu, r->event, s.tid, s.time);
	sample_rewrite(&u->out, r->data, r->header.size, &e->attr, &s, &edit);
}

static void sideband(struct user_stacks *u, const struct ring_record *r)
{
	if (u->copy.live)
		copy_stacks_sideband(&u->copy, r);
	if (u->bpf)
		note_change(u, r);
	if (u->bpf && r->header.type == PERF_RECORD_LOST) {
		if (r->cpu >= 0)
			defer_join_lost_samples(&u->join, (uint32_t)r->cpu);
		else
			for (uint32_t cpu = 0; cpu < u->join.nr_cpus; cpu++)
				defer_join_lost_samples(&u->join, cpu);
	}
	buf_add(&u->out, r->data, r->header.size);
}

/* --- copies that wait for a table --- */

/* @return false: it has to wait. */
static bool copy_sample(struct user_stacks *u, const struct ring_record *r, bool is_last_call)
{
	const struct rec_counter *e = &u->counters->list.data[r->event];
	struct defer_stack stack;

	if (!copy_stacks_sample(&u->copy, e, r, is_last_call, &u->out, &stack))
		return false;
	if (stack.cookie)
		put_stack(u, &u->out, &stack, stack.nr);
	return true;
}

struct waiting {
	uint64_t time;
	uint32_t event;
	int32_t cpu;
}; /* and the record */

static bool has_backlog(const struct user_stacks *u)
{
	return u->backlog_at < u->backlog.nr;
}

static void put_off(struct user_stacks *u, const struct ring_record *r)
{
	const struct waiting w = {r->time, r->event, r->cpu};

	buf_add(&u->backlog, &w, sizeof(w));
	buf_add(&u->backlog, r->data, r->header.size);
	u->is_failed |= u->backlog.is_failed;
}

/* What came meanwhile comes after it: maps change in the order of their time. */
static void play_backlog(struct user_stacks *u)
{
	bool is_last_call = u->is_last_call || u->backlog.nr - u->backlog_at > MAX_BACKLOG;

	while (has_backlog(u)) {
		const uint8_t *at = (const uint8_t *)u->backlog.data + u->backlog_at;
		struct ring_record r = {.data = at + sizeof(struct waiting)};
		struct waiting w;

		memcpy(&w, at, sizeof(w));
		memcpy(&r.header, r.data, sizeof(r.header));
		r.time = w.time;
		r.event = w.event;
		r.cpu = w.cpu;
		if (r.header.type != PERF_RECORD_SAMPLE)
			sideband(u, &r);
		else if (!copy_sample(u, &r, is_last_call))
			return;
		u->backlog_at += sizeof(w) + r.header.size;
	}
	buf_done(&u->backlog);
	u->backlog = (struct buf){0};
	u->backlog_at = 0;
}

static void one_record(struct user_stacks *u, const struct ring_record *r)
{
	const struct rec_counter *e = &u->counters->list.data[r->event];

	if (r->header.type != PERF_RECORD_SAMPLE) {
		if (has_backlog(u))
			put_off(u, r);
		else
			sideband(u, r);
	} else if (e->stacks == REC_STACKS_COPY) {
		if (has_backlog(u) || !copy_sample(u, r, false))
			put_off(u, r);
	} else if (rec_stacks_is_bpf(e->stacks)) {
		bpf_sample(u, e, r);
	} else {
		buf_add(&u->out, r->data, r->header.size);
	}
}

static enum clew_err flush(struct buf *b, struct rec_pass *p)
{
	enum clew_err err = b->is_failed ? CLEW_NO_MEMORY : CLEW_OK;

	if (err == CLEW_OK && b->nr) {
		p->has_any = true;
		err = perf_writer_records(p->file->writer, b->data, b->nr);
	}
	buf_clear(b);
	return err;
}

/* Requests before their samples: the rings' heads are noted before BPF is asked. */
static enum clew_err poll_bpf(struct user_stacks *u)
{
	uint64_t nr_ring_full;
	enum clew_err err;

	err = defer_bpf_poll(u->bpf, &u->sink);
	if (err != CLEW_OK)
		return err;
	nr_ring_full = defer_bpf_nr_ring_full(u->bpf);
	/* Samples of the next pass may still be theirs. */
	if (nr_ring_full != u->nr_ring_full)
		u->nr_suspect_passes = 2;
	defer_join_lost_requests(&u->join, u->nr_suspect_passes ? UINT64_MAX : 0);
	u->wait_left_ns = u->nr_suspect_passes ? 0 : WAIT_NS;
	u->nr_suspect_passes -= u->nr_suspect_passes > 0;
	u->nr_ring_full = nr_ring_full;
	return u->is_failed ? CLEW_NO_MEMORY : CLEW_OK;
}

/* Requests and stacks first, then the samples. */
static enum clew_err pass(void *ctx, struct rec_pass *p)
{
	struct user_stacks *u = ctx;
	enum clew_err err = CLEW_OK, next;
	struct ring_record r;

	/* Taken before the heads are noted: what changed until the worker looked is in this pass.
	 */
	user_stacks_take_results(u);
	if (!ring_merge_note(&u->merge, u->counters))
		return CLEW_NO_MEMORY;
	if (u->bpf)
		err = poll_bpf(u);
	play_backlog(u);
	vec_for_each (&u->merge.spans, s)
		p->count(p->ctx, &s->ring->aux_seen,
			 s->part); /* what must be mended is, by the merge */
	while (err == CLEW_OK && (next = ring_merge_next(&u->merge, &r)) != CLEW_END) {
		err = next;
		if (err == CLEW_OK)
			one_record(u, &r);
		if (err == CLEW_OK && u->out.nr >= FLUSH_BYTES)
			err = flush(&u->out, p);
	}
	if (err == CLEW_OK)
		err = flush(&u->out, p);
	if (err == CLEW_OK && u->is_failed)
		err = CLEW_NO_MEMORY;
	if (err != CLEW_OK || !u->bpf)
		return err;
	write_finished(u);
	user_stacks_settle(u);
	defer_join_end_pass(&u->join);
	return u->is_failed ? CLEW_NO_MEMORY : flush(&u->out, p);
}

/* Not while stacks of this round are still being worked on. */
static bool may_end_round(void *ctx)
{
	struct user_stacks *u = ctx;
	uint64_t now = os_clock_ns();

	if (has_backlog(u))
		return false; /* bounded by its size */
	if (!table_worker_nr_stacks(u->worker))
		u->held_since_ns = 0;
	else if (!u->held_since_ns)
		u->held_since_ns = now;
	if (u->held_since_ns && now - u->held_since_ns < HOLD_NS)
		return false;
	u->held_since_ns = 0;
	/* A stack may come a pass later than the record of a change that was made while it was
	 * walked. */
	if (!table_worker_nr_stacks(u->worker))
		map_changes_age(&u->changes);
	return true;
}

static int sleep_ms(const void *ctx)
{
	const struct user_stacks *u = ctx;

	if (!u->bpf && !has_backlog(u))
		return -1;
	return table_worker_nr_pending(u->worker) ? BUSY_SLEEP_MS : SLEEP_MS;
}

/* --- the end --- */

static void stop(void *ctx)
{
	struct user_stacks *u = ctx;

	if (u->bpf)
		defer_bpf_stop(u->bpf);
}

static enum rec_pending pending(const void *ctx)
{
	const struct user_stacks *u = ctx;

	if (has_backlog(u) || table_worker_nr_stacks(u->worker))
		return REC_PENDING_OWN;
	return u->bpf && defer_join_nr_waiting(&u->join) ? REC_PENDING_OTHERS : REC_PENDING_NONE;
}

/* For tasks that sleep in the kernel. */
static void last_call(void *ctx)
{
	struct user_stacks *u = ctx;

	u->is_last_call = true;
	if (u->bpf && defer_join_nr_waiting(&u->join))
		u->nr_left = defer_bpf_finish(u->bpf, &u->sink);
}

void user_stacks_done(struct user_stacks *u)
{
	vec_for_each (&u->finished, h)
		held_stack_free(*h);
	vec_done(&u->finished);
	defer_bpf_free(u->bpf);
	defer_join_done(&u->join);
	map_changes_done(&u->changes);
	mapped_names_done(&u->names);
	copy_stacks_done(&u->copy);
	table_worker_free(u->worker); /* tables live as long */
	buf_done(&u->backlog);
	ring_merge_done(&u->merge);
	buf_done(&u->out);
	buf_done(&u->stacks);
	buf_done(&u->unasked);
	map_u64_done(&u->newest);
	buf_done(&u->spare);
	*u = (struct user_stacks){0};
}

static bool watch(void *ctx, struct os_poll *p)
{
	struct user_stacks *u = ctx;

	return !u->bpf || os_poll_add(p, defer_bpf_fd(u->bpf)) >= 0;
}

static void done(void *ctx)
{
	user_stacks_done(ctx);
	mem_free(ctx);
}

const struct rec_source_ops user_stacks_ops = {
	.prepare = user_stacks_prepare,
	.watch = watch,
	.sleep_ms = sleep_ms,
	.pass = pass,
	.may_end_round = may_end_round,
	.stop = stop,
	.pending = pending,
	.last_call = last_call,
	.report = user_stacks_report,
	.done = done,
};
