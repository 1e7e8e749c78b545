/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "who/who_ran.h"

const char *who_evidence_name(enum who_evidence e)
{
	static const char *const names[WHO_NR_EVIDENCE] = {
		[WHO_BY_NOTHING] = "none",
		[WHO_BY_CONTEXT] = "context",
		[WHO_BY_AUX] = "aux",
		[WHO_BY_QUEUE] = "queue",
		[WHO_BY_SWITCH] = "switch",
		[WHO_BY_SWITCH_BACKWARD] = "switch-backward",
		[WHO_BY_SCHED_SWITCH] = "sched_switch",
		[WHO_BY_LANDMARK] = "landmark",
		[WHO_BY_ITRACE_START] = "itrace-start",
		[WHO_BY_SAMPLE] = "sample",
		[WHO_BY_DERIVED] = "derived",
	};

	return names[e];
}

const char *who_level_name(enum who_level l)
{
	static const char *const names[] = {
		[WHO_EL0] = "EL0", [WHO_EL1] = "EL1",       [WHO_EL2] = "EL2",
		[WHO_EL3] = "EL3", [WHO_X86_USER] = "user", [WHO_X86_KERNEL] = "kernel",
	};

	return l < sizeof(names) / sizeof(names[0]) ? names[l] : NULL;
}

const char *who_kind_name(enum who_kind k)
{
	static const char *const names[WHO_NR_KINDS] = {
		[WHO_TASK] = "task",       [WHO_IDLE] = "idle",
		[WHO_OUTSIDE] = "outside", [WHO_IDLE_OR_OUTSIDE] = "idle-or-outside",
		[WHO_UNKNOWN] = "unknown",
	};

	return names[k];
}

const char *who_reason_name(enum who_reason r)
{
	static const char *const names[WHO_NR_REASONS] = {
		[WHO_REASON_NONE] = "none",
		[WHO_NO_EVIDENCE] = "no-evidence",
		[WHO_BEFORE_FIRST] = "before-first",
		[WHO_LOST] = "lost",
		[WHO_SWITCHING] = "switching",
		[WHO_NO_CLOCK] = "no-clock",
		[WHO_CLOCK_UNTRUSTED] = "clock-untrusted",
		[WHO_CLOCK_CONFLICT] = "clock-conflict",
		[WHO_CONFLICT] = "conflict",
		[WHO_DEAD] = "dead",
		[WHO_REUSE_UNSEEN] = "reuse-unseen",
		[WHO_WORLD] = "world",
		[WHO_GUEST_THREAD] = "guest-thread",
		[WHO_DAMAGED] = "damaged",
	};

	return names[r];
}

/** Two proofs of a guest's thread: that its clock fits, and that its ids are root ids. */
static void compare_guest(struct who_counts *c, const struct who_answer *a, uint64_t nr)
{
	const uint32_t both = WHO_A_GUEST_ROOT | WHO_A_GUEST_LOCAL;

	if ((a->has & both) != both)
		return;
	c->nr_guest_agree += a->guest_root.n == a->guest_local.n ? nr : 0;
	c->nr_guest_differ += a->guest_root.n != a->guest_local.n ? nr : 0;
}

static bool is_same_thread(const struct who_answer *a, const struct who_answer *b)
{
	return a->root.n == b->root.n && a->local.n == b->local.n && a->pid.n == b->pid.n &&
	       a->candidates[0].n == b->candidates[0].n &&
	       a->candidates[1].n == b->candidates[1].n && a->serial == b->serial &&
	       a->comm == b->comm && a->space == b->space;
}

static bool is_same_machine(const struct who_answer *a, const struct who_answer *b)
{
	return a->machine.n == b->machine.n && a->vcpu == b->vcpu &&
	       a->guest_root.n == b->guest_root.n && a->guest_local.n == b->guest_local.n;
}

bool who_answer_is_same(const struct who_answer *a, const struct who_answer *b)
{
	return a->has == b->has && a->kind == b->kind && a->evidence == b->evidence &&
	       a->reason == b->reason && a->level == b->level && a->security == b->security &&
	       is_same_thread(a, b) && is_same_machine(a, b);
}

void who_counts_add_many(struct who_counts *c, const struct who_answer *a, uint64_t nr)
{
	c->by_kind[a->kind] += nr;
	if (a->kind == WHO_UNKNOWN)
		c->by_reason[a->reason] += nr;
	else
		c->by_evidence[a->evidence] += nr;
	c->nr_guest += a->has & WHO_A_GUEST ? nr : 0;
	if (a->has & WHO_A_GUEST && !(a->has & (WHO_A_GUEST_ROOT | WHO_A_GUEST_LOCAL)))
		c->by_guest_reason[a->reason] += nr;
	compare_guest(c, a, nr);
	c->nr_stale_names += a->has & WHO_A_NAME_STALE ? nr : 0;
	c->nr_clock_errors += a->has & WHO_A_CLOCK_ERROR ? nr : 0;
}

void who_counts_join(struct who_counts *to, const struct who_counts *from)
{
	for (int i = 0; i < WHO_NR_KINDS; i++)
		to->by_kind[i] += from->by_kind[i];
	for (int i = 0; i < WHO_NR_EVIDENCE; i++)
		to->by_evidence[i] += from->by_evidence[i];
	for (int i = 0; i < WHO_NR_REASONS; i++) {
		to->by_reason[i] += from->by_reason[i];
		to->by_guest_reason[i] += from->by_guest_reason[i];
	}
	to->nr_guest += from->nr_guest;
	to->nr_guest_agree += from->nr_guest_agree;
	to->nr_guest_differ += from->nr_guest_differ;
	to->nr_stale_names += from->nr_stale_names;
	to->nr_clock_errors += from->nr_clock_errors;
}

const char *who_security_name(enum arm_security s)
{
	static const char *const names[] = {
		[ARM_SECURE] = "secure", [ARM_ROOT] = "root", [ARM_REALM] = "realm"};

	return s < ARM_SECURITY_UNKNOWN ? names[s] : NULL;
}

const char *who_answer_security(const struct who_answer *a)
{
	return who_level_name(a->level) ? who_security_name(a->security) : NULL;
}
