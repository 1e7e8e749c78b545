/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "analyze/ana_deliver.h"

#include "analyze/ana_defer.h"
#include "analyze/ana_filter.h"
#include "analyze/ana_guest.h"
#include "analyze/ana_lbr.h"
#include "analyze/ana_own_ids.h"
#include "analyze/ana_queue.h"
#include "analyze/ana_resolve.h"
#include "analyze/ana_stack.h"
#include "analyze/ana_stitch.h"
#include "analyze/ana_user_part.h"
#include "analyze/analyze_impl.h"
#include "perfdata/perf_deferred.h"

static enum clew_err count_unresolved(struct analyze *a, const struct ana_loc *loc)
{
	uint64_t key, *nr;

	if (!loc || loc->sym || a->opts.no_symbols)
		return CLEW_OK;
	key = loc->dso ? (uint64_t)dso_id(loc->dso) + 1 : 0;
	nr = map_u64_get(&a->unresolved_by_dso, key);
	if (nr) {
		++*nr;
		return CLEW_OK;
	}
	return map_u64_put(&a->unresolved_by_dso, key, 1) ? CLEW_OK : CLEW_NO_MEMORY;
}

/* Records give the level of the sampled address only. Other addresses: the upper half is the
 * kernel's. */
static enum ana_level level_of_address(uint64_t addr, enum ana_level sampled)
{
	if (sampled == ANA_GUEST_KERNEL || sampled == ANA_GUEST_USER)
		return addr >> 63 ? ANA_GUEST_KERNEL : ANA_GUEST_USER;
	if (addr >> 63)
		return ANA_KERNEL;
	return sampled == ANA_KERNEL ? ANA_USER : sampled;
}

static enum clew_err resolve_branches(struct analyze *a, struct who_thread *t, struct ana_event *e,
				      enum ana_level level)
{
	const struct perf_sample *s = e->sample;
	const struct ana_loc **locs = ana_queue_alloc(a->queue, s->branches.nr * 2 * sizeof(*locs));

	if (!locs)
		return CLEW_NO_MEMORY;
	for (uint64_t i = 0; i < s->branches.nr; i++) {
		struct perf_branch br = perf_branch_get(s, i);
		enum ana_level from = level_of_address(br.from, level);

		locs[2 * i] = ana_resolve(a, t, from, br.from);
		if (a->opts.source_of && locs[2 * i] && !locs[2 * i]->source)
			locs[2 * i] = ana_resolve_source(a, t, from, br.from);
		locs[2 * i + 1] = ana_resolve(a, t, level_of_address(br.to, level), br.to);
		if (!locs[2 * i] || !locs[2 * i + 1])
			return CLEW_NO_MEMORY;
	}
	e->branches = locs;
	return CLEW_OK;
}

static bool wants_user_state(const struct analyze *a)
{
	return a->opts.wants_outcomes || a->defer.mode != ANA_DEFER_OFF || a->infos;
}

static void put_user_state(struct analyze *a, struct ana_event *e, const struct ana_user *u)
{
	e->has_user_state = true;
	e->user_state = (uint8_t)ana_user_state(u);
	e->user_reason = (uint8_t)u->reason;
	e->user_stop = u->stop;
	e->user_why = u->why;
	ana_user_count(&a->summary.users, u);
}

/* perf looks callers up where their calls return to, but for stacks that were unwound. */
static uint8_t callers_of(const struct analyze *a, const struct ana_user *user,
			  enum ana_level level)
{
	bool is_unwound =
		user && (user->is_merged ? user->nr_frames : user->stack && !a->opts.no_merge);

	if (a->opts.is_as_perf)
		return is_unwound ? ANA_CALLERS_USER : 0;
	return ANA_CALLERS_USER | ANA_CALLERS_OTHER |
	       (level == ANA_KERNEL ? ANA_CALLERS_ENTERED : 0);
}

/* Everything the consumer asked to be looked up. @p user: of a deferred stack, or NULL. */
static enum clew_err resolve(struct analyze *a, struct who_thread *t, struct ana_event *e,
			     const struct ana_user *user)
{
	const struct perf_sample *s = e->sample;
	enum ana_level level = ana_level_of_misc(s->misc);
	struct perf_words words = s->callchain;
	const uint8_t *methods = NULL;
	struct ana_user plain;
	enum clew_err err = CLEW_OK;
	uint8_t callers = callers_of(a, user, level);
	uint32_t nr = 0;

	if (s->sample_type & PERF_SAMPLE_IP) {
		e->loc = ana_resolve(a, t, level, s->ip);
		if (!e->loc)
			return CLEW_NO_MEMORY;
		err = count_unresolved(a, e->loc);
	}
	if (err == CLEW_OK && ana_has_stack(s) && (!a->opts.no_chains || a->opts.wants_outcomes))
		err = ana_unwind(a, t, e, &words, &methods, &nr);
	else if (err == CLEW_OK && ana_has_lbr(e) && !a->opts.no_chains) {
		err = ana_lbr_words(a, t, e, &words);
		callers &= (uint8_t)~ANA_CALLERS_USER; /* the user's are calls themselves */
	}
	if (err == CLEW_OK && words.nr && !a->opts.no_chains)
		err = ana_resolve_chain(a, t, &words, callers, &e->chain);
	if (err == CLEW_OK && wants_user_state(a)) {
		if (!user) {
			plain = ana_user_of_plain(t, e, &words, methods, nr);
			user = &plain;
		}
		put_user_state(a, e, user);
		if (a->opts.wants_hows && e->chain && !(user->stack && a->opts.no_merge))
			err = ana_user_hows(a, user, &words, e);
	}
	if (err == CLEW_OK && a->opts.wants_addr && s->sample_type & PERF_SAMPLE_ADDR) {
		e->addr = ana_resolve(a, t, level_of_address(s->addr, level), s->addr);
		err = e->addr ? CLEW_OK : CLEW_NO_MEMORY;
	}
	if (err == CLEW_OK && a->opts.wants_branches && s->branches.nr)
		err = resolve_branches(a, t, e, level);
	return err;
}

static const char *cgroup_of(const struct analyze *a, const struct perf_sample *s)
{
	uint64_t *path =
		s->sample_type & PERF_SAMPLE_CGROUP ? map_u64_get(&a->cgroups, s->cgroup) : NULL;

	return path ? (const char *)(uintptr_t)*path : NULL;
}

/* A sample without a thread of the recorder's namespace. */
static void put_answer(const struct analyze *a, struct ana_event *e, struct perf_sample *own)
{
	e->who = ana_answer_of_sample(perf_file_who_facts(a->file), own, e->loc);
	if (!e->who)
		return;
	e->comm = ana_name_of_kind(e->who->kind);
	own->pid = own->tid = e->pid = e->tid = UINT32_MAX;
}

/* A guest's own record, which has the id of an event of its own. */
static void set_machine(const struct analyze *a, struct ana_event *e, uint64_t event)
{
	struct who_vcpu v = who_guests_vcpu_of(who_guests(a->who), event);

	e->machine = v.machine;
	e->vcpu = v.vcpu;
}

/* What is resolved next is of @p t, at that time (none: unknown). */
static inline void resolve_at(struct analyze *a, struct who_thread *t, struct clew_perf_ns time)
{
	const struct who_space *s = t->space;

	a->now = time;
	if (__builtin_expect(time.ns - s->code_from.ns >= s->code_to.ns - s->code_from.ns, 0) &&
	    clew_perf_ns_is_known(time))
		ana_resolve_other_code(a, t, time);
}

/* One sample as the consumer gets it. @p s is complete but for what is looked up. */
static enum clew_err deliver_sample(struct analyze *a, const struct perf_record *r,
				    const struct perf_evsel *evsel, const struct perf_sample *s,
				    const struct ana_user *user)
{
	uint32_t machine = who_guests_machine(who_guests(a->who), s->id);
	struct who_thread *t = ana_thread_get(a, machine, s->pid, s->tid);
	struct perf_sample *own;
	struct ana_event *e;
	enum clew_err err;

	if (!t)
		return CLEW_NO_MEMORY;
	if (!ana_filter_keeps(&a->filter, s, t)) {
		a->summary.nr_filtered++;
		return CLEW_OK;
	}
	if (ana_cache_is_full(a)) {
		err = ana_queue_wait(a->queue);
		if (err != CLEW_OK)
			return err;
		ana_cache_reset(&a->cache);
		ana_queue_set_epoch(a->queue, a->cache.epoch);
	}
	if (ana_level_of_misc(s->misc) == ANA_USER)
		who_space_settle(a->who, t->space);
	e = ana_queue_add(a->queue, &own);
	if (!e)
		return ana_queue_wait(a->queue);
	*own = *s;
	e->record = *r;
	perf_block_hold(r->block);
	e->evsel = evsel;
	e->sample = own;
	e->time = (struct clew_perf_ns){s->time};
	e->period = s->period;
	/* One that stands for others has no number, one of a guest another. */
	e->pid = t->pid == UINT32_MAX || machine ? s->pid : t->pid;
	e->tid = t->tid == UINT32_MAX || machine ? s->tid : t->tid;
	e->cpu = s->cpu;
	e->comm = t->comm;
	e->cgroup = machine ? NULL : cgroup_of(a, s);
	if (machine)
		set_machine(a, e, s->id);
	resolve_at(a, t, s->sample_type & PERF_SAMPLE_TIME ? e->time : clew_perf_ns_none());
	a->summary.nr_samples++;
	ana_note_time(&a->summary.first_time, &a->summary.last_time, e->time);
	if (user->has_mark && !a->opts.no_merge && !a->opts.no_chains) {
		err = ana_user_merge(a, user, &own->callchain);
		if (err != CLEW_OK)
			return err;
	}
	err = resolve(a, t, e, user->has_mark || user->is_merged ? user : NULL);
	if (!machine)
		put_answer(a, e, own);
	if (err == CLEW_OK && a->opts.wants_who)
		err = ana_ask_sample(a, s, t, machine, e);
	return err;
}

/* A group's leader was sampled: one event each member, with what it counted since the last time. */
static enum clew_err deliver_values(struct analyze *a, const struct perf_record *r,
				    struct perf_sample *s, const struct ana_user *user)
{
	for (uint64_t i = 0; i < s->read.nr; i++) {
		struct perf_read_value v = perf_read_get(&s->read, i);
		const struct perf_evsel *evsel = perf_evlist_by_id(perf_file_evlist(a->file), v.id);
		uint64_t *last = map_u64_get(&a->counters, v.id);
		enum clew_err err;

		if (!evsel)
			continue;
		s->id = v.id;
		s->period = v.value - (last ? *last : 0);
		if (!map_u64_put(&a->counters, v.id, v.value))
			return CLEW_NO_MEMORY;
		if (!s->period)
			continue;
		err = deliver_sample(a, r, evsel, s, user);
		if (err != CLEW_OK)
			return err;
	}
	return CLEW_OK;
}

void ana_note_bad(struct analyze *a, const struct perf_record *r)
{
	if (!a->summary.nr_bad++)
		a->summary.first_bad_offset = r->offset;
}

/* Where the kernel puts it; a recording that no event announces as deferred is looked at no closer.
 */
static bool ends_with_mark(const struct perf_words *chain)
{
	return chain->nr >= 2 && perf_words_get(chain, chain->nr - 2) == PERF_CONTEXT_USER_DEFERRED;
}

/* The outcome of a user part that was deferred. */
static enum clew_err find_user(struct analyze *a, const struct perf_record *r,
			       const struct perf_sample *s, const struct stitch_item *item,
			       struct ana_user *ret)
{
	uint64_t word;

	*ret = (struct ana_user){0};
	if (a->infos && ana_user_of_info(a->infos, ret))
		return CLEW_OK;
	if (a->defer.mode == ANA_DEFER_OFF || !ana_find_mark(&s->callchain, &ret->mark_at))
		return CLEW_OK;
	ret->has_mark = true;
	word = ret->mark_at + 1 < s->callchain.nr ? perf_words_get(&s->callchain, ret->mark_at + 1)
						  : perf_no_stack_cookie(PERF_NO_STACK_NONE);
	if (perf_cookie_is_none(word)) {
		ana_user_of_no_cookie(word, ret);
		return CLEW_OK;
	}
	if (!item)
		return ana_defer_ask(a, r, ret);
	ana_user_take(item, ret);
	return CLEW_OK;
}

enum clew_err ana_deliver_sample(struct analyze *a, const struct perf_record *r,
				 const struct stitch_item *item)
{
	const struct perf_evsel *evsel = perf_evlist_of_record(perf_file_evlist(a->file), r->type,
							       perf_record_body(r), r->swap);
	struct ana_user user;
	struct perf_sample s;
	enum clew_err err;

	if (!evsel ||
	    perf_sample_parse(perf_record_body(r), r->misc, r->swap, &evsel->attr, &s) != CLEW_OK) {
		ana_note_bad(a, r);
		if (a->infos)
			ana_user_of_info(a->infos, &user);
		return CLEW_OK;
	}
	if (!ana_losses_sample(&a->losses, s.cpu, s.tid, s.time))
		return CLEW_NO_MEMORY;
	if (a->defer.mode == ANA_DEFER_OFF && ends_with_mark(&s.callchain) &&
	    ana_defer_is_wanted(a)) {
		err = ana_defer_start(a);
		if (err != CLEW_OK || a->defer.mode == ANA_DEFER_QUEUE)
			return err == CLEW_OK ? ana_defer_take(a, r, (struct clew_perf_ns){s.time})
					      : err;
	}
	err = find_user(a, r, &s, item, &user);
	if (err != CLEW_OK)
		return err;
	if (user.has_mark)
		ana_user_limit(&user, &s.callchain, evsel->attr.sample_max_stack);
	if (!(s.sample_type & PERF_SAMPLE_PERIOD))
		s.period = evsel->attr.sample_period;
	if (s.sample_type & PERF_SAMPLE_READ && s.read.read_format & PERF_FORMAT_ID)
		return deliver_values(a, r, &s, &user);
	return deliver_sample(a, r, evsel, &s, &user);
}

/* The thread a record is about; it may differ from the one that was running. */
static uint32_t subject_of(const struct perf_record *r, uint32_t running_tid)
{
	struct bytes body = perf_record_body(r);
	size_t at = 4;

	switch (r->type) {
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		at = 8;
		break;
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
	case PERF_RECORD_COMM:
	case PERF_RECORD_NAMESPACES:
		break;
	default:
		return running_tid;
	}
	return bytes_left(&body) < at + 4 ? running_tid : load_u32(body.pos + at, r->swap);
}

/* A deferred stack that is left in its record. */
static enum clew_err resolve_deferred(struct analyze *a, struct ana_event *e)
{
	const struct perf_record *r = &e->record;
	struct perf_callchain_deferred c;
	struct stitch_stack stack;
	struct perf_words words;
	struct who_thread *t;
	uint64_t cookie;
	uint32_t tid;
	enum clew_err err = CLEW_OK;

	if (r->type != PERF_RECORD_CALLCHAIN_DEFERRED || !a->opts.no_merge || a->opts.no_chains ||
	    perf_callchain_deferred_parse(r, &c) != CLEW_OK)
		return CLEW_OK;
	t = who_thread_get(a->who, e->pid, e->tid);
	if (!t)
		return CLEW_NO_MEMORY;
	resolve_at(a, t, e->time);
	words = (struct perf_words){c.ips, (uint32_t)c.nr, r->swap};
	if (!a->opts.is_as_perf && ana_stack_of_record(a->file, r, &stack, &tid, &cookie))
		err = ana_user_stack_words(a, &stack, r->swap, &words);
	return err ? err
		   : ana_resolve_chain(a, t, &words, callers_of(a, NULL, ANA_KERNEL), &e->chain);
}

enum clew_err ana_deliver_record(struct analyze *a, const struct perf_record *r,
				 struct clew_perf_ns time)
{
	const struct perf_evsel *evsel = NULL;
	struct perf_sample_id id = {.cpu = UINT32_MAX, .pid = UINT32_MAX, .tid = UINT32_MAX};
	uint32_t machine = 0;
	struct perf_sample *unused;
	struct who_thread *t;
	struct ana_event *e;
	enum who_kind kind;

	if (r->type < PERF_RECORD_HEADER_ATTR) {
		evsel = perf_evlist_of_record(perf_file_evlist(a->file), r->type,
					      perf_record_body(r), r->swap);
		if (evsel && perf_sample_id_parse(perf_record_body(r), r->swap, &evsel->attr,
						  &id) != CLEW_OK)
			evsel = NULL;
		machine = evsel ? who_guests_machine(who_guests(a->who), id.id) : 0;
	}
	e = ana_queue_add(a->queue, &unused);
	if (!e)
		return ana_queue_wait(a->queue);
	e->record = *r;
	perf_block_hold(r->block);
	e->evsel = evsel;
	e->time = time;
	e->cpu = id.cpu;
	e->pid = id.pid;
	e->tid = id.tid;
	if (machine)
		set_machine(a, e, id.id);
	id.tid = subject_of(r, id.tid);
	t = id.tid == UINT32_MAX ? NULL : ana_thread_get(a, machine, UINT32_MAX, id.tid);
	e->comm = t ? t->comm : NULL;
	if (id.tid == 0 && !machine && r->type < PERF_RECORD_HEADER_ATTR) {
		kind = ana_kind_of_record(perf_file_who_facts(a->file), r);
		e->comm = kind == WHO_TASK ? e->comm : ana_name_of_kind(kind);
	}
	return resolve_deferred(a, e);
}
