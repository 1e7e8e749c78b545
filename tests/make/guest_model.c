/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "make/guest_model.h"

#include "make/splitmix.h"

struct run {
	const struct guest_model *m;
	struct guest_truth *truth;
	struct fit_host_lane *host;
	struct fit_guest_lane *guest;
	const struct fit_stays *holes;
	uint64_t random, random_ids;
	uint32_t thread;     /* of the guest; 0: idle */
	double thread_since; /* host us */
	double pause_at;     /* host us */
	bool ok;
};

static double uniform(struct run *r, double from, double to)
{
	return from + (to - from) * (double)(splitmix64(&r->random) >> 11) / (double)(1ull << 53);
}

static int64_t units(const struct run *r, double us)
{
	return (int64_t)(us * r->m->per_us);
}

/* Microseconds of the host as a time of the guest's clock. */
static int64_t guest_time(const struct run *r, double us)
{
	double paused = us > r->pause_at ? (double)r->m->pause_us : 0;
	double host = us * r->m->per_us - paused * r->m->per_us;

	return (int64_t)((host - (double)r->truth->offset) / (1 + r->truth->slope));
}

static bool is_lost(struct run *r, int64_t t)
{
	vec_for_each (r->holes, h) {
		if (t >= h->in && t <= h->out) {
			fit_host_lost(r->host);
			return true;
		}
	}
	return false;
}

/* Not asked where there are none: the sequence of a seed stays as it was. */
static bool happens(struct run *r, double share)
{
	return share > 0 && uniform(r, 0, 1) < share;
}

static void host_in(struct run *r, double us)
{
	int64_t t = units(r, us);

	if (!happens(r, r->m->unseen) && !is_lost(r, t))
		r->ok &= !fit_host_in(r->host, t);
}

static void host_out(struct run *r, double us, bool blocks)
{
	int64_t t = units(r, us);

	if (!happens(r, r->m->unseen) && !is_lost(r, t))
		r->ok &= !fit_host_out(r->host, t, blocks);
}

static void guest_switch(struct run *r, double us, bool is_out, bool is_idle)
{
	bool is_recorded = us >= (double)r->m->first_from * 1000;

	if (is_recorded)
		r->ok &= !fit_guest_switch(r->guest, guest_time(r, us), is_out, is_idle);
}

enum { NR_THREADS = 7, OTHER_IDS = 50 };

/* Of another sequence of random numbers: the edges stay as they were. */
static double uniform_ids(struct run *r, double from, double to)
{
	return from +
	       (to - from) * (double)(splitmix64(&r->random_ids) >> 11) / (double)(1ull << 53);
}

/** @p next runs from @p us on; the records of the switch stand around it. */
static void change_thread(struct run *r, double us, bool is_idle)
{
	uint32_t last = r->thread;
	int64_t at;

	if (r->m->ids <= 0)
		return;
	if (r->thread_since < us && uniform_ids(r, 0, 1) < r->m->ids) {
		at = units(r, uniform_ids(r, r->thread_since, us));
		r->ok &= vec_push(&r->host->ids, (struct fit_id){at, last});
	}
	r->thread = is_idle ? 0 : 1 + (uint32_t)uniform_ids(r, 0, NR_THREADS);
	r->thread_since = us;
	if (us < (double)r->m->first_from * 1000 || r->thread == last)
		return;
	if (r->m->ids_differ) {
		last += OTHER_IDS;
		r->ok &= !fit_guest_ids(r->guest, guest_time(r, us - 0.2), true, last,
					r->thread + OTHER_IDS);
		r->ok &= !fit_guest_ids(r->guest, guest_time(r, us + 0.3), false,
					r->thread + OTHER_IDS, last);
		return;
	}
	r->ok &= !fit_guest_ids(r->guest, guest_time(r, us - 0.2), true, last, r->thread);
	r->ok &= !fit_guest_ids(r->guest, guest_time(r, us + 0.3), false, r->thread, last);
}

/* The guest's threads take turns, and the host may preempt the vcpu's. */
static double work_until(struct run *r, double t, double end)
{
	double preempt = r->m->preempt > 0 ? r->m->preempt : 0.2;

	while (t < end) {
		t += uniform(r, 20, 400);
		guest_switch(r, t, true, false);
		guest_switch(r, t + 0.5, false, false);
		change_thread(r, t + 0.2, false);
		if (uniform(r, 0, 1) < preempt) {
			host_out(r, t + 2, false);
			t += uniform(r, 20, r->m->preempt_us > 0 ? r->m->preempt_us : 900);
			host_in(r, t);
			t += 2;
		}
	}
	return t + 1;
}

static double work(struct run *r, double t)
{
	return work_until(r, t, t + uniform(r, 30, 2500));
}

static double one_stay(struct run *r, double t)
{
	host_in(r, t);
	t += happens(r, r->m->late) ? uniform(r, 14, r->m->late_us > 0 ? r->m->late_us : 400)
				    : uniform(r, 2, 14);
	do {
		guest_switch(r, t, true, true);
		change_thread(r, t + 0.2, false);
		t = work(r, t + 0.5);
		guest_switch(r, t, false, true);
		change_thread(r, t - 0.3, true);
		t += uniform(r, 1, 5);
		/* The host polls a while: what comes then needs no switch. */
		if (uniform(r, 0, 1) < 0.5)
			t += uniform(r, 1, 50);
	} while (uniform(r, 0, 1) < r->m->busy);
	host_out(r, t, true);
	return t;
}

/* Until the next wake-up: interrupts, or the guest's timer, some microseconds late. */
static double sleep_from(struct run *r, double t)
{
	double tick = r->m->tick_us, end = t + uniform(r, 50, 4000);

	if (tick <= 0)
		return end;
	return tick * (double)((int64_t)(end / tick) + 1) + uniform(r, 0, 6);
}

static void one_vcpu(struct run *r)
{
	double t = uniform(r, 0, 3000), end = (double)r->m->ms * 1000;
	bool is_paused = false;

	if (r->m->never_idles) {
		host_in(r, t);
		host_out(r, work_until(r, t + 5, end), false);
		return;
	}
	while (t < end) {
		t = sleep_from(r, one_stay(r, t));
		/* No stay reaches into the pause. */
		if (r->m->pause_us && !is_paused && t > r->pause_at - 40000) {
			t = r->pause_at + (double)r->m->pause_us + uniform(r, 0, 2000);
			is_paused = true;
		}
	}
}

static bool make_holes(struct run *r, struct fit_host *host)
{
	double t = 0, end = (double)r->m->ms * 1000;

	while (r->m->lost > 0 && t < end) {
		t += uniform(r, 0, 40000 / r->m->lost);
		if (!vec_push(&host->holes, (struct fit_stay){units(r, t), units(r, t + 20000)}))
			return false;
		t += 20000;
	}
	return true;
}

bool guest_model_make(const struct guest_model *m, struct fit_host *host, struct fit_guest *guest,
		      struct guest_truth *ret)
{
	struct run r = {.m = m,
			.truth = ret,
			.holes = &host->holes,
			.random = m->seed,
			.random_ids = m->seed,
			.ok = true};

	*ret = (struct guest_truth){.slope = -m->ppm * 1e-6 / (1 + m->ppm * 1e-6)};
	ret->offset = units(&r, uniform(&r, -3e6, 3e6));
	r.pause_at = m->pause_us ? (double)m->ms * 500 : 1e18;
	ret->paused_units = units(&r, (double)m->pause_us);
	ret->paused_at = m->pause_us ? guest_time(&r, r.pause_at) : INT64_MAX;
	if (!make_holes(&r, host))
		return false;
	for (uint32_t v = 0; v < m->nr_vcpus && r.ok; v++) {
		r.host = fit_host_lane(host, v, 100 + v);
		r.guest = fit_guest_lane(guest, v);
		r.thread = 0;
		r.thread_since = 1e18;
		r.ok = r.host && r.guest;
		if (r.ok)
			one_vcpu(&r);
	}
	return r.ok;
}

int64_t guest_truth_at(const struct guest_truth *g, int64_t t)
{
	int64_t d = g->offset + (int64_t)(g->slope * (double)t);

	return t > g->paused_at ? d + g->paused_units : d;
}
