/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "base/hash.h"
#include "image/dso_code.h"
#include "os/thread.h"
#include "perfdata/aux_filter.h"
#include "trace/perf/perf_trace_impl.h"
#include "trace/perf/trace_threads.h"

enum { BACK_BITS = 2, MAX_BACK = 3 }; /* programs before an exec that are looked at too */

static uint32_t number(uint32_t version, uint64_t back)
{
	return version << BACK_BITS | (uint32_t)(back < MAX_BACK ? back : MAX_BACK);
}

static uint32_t version_at(const struct who_timeline *l, struct clew_perf_ns time)
{
	const struct who_change *e = who_timeline_at(l, time);

	return e ? e->value : l->data[0].value;
}

/** How often another program took the process over in the span. */
static uint64_t nr_execs(const struct who_space_line *space, const struct trace_span *s)
{
	const struct who_change *first = who_timeline_at(&space->execs, s->from),
				*last = who_timeline_at(&space->execs, s->to);

	return s->is_ticks ? 0 : (last ? last->value : 0) - (first ? first->value : 0);
}

static uint32_t space_of(const struct who_history *h, uint32_t number_of_space,
			 const struct trace_span *s)
{
	const struct who_space_line *space = &h->spaces.data[number_of_space];

	return number(version_at(&space->versions, trace_span_time(s)), nr_execs(space, s));
}

/** The guest that runs, as the pid of the process that its virtual CPU's thread belongs to.
 * AUX_NONE: unknown. */
static uint32_t machine_of(const struct perf_trace *p, const struct trace_span *s,
			   const struct who_answer *a)
{
	uint32_t tid = trace_tid_of(p, a);
	const struct who_task *task;

	if (who_local_is_thread(a->machine))
		return (uint32_t)a->machine.n;
	if (tid == AUX_NONE)
		return AUX_NONE;
	task = who_history_task(&p->history, tid, trace_span_time(s));
	return task ? task->pid : AUX_NONE;
}

/** The guest's kernel, or its thread by the context or by its own switches, as a number of the
 * guest's. WHO_NONE: not in its records. */
static uint32_t guest_number(const struct who_guests *g, uint32_t machine,
			     const struct aux_who *who, const struct who_answer *a)
{
	uint32_t ret = WHO_NONE;

	if (!who->is_user)
		return who_guests_find(g, machine, WHO_GUEST_KERNEL_PID);
	if (who->has_el1 && who->el1) /* the idle task has no user code: it is not written */
		ret = who_guests_find(g, machine, who->el1);
	if (ret == WHO_NONE && a->has & WHO_A_GUEST_LOCAL)
		ret = who_guests_find(g, machine, a->guest_local.n);
	return ret;
}

/** The address space of a guest's kernel, or of its thread's process. */
static uint32_t guest_space(const struct perf_trace *p, const struct aux_who *who,
			    const struct trace_span *s, const struct who_answer *a)
{
	const struct who_guests *g = &p->history.guests;
	const struct who_task *task = NULL;
	uint32_t machine = machine_of(p, s, a), id;

	if (!g->ids.nr)
		return number(TRACE_GUEST, 0);
	if (machine == AUX_NONE)
		return number(TRACE_GUEST_UNKNOWN, 0);
	id = guest_number(g, machine, who, a);
	if (id == AUX_NONE && who->is_user && !(who->has_el1 && who->el1))
		return number(TRACE_GUEST_THREAD, 0);
	if (id != AUX_NONE)
		task = who_history_task(&p->history, id, trace_span_time(s));
	return task ? space_of(&p->history, task->space, s) : number(TRACE_GUEST, 0);
}

/** Of a thread of the host. */
static uint32_t user_space(const struct perf_trace *p, const struct trace_span *s,
			   const struct who_answer *a)
{
	const struct who_history *h = &p->history;
	uint32_t tid = trace_tid_of(p, a);
	const struct who_task *task;

	if (a->has & WHO_A_THREAD && a->space != WHO_NONE && a->kind == WHO_TASK)
		return space_of(h, a->space, s);
	if (tid == AUX_NONE)
		return number(TRACE_NO_THREAD, 0);
	task = who_history_task(h, tid, trace_span_time(s));
	return task ? space_of(h, task->space, s) : number(TRACE_NO_PROCESS, 0);
}

/** Of code that may be a guest's, as if it were the thread's of the host. */
static uint32_t trial_space(const struct perf_trace *p, const struct trace_span *s,
			    const struct who_answer *a)
{
	const struct who_task *task = NULL;

	if (a->has & WHO_A_LOCAL)
		task = who_history_task(&p->history, (uint32_t)a->local.n, trace_span_time(s));
	else if (a->has & WHO_A_ROOT)
		task = who_history_task(&p->history, a->root.n, trace_span_time(s));
	return task ? space_of(&p->history, task->space, s) : number(TRACE_WORLD, 0);
}

/** Intel PT of a guest, or of a simulator, may have all of a machine's code in a process. */
static bool has_kernel_maps(const struct perf_trace *p)
{
	const struct who_history *h = &p->history;
	const struct who_space_line *l = &h->spaces.data[h->kernel];
	const struct who_version *v = &h->versions.data[l->versions.data[l->versions.nr - 1].value];

	return p->arch != CODE_X86 || v->patches || (v->maps && v->maps->nr);
}

/** By the rule of who/who_ran.h. */
static uint32_t space_of_answer(const struct perf_trace *p, const struct aux_who *who,
				const struct trace_span *s, const struct who_answer *a)
{
	const struct who_history *h = &p->history;

	if (a->has & WHO_A_GUEST)
		return guest_space(p, who, s, a);
	if (a->kind == WHO_UNKNOWN && a->reason == WHO_WORLD)
		return p->is_trial && who->is_user ? trial_space(p, s, a) : number(TRACE_WORLD, 0);
	if (who->is_user || !has_kernel_maps(p))
		return user_space(p, s, a);
	return number(version_at(&h->spaces.data[h->kernel].versions, trace_span_time(s)), 0);
}

/** What decides which space @p a has: versions of the line that is returned. NULL: if @p
 * ret_is_fixed nothing else, so that it is always the same. */
static const struct who_space_line *line_of(const struct perf_trace *p, const struct aux_who *who,
					    const struct who_answer *a, bool *ret_is_fixed)
{
	const struct who_history *h = &p->history;

	*ret_is_fixed = true;
	if (a->has & WHO_A_GUEST) {
		*ret_is_fixed = !h->guests.ids.nr;
		return NULL;
	}
	if (who->is_firmware || (a->kind == WHO_UNKNOWN && a->reason == WHO_WORLD))
		return NULL;
	if (!who->is_user)
		return &h->spaces.data[h->kernel];
	if (a->has & WHO_A_THREAD && a->space != WHO_NONE && a->kind == WHO_TASK)
		return &h->spaces.data[a->space];
	*ret_is_fixed = trace_tid_of(p, a) == AUX_NONE;
	return NULL;
}

/** The time around @p time in which the value of @p l does not change. */
static void bounds_of_change(const struct who_timeline *l, struct clew_perf_ns time,
			     struct clew_perf_ns *ret_from, struct clew_perf_ns *ret_to)
{
	const struct who_change *now = who_timeline_at(l, time);
	const struct who_change *next = now ? now + 1 : l->data;

	*ret_from = now ? now->time : (struct clew_perf_ns){0};
	*ret_to = next < l->data + l->nr ? next->time : clew_perf_ns_none();
}

/** For how long @p a has the space that was found for @p s. */
static void keep_space(const struct perf_trace *p, const struct aux_who *who,
		       const struct trace_span *s, const struct who_answer *a,
		       struct trace_ran_space *ret)
{
	bool is_fixed;
	const struct who_space_line *l = line_of(p, who, a, &is_fixed);

	ret->holds = l ? TRACE_RAN_SPACE_THEN : TRACE_RAN_SPACE_ALWAYS;
	if (p->history.is_cut || (!l && !is_fixed))
		ret->holds = TRACE_RAN_SPACE_UNKNOWN;
	else if (l && l->versions.nr == 1 && !l->execs.nr)
		ret->holds = TRACE_RAN_SPACE_ALWAYS;
	else if (l)
		bounds_of_change(&l->versions, trace_span_time(s), &ret->from, &ret->to);
	ret->is_ticks = s->is_ticks;
}

/** Is a space that was found then that of @p s? */
static bool is_space_of(const struct trace_ran_space *a, const struct trace_span *s)
{
	uint64_t time = trace_span_time(s).ns;

	return a->holds == TRACE_RAN_SPACE_THEN && a->is_ticks == s->is_ticks &&
	       a->from.ns <= time && time < a->to.ns;
}

static uint32_t find_space(const struct perf_trace *p, const struct aux_who *who,
			   const struct trace_span *s, const struct who_answer *a)
{
	if (!who_history_knows(&p->history, trace_span_time(s)))
		return number(TRACE_NOT_KEPT, 0);
	if (who->is_firmware)
		return number(TRACE_FIRMWARE, 0);
	if (who->is_guest && has_kernel_maps(p))
		return number(TRACE_GUEST_UNKNOWN, 0);
	return space_of_answer(p, who, s, a);
}

static uint32_t space_of_known(const struct perf_trace *p, uint32_t unit, const struct code_key *k,
			       struct trace_ran_known *a)
{
	struct aux_who who;
	struct trace_span s;

	if (a->space.holds == TRACE_RAN_SPACE_ALWAYS)
		return a->space.number;
	s = trace_span_in(p, unit, k->ticks, k->bound, a->chunk);
	if (is_space_of(&a->space, &s))
		return a->space.number;
	who = perf_trace_who(p, unit, &k->context);
	a->space.number = find_space(p, &who, &s, &a->answer);
	keep_space(p, &who, &s, &a->answer, &a->space);
	return a->space.number;
}

/** The space of the host's kernel, which is the same in all threads. */
static uint32_t kernel_space(const struct perf_trace *p, uint32_t unit, const struct code_key *k)
{
	const struct who_history *h = &p->history;
	const struct who_timeline *l = &h->spaces.data[h->kernel].versions;
	struct trace_span s;

	if (l->nr == 1 && !h->is_cut)
		return number(l->data[0].value, 0);
	s = trace_span_in(p, unit, k->ticks, k->bound, NULL);
	return who_history_knows(h, trace_span_time(&s))
		     ? number(version_at(l, trace_span_time(&s)), 0)
		     : number(TRACE_NOT_KEPT, 0);
}

uint32_t trace_code_space(void *ctx, const struct code_key *k)
{
	const struct trace_unit_code *u = ctx;
	const struct perf_trace *p = u->owner;
	struct trace_ran_loan loan;
	uint32_t ret;

	if (trace_ran_is_host_kernel(p, u->unit, k))
		return kernel_space(p, u->unit, k);
	if (p->marks.is_kernel_only && !code_context_el(&k->context))
		return number(TRACE_NO_THREAD, 0);
	trace_ran_borrow(p, u->unit, k, &loan);
	ret = space_of_known(p, u->unit, k, loan.known);
	trace_ran_give_back(p, u->unit, &loan);
	return ret;
}

/* --- for how long --- */

/** Limit @p s to the ticks at which @p a has the same space. @return false: look each time. */
static bool clip_to_space(const struct perf_trace *p, const struct aux_who *who,
			  const struct trace_span *span, const struct who_answer *a,
			  struct who_stay *s)
{
	bool ret;
	const struct who_space_line *l = line_of(p, who, a, &ret);
	struct clew_perf_ns from, to;

	if (!l || !span->is_ticks)
		return ret;
	bounds_of_change(&l->versions, trace_span_time(span), &from, &to);
	trace_ran_clip(p, from, to, s);
	return true;
}

struct trace_stay trace_code_stay(struct perf_trace *p, uint32_t unit, const struct code_key *k)
{
	const struct trace_stay one = {k->ticks.ticks, k->ticks.ticks + 1};
	struct aux_who who = perf_trace_who(p, unit, &k->context);
	struct trace_span span = trace_span_of(p, unit, k->ticks, k->bound);
	struct clew_perf_ns ignored, after = {k->bound.ns + 1};
	struct who_stay s;

	if (p->history.is_cut || !trace_ran_stay(p, unit, k, &s))
		return one;
	/* An operation with a later tick than its bound has the time of the bound. */
	if (span.is_ticks && k->bound.ns)
		trace_ran_clip(p, clew_perf_ns_none(), after, &s);
	else if (!span.is_ticks && p->has_clock && trace_time_of(p, unit, k->ticks, &ignored))
		trace_ran_clip(p, after, clew_perf_ns_none(), &s);
	if (!clip_to_space(p, &who, &span, trace_ran_ask(p, unit, k), &s))
		return one;
	return trace_ran_ticks_of_stay(p, k->ticks, &s);
}

/** The mapping at @p addr, in the space's own program or in one that an exec replaced. */
static struct who_map *map_at(const struct who_history *h, uint32_t space, uint64_t addr)
{
	uint32_t back = space & MAX_BACK, version = space >> BACK_BITS;
	struct who_map *m = NULL;

	while (version < h->versions.nr) {
		const struct who_version *v = &h->versions.data[version];

		m = who_maps_find(v->maps, addr);
		if (m || !back--)
			break;
		version = v->before;
	}
	return m;
}

bool trace_code_is_unmapped(const struct perf_trace *p, uint32_t space, uint64_t addr)
{
	uint32_t version = space >> BACK_BITS;
	const struct who_version *v;

	if (version < TRACE_NR_NO_CODE || version >= p->history.versions.nr)
		return false;
	v = &p->history.versions.data[version];
	return !v->is_kernel && !v->is_guest && v->maps && v->maps->nr &&
	       !map_at(&p->history, space, addr);
}

/** @p r is in the dso's terms: turn it into addresses, inside the mapping. */
static bool to_addresses(const struct who_map *m, const struct ana_place *place, uint64_t addr,
			 struct code_region *r)
{
	uint64_t delta = place->is_absolute ? 0 : m->start - m->pgoff;
	uint64_t start = r->start + delta, end = r->end + delta;

	if (start > addr || end <= addr)
		return false;
	if (start < m->start)
		start = m->start;
	if (end > m->end)
		end = m->end;
	r->bytes += start - delta - r->start;
	r->start = start;
	r->end = end;
	return true;
}

/** What the binary holds there. Under the lock. */
static bool find_in_binary(struct perf_trace *p, struct who_map *m, uint64_t addr,
			   struct code_region *ret)
{
	struct ana_place *place = m ? ana_place_of(p->places, m) : NULL;
	uint64_t rel = addr;

	if (!place)
		return false;
	if (!place->is_absolute)
		rel = addr - m->start + m->pgoff;
	return dso_find_code(place->dso, p->arch, rel, ret) && to_addresses(m, place, addr, ret);
}

static void clip(struct code_region *r, const struct code_region *to)
{
	if (r->start < to->start) {
		r->bytes += to->start - r->start;
		r->start = to->start;
	}
	if (r->end > to->end)
		r->end = to->end;
}

/** The kernel's: what it wrote into itself counts before its image. */
static bool find_in_kernel(struct perf_trace *p, const struct who_version *v, struct who_map *m,
			   uint64_t addr, struct code_region *ret)
{
	enum code_patched patched = CODE_NOT_PATCHED;
	struct code_region r = {0, UINT64_MAX, NULL};

	if (v->patches)
		patched = code_patches_find(v->patches, v->time, addr, &r);
	if (patched == CODE_REMOVED)
		return false;
	if (patched != CODE_PATCHED && find_in_binary(p, m, addr, ret)) {
		clip(ret, &r);
		return true;
	}
	*ret = r;
	return r.bytes;
}

/** A process's: what a compiler made lies in memory that is of no file. */
static bool find_in_process(struct perf_trace *p, const struct who_version *v, struct who_map *m,
			    uint64_t addr, struct code_region *ret)
{
	if (find_in_binary(p, m, addr, ret))
		return true;
	if (!m || !v->patches)
		return false;
	code_patches_find(v->patches, v->time, addr, ret);
	return ret->bytes;
}

/** Under the lock. */
static bool find_locked(struct perf_trace *p, uint32_t space, struct who_map *m, uint64_t addr,
			struct code_region *ret)
{
	const struct who_version *v = &p->history.versions.data[space >> BACK_BITS];

	return v->is_kernel ? find_in_kernel(p, v, m, addr, ret)
			    : find_in_process(p, v, m, addr, ret);
}

bool trace_code_find(void *ctx, uint32_t space, uint64_t addr, struct code_region *ret)
{
	struct perf_trace *p = ((const struct trace_unit_code *)ctx)->owner;
	struct who_map *m = map_at(&p->history, space, addr);
	struct code_region r;
	bool is_found;

	if (space >> BACK_BITS >= p->history.versions.nr)
		return false;
	os_lock(p->lock);
	is_found = find_locked(p, space, m, addr, &r);
	os_unlock(p->lock);
	if (is_found)
		*ret = r;
	return is_found;
}

bool trace_code_is_traced(void *ctx, uint32_t space, uint64_t addr)
{
	const struct trace_unit_code *u = ctx;
	const struct who_map *m = map_at(&u->owner->history, space, addr);

	if (m && !m->is_kernel)
		return aux_filters_have(u->filters, m->path, addr - m->start + m->pgoff);
	return aux_filters_have(u->filters, NULL, addr);
}

const char *trace_code_why(void *ctx, uint32_t space, uint64_t addr)
{
	static const char *const whys[TRACE_NR_NO_CODE] = {
		[TRACE_NO_THREAD] = "the thread is unknown",
		[TRACE_NO_PROCESS] = "the recording knows no thread of that number",
		[TRACE_GUEST] = "a virtual machine's code, which 'clew merge --guest' adds",
		[TRACE_GUEST_UNKNOWN] = "code of an unknown virtual machine",
		[TRACE_GUEST_THREAD] = "code of an unknown thread of a virtual machine",
		[TRACE_WORLD] = "code of the host or of a virtual machine: which is unknown",
		[TRACE_FIRMWARE] = "code of firmware or of the secure world",
		[TRACE_NOT_KEPT] = "the memory budget had no room for what was recorded of it"};
	struct perf_trace *p = ((const struct trace_unit_code *)ctx)->owner;
	struct who_map *m = map_at(&p->history, space, addr);
	const char *why = "out of memory";
	struct ana_place *place;
	struct code_region r;

	if (space >> BACK_BITS < TRACE_NR_NO_CODE)
		return whys[space >> BACK_BITS];
	if (!m)
		return "no mapping was recorded there";
	if (m->flags == WHO_MAP_IS_KSYMBOL)
		return "code the kernel made at run time, which the recording does not hold";
	os_lock(p->lock);
	find_locked(p, space, m, addr, &r); /* the reason is that of the last question */
	place = ana_place_of(p->places, m);
	if (place)
		why = dso_why_no_code(place->dso);
	os_unlock(p->lock);
	return why ? why : "the file ends before the mapping does";
}

static bool is_of_host_kernel(const struct who_history *h, uint32_t version)
{
	return version >= TRACE_NR_NO_CODE && version < h->versions.nr &&
	       h->versions.data[version].is_kernel && !h->versions.data[version].is_guest;
}

/** Under the lock. */
static enum code_landmark landmark_at(struct perf_trace *p, struct who_map *m, uint64_t addr)
{
	struct ana_place *place = m ? ana_place_of(p->places, m) : NULL;
	const struct dso_sym *sym;
	uint64_t rel = addr;

	if (!place)
		return CODE_LANDMARK_UNKNOWN;
	if (!place->is_absolute)
		rel = addr - m->start + m->pgoff;
	sym = place->only_sym ? place->only_sym : dso_find_sym(place->dso, rel);
	if (!sym)
		return CODE_LANDMARK_UNKNOWN;
	if (rel == sym->start && !strcmp(sym->name, "cpu_switch_to"))
		return CODE_SWITCHES;
	return who_enters_guest(sym->name) ? CODE_ENTERS_GUEST : CODE_NO_LANDMARK;
}

enum code_landmark trace_code_landmark(void *ctx, uint32_t space, uint64_t addr)
{
	struct perf_trace *p = ((const struct trace_unit_code *)ctx)->owner;
	enum code_landmark ret;

	if (!is_of_host_kernel(&p->history, space >> BACK_BITS))
		return CODE_LANDMARK_UNKNOWN;
	os_lock(p->lock);
	ret = landmark_at(p, map_at(&p->history, space, addr), addr);
	os_unlock(p->lock);
	return ret;
}

/* --- places --- */

struct trace_loc {
	struct ana_loc loc;
	const struct who_map *map;
	uint32_t space; /* of those without a map */
};

static uint8_t level_of_guest(const struct perf_trace *p, const struct who_map *m)
{
	const struct who_guest_id *id = m ? who_guests_id(&p->history.guests, m->pid) : NULL;

	return !id || id->id == WHO_GUEST_KERNEL_PID ? ANA_GUEST_KERNEL : ANA_GUEST_USER;
}

static uint8_t level_of(const struct perf_trace *p, uint32_t space, const struct who_map *m)
{
	uint32_t version = space >> BACK_BITS;

	if (version >= TRACE_NR_NO_CODE && version >= p->history.versions.nr)
		return ANA_UNKNOWN; /* a caller's own number */
	if (version == TRACE_GUEST_THREAD)
		return ANA_GUEST_USER;
	if (version == TRACE_GUEST || version == TRACE_GUEST_UNKNOWN ||
	    p->history.versions.data[version].is_guest)
		return level_of_guest(p, m);
	if (version == TRACE_FIRMWARE)
		return ANA_HYPERVISOR;
	if (m)
		return m->is_kernel ? ANA_KERNEL : ANA_USER;
	if (version < TRACE_NR_NO_CODE)
		return ANA_UNKNOWN;
	return p->history.versions.data[version].is_kernel ? ANA_KERNEL : ANA_USER;
}

/** The process that this version of a space is of. */
static uint32_t pid_of(const struct perf_trace *p, uint32_t space, const struct who_map *m)
{
	uint32_t version = space >> BACK_BITS, pid = WHO_NONE;

	if (version >= TRACE_NR_NO_CODE && version < p->history.versions.nr)
		pid = p->history.versions.data[version].pid;
	return pid == WHO_NONE ? m->pid : pid;
}

/** What is added to a version was nowhere before: it counts as there from the beginning. */
static struct jit_when when_of(const struct perf_trace *p, uint32_t space)
{
	uint32_t version = space >> BACK_BITS;

	if (version < TRACE_NR_NO_CODE || version >= p->history.versions.nr)
		return (struct jit_when){clew_perf_ns_none(), true};
	return (struct jit_when){p->history.versions.data[version].time, true};
}

static const struct ana_loc *make_loc(struct perf_trace *p, uint64_t key, uint32_t space,
				      struct who_map *m, uint64_t addr, bool is_return)
{
	struct trace_loc *l = arena_zalloc(&p->places->memory, sizeof(*l));
	struct ana_place *place = m ? ana_place_of(p->places, m) : NULL;
	struct ana_spot spot;

	if (!l || (m && !place) || !map_u64_put(&p->locs, key, (uintptr_t)l))
		return NULL;
	l->map = m;
	l->space = space;
	l->loc = (struct ana_loc){.ip = addr,
				  .rel = addr,
				  .id = (uint32_t)p->locs.nr - 1,
				  .level = level_of(p, space, m),
				  .is_return = is_return};
	if (!place)
		return &l->loc;
	if (ana_places_find(p->places, place, m, pid_of(p, space, m), when_of(p, space),
			    addr - is_return, &spot))
		return NULL;
	l->loc.rel = spot.rel + is_return;
	l->loc.dso = spot.dso;
	if (spot.has_no_name)
		return &l->loc;
	l->loc.sym = place->only_sym ? place->only_sym : dso_find_sym(spot.dso, spot.rel);
	return ana_places_add_lines(p->places, spot.dso, spot.rel, &p->places->memory, &l->loc)
		     ? &l->loc
		     : NULL;
}

/** Code made at run time differs by version of the space; what is of a file does not. */
static bool is_one_place(struct perf_trace *p, struct who_map *m)
{
	const struct ana_place *place = m ? ana_place_of(p->places, m) : NULL;

	return place && !place->is_jit;
}

const struct ana_loc *trace_code_locate(struct perf_trace *p, uint32_t space, uint64_t addr,
					bool is_return)
{
	struct who_map *m = map_at(&p->history, space, addr - is_return);
	const struct ana_loc *loc = NULL;
	bool is_one;
	uint64_t key, *at;

	os_lock(p->lock);
	is_one = is_one_place(p, m);
	key = hash_two(addr, is_one ? (uintptr_t)m : space) ^ is_return;
	/* Two of one hash: the second goes to the next free number. */
	for (; (at = map_u64_get(&p->locs, key)) && !loc; key++) {
		const struct trace_loc *l = (const struct trace_loc *)(uintptr_t)*at;

		if (l->loc.ip == addr && l->loc.is_return == is_return && l->map == m &&
		    (is_one || l->space == space))
			loc = &l->loc;
	}
	if (!loc)
		loc = make_loc(p, key, space, m, addr, is_return);
	os_unlock(p->lock);
	return loc;
}
