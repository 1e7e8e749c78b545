/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TESTS_MAKE_GUEST_MODEL_H
#define TESTS_MAKE_GUEST_MODEL_H

#include "merge/fit_edges.h"

/*
 * A host that runs one guest, at random, by a seed: the switches that each side records, on its own
 * clock. Written from the description of the kernels' behaviour (a vcpu's thread is woken, enters
 * the guest, is preempted, blocks), and shares nothing with the estimator but its input.
 */
struct guest_model {
	uint64_t seed;
	uint32_t nr_vcpus;
	uint32_t ms;        /* of recording */
	double per_us;      /* units of time in a microsecond; drift below needs some digits */
	double ppm;         /* how much faster the guest's clock is */
	double lost;        /* share of host switches that are in holes */
	int64_t pause_us;   /* in the middle the guest's clock stands still for so long; 0: never */
	double busy;        /* share of wake-ups that the host's poll saves the switch of */
	int64_t first_from; /* ms of host time at which the guest's recording starts */
	double late;        /* share of wake-ups after which the guest runs up to late_us later */
	double late_us;     /* 0: 400 */
	double unseen;      /* share of host switches that are missing, and not in holes */
	double ids;         /* share of its threads' stays that the host's trace has an id of */
	bool ids_differ;    /* ... of another PID namespace than the guest's recording */
	bool never_idles;   /* only the host's preemption stops it */
	double preempt;     /* share of its threads' turns in which the host preempts: 0: 0.2 */
	double preempt_us;  /* ... for up to so long; 0: 900 */
	uint32_t
		tick_us; /* sleeps end at multiples of it, as of a kernel's timer; 0: at any time */
};

/** What is true. */
struct guest_truth {
	int64_t offset;       /* host - guest at guest time 0, of the first piece */
	double slope;         /* growth with guest time */
	int64_t paused_at;    /* guest time of the pause */
	int64_t paused_units; /* what it adds */
};

/** @return false: out of memory. */
bool guest_model_make(const struct guest_model *m, struct fit_host *host, struct fit_guest *guest,
		      struct guest_truth *ret);

/** host - guest at guest time @p t. */
int64_t guest_truth_at(const struct guest_truth *g, int64_t t);

#endif
