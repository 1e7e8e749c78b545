/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "merge/fit_edges.h"

struct fit_host_lane *fit_host_lane(struct fit_host *h, uint32_t vcpu, uint32_t tid)
{
	vec_for_each (&h->lanes, l) {
		if (l->vcpu == vcpu && l->tid == tid)
			return l;
	}
	if (!vec_push(&h->lanes, (struct fit_host_lane){.vcpu = vcpu, .tid = tid}))
		return NULL;
	return &h->lanes.data[h->lanes.nr - 1];
}

struct fit_guest_lane *fit_guest_lane(struct fit_guest *g, uint32_t vcpu)
{
	vec_for_each (&g->lanes, l) {
		if (l->vcpu == vcpu)
			return l;
	}
	if (!vec_push(&g->lanes, (struct fit_guest_lane){.vcpu = vcpu}))
		return NULL;
	return &g->lanes.data[g->lanes.nr - 1];
}

/* Late records are skipped: the lists stay sorted. */
static enum clew_err add(struct fit_times *times, int64_t t)
{
	if (!fit_time_fits(t) || (times->nr && times->data[times->nr - 1] > t))
		return CLEW_OK;
	return vec_push(times, t) ? CLEW_OK : CLEW_NO_MEMORY;
}

enum clew_err fit_host_in(struct fit_host_lane *l, int64_t t)
{
	enum clew_err err = l->has_slept ? add(&l->wakes, t) : CLEW_OK;

	l->in = t;
	l->is_in = fit_time_fits(t);
	l->has_slept = false;
	return err;
}

enum clew_err fit_host_out(struct fit_host_lane *l, int64_t t, bool blocks)
{
	struct fit_stays *s = &l->stays;
	bool fits = l->is_in && fit_time_fits(t) && l->in <= t &&
		    (!s->nr || s->data[s->nr - 1].out <= l->in);

	if (fits && !vec_push(s, (struct fit_stay){l->in, t}))
		return CLEW_NO_MEMORY;
	l->is_in = false;
	l->has_slept = blocks;
	return blocks ? add(&l->sleeps, t) : CLEW_OK;
}

enum clew_err fit_host_seen(struct fit_host_lane *l, int64_t t, uint32_t cpu)
{
	bool has_moved = l->has_last && (l->cpu != cpu || l->has_lost);
	bool ok = !has_moved || !fit_time_fits(t) ||
		  vec_push(&l->moves, (struct fit_stay){l->last, t});

	l->cpu = cpu;
	l->last = t;
	l->has_last = fit_time_fits(t);
	l->has_lost = false;
	return ok ? CLEW_OK : CLEW_NO_MEMORY;
}

void fit_host_unseen(struct fit_host_lane *l, int64_t t)
{
	if (!l->has_last)
		return;
	if (!l->has_lost || t < l->last)
		l->last = t;
	l->has_lost = true;
}

void fit_host_lost(struct fit_host_lane *l)
{
	/* An IN after a hole is still a lower bound: whether it woke from sleep or not, the guest
	 * runs later. */
	l->is_in = false;
}

enum clew_err fit_guest_event(struct fit_guest_lane *l, int64_t t)
{
	return add(&l->events, t);
}

enum clew_err fit_guest_switch(struct fit_guest_lane *l, int64_t t, bool is_out, bool is_idle)
{
	enum clew_err err = CLEW_OK;

	if (is_idle)
		err = add(is_out ? &l->idle_outs : &l->idle_ins, t);
	return err ? err : fit_guest_event(l, t);
}

static void leave(struct fit_guest_lane *l, int64_t t, uint32_t own, uint32_t other)
{
	l->has_left = l->has_run && l->run.id == own;
	l->left = l->run;
	l->has_run = false;
	l->has_next = true;
	l->next = (struct fit_id_run){.from = t, .id = other};
}

enum clew_err fit_guest_ids(struct fit_guest_lane *l, int64_t t, bool is_out, uint32_t own,
			    uint32_t other)
{
	bool ok = true;

	if (!fit_time_fits(t))
		return CLEW_OK;
	if (is_out) {
		leave(l, t, own, other);
		return CLEW_OK;
	}
	l->left.to = t;
	if (l->has_left && l->left.id == other)
		ok = vec_push(&l->runs, l->left);
	l->has_run = l->has_next && l->next.id == own;
	l->run = l->next;
	l->has_left = l->has_next = false;
	return ok ? CLEW_OK : CLEW_NO_MEMORY;
}

void fit_guest_lost(struct fit_guest_lane *l)
{
	l->has_run = l->has_left = l->has_next = false;
}

void fit_host_done(struct fit_host *h)
{
	vec_for_each (&h->lanes, l) {
		vec_done(&l->wakes);
		vec_done(&l->sleeps);
		vec_done(&l->stays);
		vec_done(&l->moves);
		vec_done(&l->ids);
	}
	vec_done(&h->lanes);
	vec_done(&h->holes);
}

void fit_guest_done(struct fit_guest *g)
{
	vec_for_each (&g->lanes, l) {
		vec_done(&l->idle_outs);
		vec_done(&l->idle_ins);
		vec_done(&l->events);
		vec_done(&l->runs);
	}
	vec_done(&g->lanes);
}
