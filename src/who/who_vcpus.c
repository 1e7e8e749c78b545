/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "who/who_ran_impl.h"

enum { MAX_VCPUS = 1 << 16 };

static uint64_t key_of(const struct who_vcpu *v)
{
	return (uint64_t)v->machine << 32 | v->vcpu;
}

static struct who_fold *line_of(const struct who_vcpus *v, const struct who_vcpu *vcpu)
{
	const uint64_t *at = map_u64_get(&v->by_vcpu, key_of(vcpu));

	return at ? &v->lines.data[*at] : NULL;
}

/** NULL: too many, or no memory. */
static struct who_fold *make_line(struct who_vcpus *v, const struct who_vcpu *vcpu)
{
	size_t i, nr = v->lines.nr;

	if (!vec_reserve(&v->lines, nr + 1) ||
	    !map_u64_number(&v->by_vcpu, key_of(vcpu), nr, MAX_VCPUS, &i))
		return NULL;
	if (i == nr)
		v->lines.data[v->lines.nr++] = (struct who_fold){.runs.store = v->store};
	return &v->lines.data[i];
}

static bool fold_switch(struct who_fold *line, const struct perf_switch *s,
			const struct who_ran_stamp *stamp)
{
	struct who_local_id own = who_local_id_of(stamp->tid);
	struct who_local_id other = who_local_id_of(s->next_prev_tid);

	if (s->is_out)
		return who_fold_out(line, stamp->time,
				    &(struct who_fold_out){own, &other, s->is_preempt});
	return who_fold_in(line, stamp->time, &(struct who_fold_in){own, &other});
}

enum clew_err who_vcpus_take(struct who_vcpus *v, const struct who_vcpu *vcpu,
			     const struct perf_record *r, const struct who_ran_stamp *stamp)
{
	bool is_switch = r->type == PERF_RECORD_SWITCH_CPU_WIDE;
	struct perf_switch s = {0};
	struct who_fold *line;

	/* Records without a time come first; they cannot be placed. */
	if ((!is_switch && r->type != PERF_RECORD_LOST) || !stamp->time.ns ||
	    !clew_perf_ns_is_known(stamp->time))
		return CLEW_OK;
	if (is_switch && perf_switch_parse(r, &s))
		return CLEW_BAD_FILE;
	line = make_line(v, vcpu);
	if (!line)
		return v->lines.nr >= MAX_VCPUS ? CLEW_OK : CLEW_NO_MEMORY;
	return (is_switch ? fold_switch(line, &s, stamp) : who_fold_lost(line, stamp->time))
		     ? CLEW_OK
		     : CLEW_NO_MEMORY;
}

bool who_vcpus_end(struct who_vcpus *v)
{
	bool ok = true;

	vec_for_each (&v->lines, l)
		ok = ok && who_fold_end(l);
	return ok;
}

void who_vcpus_done(struct who_vcpus *v)
{
	vec_for_each (&v->lines, l)
		who_fold_done(l);
	vec_done(&v->lines);
	map_u64_done(&v->by_vcpu);
	map_u64_done(&v->bands);
}

/* --- asking --- */

/** In a thread's run, but close to an end of it? */
static bool is_in_band(const struct who_run_cursor *c, const struct who_vcpu_span *s, uint64_t band)
{
	return s->from.ns - c->run.from.ns <= band || s->to.ns >= c->next.from.ns ||
	       c->next.from.ns - s->to.ns <= band;
}

static enum who_reason in_run(const struct who_run_cursor *c, const struct who_vcpu_span *s,
			      uint64_t band)
{
	switch (c->run.kind) {
	case WHO_RUN_THREAD:
		if (!c->has_next) /* the guest's recording may have ended */
			return WHO_NO_EVIDENCE;
		if (is_in_band(c, s, band))
			return WHO_SWITCHING;
		return c->run.id.n == -1 ? WHO_DEAD : WHO_REASON_NONE;
	case WHO_RUN_SWITCH:
		return WHO_SWITCHING;
	case WHO_RUN_HOLE:
		return WHO_LOST;
	case WHO_RUN_NONE:
		break;
	}
	return WHO_GUEST_THREAD;
}

enum who_reason who_vcpus_find(const struct who_vcpus *v, const struct who_vcpu_span *s,
			       struct who_guest_local_id *ret, struct clew_perf_ns *ret_until)
{
	const uint64_t *known = map_u64_get(&v->bands, s->vcpu.machine);
	const struct who_fold *line = line_of(v, &s->vcpu);
	uint64_t band = known ? *known : 0;
	enum who_reason why = WHO_BEFORE_FIRST;
	struct who_run_cursor c;

	*ret_until = clew_perf_ns_none();
	if (!line)
		return WHO_GUEST_THREAD;
	if (!clew_perf_ns_is_known(s->from) || !clew_perf_ns_is_known(s->to))
		return WHO_NO_CLOCK;
	ret_until->ns = s->from.ns + 1; /* valid for this time only */
	if (who_runs_find(&line->runs, s->from, &c))
		why = in_run(&c, s, band);
	if (why)
		return why;
	*ret = (struct who_guest_local_id){(uint32_t)c.run.id.n};
	ret_until->ns = c.next.from.ns - band;
	return WHO_REASON_NONE;
}

/* --- of a who_ran --- */

enum clew_err who_ran_take_guest(struct who_ran *w, const struct who_vcpu *vcpu,
				 const struct perf_record *r, const struct who_ran_stamp *stamp)
{
	return who_vcpus_take(&w->vcpus, vcpu, r, stamp);
}

bool who_ran_set_band(struct who_ran *w, uint32_t machine, uint64_t band_ns)
{
	return map_u64_put(&w->vcpus.bands, machine, band_ns);
}
