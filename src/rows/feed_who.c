/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdio.h>

#include "analyze/ana_own_ids.h"
#include "perfdata/perf_record.h"
#include "rows/report_feed_impl.h"

static bool is_guest(const struct ana_event *e)
{
	return e->who && e->who->has & WHO_A_GUEST;
}

/* A sample has its own ids, also where they prove nothing. */
static bool has_own_ids(const struct ana_event *e)
{
	const struct who_answer *a = e->who;

	if (e->synth || e->op || e->tid == UINT32_MAX)
		return false;
	return a->kind != WHO_UNKNOWN ? a->evidence == WHO_BY_SAMPLE
				      : a->reason == WHO_DEAD || a->reason == WHO_CONFLICT ||
						a->reason == WHO_NO_EVIDENCE;
}

bool feed_is_no_thread(const struct ana_event *e)
{
	return e->who && e->who->kind != WHO_TASK && !has_own_ids(e);
}

/* What is no thread of the host that has a name, a namespace. NULL: it is one. */
static const char *no_thread(const struct ana_event *e)
{
	return feed_is_no_thread(e) && !is_guest(e) ? ana_name_of_kind(e->who->kind) : NULL;
}

const char *feed_comm(const struct ana_event *e)
{
	const char *other = no_thread(e);

	if (other)
		return other;
	if (e->comm || !e->who || e->who->kind == WHO_UNKNOWN)
		return e->comm ? e->comm : ana_name_of_kind(WHO_UNKNOWN);
	return ":-1"; /* a thread of which nothing but a root id is known */
}

static const char *security_of(const struct ana_event *e)
{
	if (e->op && e->op->has & ANA_OP_HAS_PC)
		return who_security_name((enum arm_security)e->op->security);
	return e->who ? who_answer_security(e->who) : NULL;
}

static const char *level_text(const struct ana_event *e)
{
	if (e->who && who_level_name(e->who->level))
		return who_level_name(e->who->level);
	if (e->op && e->op->has & ANA_OP_HAS_PC && e->op->level < WHO_LEVEL_UNKNOWN)
		return who_level_name((enum who_level)e->op->level);
	switch (e->loc ? (enum ana_level)e->loc->level : ANA_UNKNOWN) {
	case ANA_USER:
		return "user";
	case ANA_KERNEL:
		return "kernel";
	case ANA_HYPERVISOR:
		return "hypervisor";
	case ANA_GUEST_USER:
		return "guest user";
	case ANA_GUEST_KERNEL:
		return "guest kernel";
	case ANA_UNKNOWN:
	case ANA_COOKIE:
		break;
	}
	return "[unknown]";
}

static uint32_t level_value(struct report_feed *f, const struct ana_event *e)
{
	const char *level = level_text(e), *security = security_of(e);
	char text[32];

	if (!security)
		return intern_str(&f->texts, level);
	snprintf(text, sizeof(text), "%s %s", level, security);
	return intern_str(&f->texts, text);
}

static const char *evidence_text(const struct ana_event *e)
{
	if (!e->who)
		return who_evidence_name(WHO_BY_SAMPLE);
	return e->who->kind == WHO_UNKNOWN ? who_reason_name(e->who->reason)
					   : who_evidence_name(e->who->evidence);
}

static uint32_t number_text(struct report_feed *f, const char *before, uint64_t n,
			    const char *after)
{
	struct buf b = {0};
	uint32_t id;

	buf_printf(&b, "%s%llu%s", before, (unsigned long long)n, after);
	id = b.is_failed ? INTERN_FAILED : intern_add(&f->texts, b.data, b.nr);
	buf_done(&b);
	return id;
}

static bool is_world_unknown(const struct ana_event *e)
{
	return e->who && e->who->kind == WHO_UNKNOWN && e->who->reason == WHO_WORLD;
}

static uint32_t machine_value(struct report_feed *f, const struct ana_event *e)
{
	if (is_guest(e))
		return number_text(f, "guest ", (uint32_t)e->who->machine.n, "");
	return intern_str(&f->texts, is_world_unknown(e) ? "[unknown]" : "host");
}

static uint32_t vcpu_value(struct report_feed *f, const struct ana_event *e)
{
	if (e->who && e->who->has & WHO_A_VCPU)
		return number_text(f, "", e->who->vcpu,
				   e->who->has & WHO_A_VCPU_GUESSED ? "?" : "");
	return intern_str(&f->texts, is_guest(e) || is_world_unknown(e) ? "[unknown]" : "-");
}

static uint32_t namespace_value(struct report_feed *f, const struct ana_event *e)
{
	const uint64_t *inode = map_u64_get(&f->namespace_of, e->pid);

	if (is_guest(e))
		return machine_value(f, e);
	if (e->who && e->who->kind != WHO_TASK)
		return intern_str(&f->texts, ana_name_of_kind(e->who->kind));
	if (inode)
		return number_text(f, "pid:[", *inode, "]");
	return intern_str(&f->texts, "[not recorded]");
}

uint32_t feed_who_value(struct report_feed *f, const struct ana_event *e, enum report_key k)
{
	if (k == REPORT_MACHINE)
		return machine_value(f, e);
	if (k == REPORT_VCPU)
		return vcpu_value(f, e);
	if (k == REPORT_NAMESPACE)
		return namespace_value(f, e);
	if (k == REPORT_CONTAINER)
		return e->cgroup && !is_guest(e) ? intern_str(&f->texts, e->cgroup)
						 : namespace_value(f, e);
	return k == REPORT_LEVEL ? level_value(f, e) : intern_str(&f->texts, evidence_text(e));
}

enum clew_err feed_take_namespaces(struct report_feed *f, const struct ana_event *e)
{
	enum { AT_INODE = 3 * 16 + 8 /* of "pid" */ };
	struct perf_namespaces n;
	uint64_t inode;

	if (perf_namespaces_parse(&e->record, &n) != CLEW_OK || !bytes_skip(&n.links, AT_INODE) ||
	    !bytes_u64(&n.links, e->record.swap, &inode) ||
	    !who_local_is_thread(who_local_id_of(n.pid)))
		return CLEW_OK;
	if (!map_u64_get(&f->namespace_of, n.pid) && !feed_take_key(f, 0))
		return CLEW_OK;
	return map_u64_put(&f->namespace_of, n.pid, inode) ? CLEW_OK : CLEW_NO_MEMORY;
}
