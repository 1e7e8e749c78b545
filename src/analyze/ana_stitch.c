/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "analyze/ana_stitch.h"

#include <string.h>

#include "analyze/ana_read.h"
#include "base/mem.h"
#include "perfdata/perf_deferred.h"

/* Records of a recording into the stitch, whoever asks it then. */
enum { MIN_BUDGET = 64 << 20, MAX_BUDGET = 1 << 30 };

bool ana_find_mark(const struct perf_words *chain, uint32_t *ret)
{
	for (uint32_t i = 0; i < chain->nr; i++) {
		if (perf_words_get(chain, i) == PERF_CONTEXT_USER_DEFERRED) {
			*ret = i;
			return true;
		}
	}
	return false;
}

static void drop_stack(void *ctx, const struct stitch_stack *stack)
{
	(void)ctx;
	mem_free((void *)(uintptr_t)stack->record);
}

struct stitch *ana_stitch_new(const struct perf_input *input, uint64_t age_ns)
{
	struct stitch_opts opts = {.drop = drop_stack, .age_ns = age_ns};

	/* What is remembered of a sample and its stack is less than half of their records. */
	opts.budget_bytes = input->size / 2;
	if (opts.budget_bytes < MIN_BUDGET)
		opts.budget_bytes = MIN_BUDGET;
	if (opts.budget_bytes > MAX_BUDGET)
		opts.budget_bytes = MAX_BUDGET;
	opts.budget_bytes = budget_part(input->budget, opts.budget_bytes);
	return stitch_new(&opts);
}

/* Without the task's number in the records, the cookie alone has to do: as if each were a task. */
static uint32_t task_of(uint32_t tid, uint64_t cookie)
{
	return tid == UINT32_MAX ? (uint32_t)(cookie ^ cookie >> 32) : tid;
}

/* A sample that waits for a stack: which? */
bool ana_stitch_key(struct perf_file *file, const struct perf_record *r, uint32_t *ret_tid,
		    uint64_t *ret_cookie)
{
	const struct perf_evsel *evsel = perf_evlist_of_record(perf_file_evlist(file), r->type,
							       perf_record_body(r), r->swap);
	struct perf_sample s;
	uint32_t at;

	if (!evsel ||
	    perf_sample_parse(perf_record_body(r), r->misc, r->swap, &evsel->attr, &s) != CLEW_OK ||
	    !ana_find_mark(&s.callchain, &at) || at + 1 >= s.callchain.nr)
		return false;
	*ret_cookie = perf_words_get(&s.callchain, at + 1);
	*ret_tid = task_of(evsel->attr.flags & PERF_ATTR_SAMPLE_ID_ALL ? s.tid : UINT32_MAX,
			   *ret_cookie);
	return !perf_cookie_is_none(*ret_cookie);
}

/* A stack in the mapped file stays there; else it is copied, without the block it stands in. */
static bool keep_ips(const struct perf_record *r, struct stitch_stack *stack)
{
	size_t ip_bytes = 8 * (size_t)stack->nr;
	size_t method_bytes = stack->methods ? ((size_t)stack->nr + 1) / 2 : 0;
	uint8_t *copy;

	if (!r->block || !ip_bytes)
		return true;
	copy = mem_alloc(ip_bytes + method_bytes);
	if (!copy)
		return false;
	memcpy(copy, stack->ips, ip_bytes);
	stack->ips = copy;
	if (method_bytes) {
		memcpy(copy + ip_bytes, stack->methods, method_bytes);
		stack->methods = copy + ip_bytes;
	}
	stack->record = copy;
	stack->bytes = ip_bytes + method_bytes;
	return true;
}

bool ana_stack_of_record(struct perf_file *file, const struct perf_record *r,
			 struct stitch_stack *ret, uint32_t *ret_tid, uint64_t *ret_cookie)
{
	const struct perf_evsel *evsel = perf_evlist_of_record(perf_file_evlist(file), r->type,
							       perf_record_body(r), r->swap);
	struct perf_sample_id id = {.tid = UINT32_MAX};
	struct perf_deferred_trailer trailer;
	struct perf_callchain_deferred c;

	if (!evsel || perf_callchain_deferred_parse(r, &c) != CLEW_OK ||
	    perf_sample_id_parse(perf_record_body(r), r->swap, &evsel->attr, &id) != CLEW_OK)
		return false;
	*ret = (struct stitch_stack){
		.ips = c.ips, .nr = (uint32_t)c.nr, .is_own = c.cookie & PERF_COOKIE_OWN};
	if (perf_deferred_trailer(r, id.size_bytes, &trailer)) {
		ret->stop = trailer.stop;
		ret->why = trailer.why;
		ret->method = trailer.method;
		ret->methods = trailer.methods;
	}
	*ret_tid = id.tid;
	*ret_cookie = c.cookie;
	return true;
}

static enum clew_err take_stack(struct stitch *stitch, struct perf_file *file,
				const struct perf_record *r, struct clew_perf_ns time)
{
	struct stitch_stack stack;
	uint64_t cookie;
	uint32_t tid;
	enum clew_err err;

	if (!ana_stack_of_record(file, r, &stack, &tid, &cookie))
		return CLEW_OK; /* counted where it is played */
	if (!keep_ips(r, &stack))
		return CLEW_NO_MEMORY;
	err = stitch_stack_record(stitch, task_of(tid, cookie), cookie, ana_time_or_first(time),
				  &stack);
	if (err != CLEW_OK)
		mem_free((void *)(uintptr_t)stack.record);
	return err;
}

/* What ends a task's entry. */
static void take_task(struct stitch *stitch, const struct perf_record *r)
{
	struct perf_comm comm;
	struct perf_task task;
	struct perf_lost lost;

	switch (r->type) {
	case PERF_RECORD_COMM:
		if (perf_comm_parse(r, &comm) == CLEW_OK && comm.is_exec)
			stitch_task_exec(stitch, comm.tid);
		break;
	case PERF_RECORD_FORK:
		if (perf_task_parse(r, &task) == CLEW_OK && !task.is_recorders)
			stitch_task_fork(stitch, task.tid);
		break;
	case PERF_RECORD_EXIT:
		if (perf_task_parse(r, &task) == CLEW_OK)
			stitch_task_exit(stitch, task.tid);
		break;
	case PERF_RECORD_LOST:
	case PERF_RECORD_LOST_SAMPLES:
		if (perf_lost_parse(r, &lost) == CLEW_OK && lost.lost && !lost.is_bpf_filtered)
			stitch_lost(stitch);
		break;
	default:
		break;
	}
}

enum clew_err ana_stitch_record(struct stitch *stitch, struct perf_file *file,
				const struct perf_record *r, struct clew_perf_ns time)
{
	if (r->type == PERF_RECORD_CALLCHAIN_DEFERRED)
		return take_stack(stitch, file, r, time);
	take_task(stitch, r);
	return CLEW_OK;
}
