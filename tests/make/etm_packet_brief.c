/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "make/etm_packet_brief.h"

static void number(struct buf *b, const char *name, uint64_t v)
{
	if (v)
		buf_printf(b, " %s=%llx", name, (unsigned long long)v);
}

static void flag(struct buf *b, const char *name, bool v)
{
	if (v)
		buf_printf(b, " %s", name);
}

static void context(struct buf *b, const struct etm_context *c)
{
	if (!c->has_payload)
		return;
	buf_printf(b, " EL%u", c->el);
	flag(b, "SF", c->sf);
	flag(b, "NS", c->ns);
	flag(b, "NSE", c->nse);
	flag(b, "V", c->has_vmid);
	flag(b, "C", c->has_cid);
	number(b, "vmid", c->vmid);
	number(b, "cid", c->cid);
}

static void info(struct buf *b, const struct etm_packet *p)
{
	number(b, "sections", p->trace_info.sections);
	number(b, "info", p->trace_info.info);
	number(b, "key", p->trace_info.key);
	number(b, "spec", p->trace_info.spec);
	number(b, "cyct", p->trace_info.cyct);
}

void etm_packet_brief(struct buf *b, const struct etm_packet *p)
{
	buf_printf(b, "%s/%llu", etm_kind_name((enum etm_kind)p->kind),
		   (unsigned long long)p->bytes);
	number(b, "a", p->address);
	flag(b, "IS1", p->is);
	number(b, "match", p->match);
	context(b, &p->context);
	if (p->atoms.nr)
		buf_char(b, ' ');
	for (unsigned int i = 0; i < p->atoms.nr; i++)
		buf_char(b, p->atoms.bits >> i & 1 ? 'E' : 'N');
	number(b, "commit", p->commit);
	flag(b, "mispredict", p->is_mispredict);
	number(b, "ts", p->timestamp);
	number(b, "bits", p->timestamp_bits);
	if (p->has_count)
		buf_printf(b, " count=%x", p->count);
	number(b, "type", p->exception);
	number(b, "e", p->exception_e);
	flag(b, "pending", p->is_fault_pending);
	flag(b, "address", p->has_address);
	if (p->has_q_count)
		buf_printf(b, " q=%x", p->q_count);
	number(b, "events", p->events);
	number(b, "el", p->ite_el);
	number(b, "value", p->ite_value);
	info(b, p);
}
