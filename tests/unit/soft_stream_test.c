/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/soft/soft_stream.h"

#include <string.h>

#include "packet/pt/ipt_packet.h"
#include "tap.h"

/* What a stream holds, as the names of its packets; times and padding are left out. */
static void list(const struct soft_stream *s, struct buf *ret)
{
	static const struct ipt_config config;
	struct bytes in = bytes_of(s->bytes.data, s->bytes.nr);
	struct ipt_packets p;
	struct ipt_packet k;

	buf_clear(ret);
	ipt_packets_init(&p, &config);
	ipt_packets_reset(&p, 0);
	while (ipt_packets_next(&p, &in, &k) == CLEW_OK) {
		if (k.kind == IPT_PAD || k.kind == IPT_TSC)
			continue;
		buf_printf(ret, "%s%s", ret->nr ? " " : "", ipt_kind_name((enum ipt_kind)k.kind));
		if (ipt_has_ip_form((enum ipt_kind)k.kind) && k.ip_form != IPT_IP_NONE)
			buf_printf(ret, ":%llx", (unsigned long long)k.ip);
		for (unsigned int i = 0; k.kind == IPT_TNT && i < k.nr_tnt; i++)
			buf_printf(ret, "%s%c", i ? "" : ":", k.tnt >> i & 1 ? 'T' : 'N');
	}
}

static void calls_and_branches(void)
{
	struct soft_stream s = {.psb_bytes = 1 << 20};
	struct buf text = {0};

	soft_stream_on(&s, 0x401000, true);
	for (int i = 0; i < 8; i++)
		soft_stream_branch(&s, i % 3 == 0);
	soft_stream_target(&s, 0x7fff12345678);
	soft_stream_off(&s);
	soft_stream_on(&s, 0x401002, true);
	soft_stream_off_at(&s, 0x401010);
	soft_stream_pad(&s);
	list(&s, &text);
	CHECK_STR(buf_cstr(&text),
		  "PSB MODE.Exec PSBEND TIP.PGE:401000 TNT:TNNTNN TNT:TN TIP:7fff12345678 TIP.PGD "
		  "TIP.PGE:401002 FUP:401010 TIP.PGD",
		  "a system call, and a signal");
	CHECK(s.bytes.nr % 8 == 0, "whole words are stored");
	buf_done(&text);
	buf_done(&s.bytes);
}

static void starts_again(void)
{
	struct soft_stream s = {.psb_bytes = 64};
	struct buf text = {0};

	soft_stream_on(&s, 0x401000, true);
	for (int i = 0; i < 20; i++)
		soft_stream_target(&s, 0x401000 + 0x10000 * (uint64_t)(i % 2));
	soft_stream_branch(&s, true);
	soft_stream_at(&s, 0x555555554321);
	soft_stream_target(&s, 0x555555554444);
	list(&s, &text);
	CHECK(strstr(buf_cstr(&text),
		     "TNT:T PSB MODE.Exec FUP:555555554321 PSBEND TIP:555555554444"),
	      "a PSB+ comes after the branches before it, and has the address");
	buf_done(&text);
	buf_done(&s.bytes);
}

static void changes_mode(void)
{
	struct soft_stream s = {.psb_bytes = 1 << 20};
	struct buf text = {0};

	soft_stream_on(&s, 0x401000, true);
	soft_stream_off(&s);
	soft_stream_on(&s, 0x8049000, false);
	list(&s, &text);
	CHECK_STR(buf_cstr(&text),
		  "PSB MODE.Exec PSBEND TIP.PGE:401000 TIP.PGD MODE.Exec TIP.PGE:8049000",
		  "32 bits after 64");
	buf_done(&text);
	buf_done(&s.bytes);
}

int main(void)
{
	calls_and_branches();
	starts_again();
	changes_mode();
	return tap_done();
}
