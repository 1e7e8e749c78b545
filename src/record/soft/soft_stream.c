/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/soft/soft_stream.h"

#include "os/clock.h"
#include "packet/pt/ipt_write.h"

enum { STOPS_PER_TIME = 64 };
#define TSC_BITS ((UINT64_C(1) << 56) - 1)

static void put(struct soft_stream *s, const struct ipt_packet *k)
{
	size_t before = s->bytes.nr;

	ipt_write(&s->bytes, k, &s->last_ip);
	s->since_psb += s->bytes.nr - before;
}

static void put_kind(struct soft_stream *s, enum ipt_kind kind)
{
	put(s, &(struct ipt_packet){.kind = (uint8_t)kind});
}

static void put_branches(struct soft_stream *s)
{
	if (s->nr_tnt)
		put(s, &(struct ipt_packet){.kind = IPT_TNT, .nr_tnt = s->nr_tnt, .tnt = s->tnt});
	s->nr_tnt = 0;
	s->tnt = 0;
}

static void put_ip(struct soft_stream *s, enum ipt_kind kind, uint64_t ip)
{
	put_branches(s);
	put(s, &(struct ipt_packet){.kind = (uint8_t)kind,
				    .ip_form = (uint8_t)ipt_ip_shortest(ip, s->last_ip),
				    .ip = ip});
}

uint64_t soft_stream_now(const struct soft_stream *s)
{
	uint64_t ns, resolution;

	return os_clock_read(s->clockid, &ns, &resolution) && ns ? ns : 1;
}

static void put_time(struct soft_stream *s, uint64_t ns)
{
	put_branches(s);
	put(s, &(struct ipt_packet){.kind = IPT_TSC,
				    .tsc = (ns ? ns : soft_stream_now(s)) & TSC_BITS});
	s->since_time = 0;
}

static void put_mode(struct soft_stream *s)
{
	put(s, &(struct ipt_packet){
		       .kind = IPT_MODE_EXEC, .exec = {s->is_64, !s->is_64, false}
        });
	s->was_64 = s->is_64;
}

/* An address in it is whole: perf compresses it against the one before the PSB. */
static void put_psb(struct soft_stream *s, const uint64_t *ip, uint64_t ns)
{
	put_branches(s);
	s->since_psb = 0;
	put_kind(s, IPT_PSB);
	put_time(s, ns);
	put_mode(s);
	if (ip)
		put(s, &(struct ipt_packet){.kind = IPT_FUP, .ip_form = IPT_IP_SEXT48, .ip = *ip});
	put_kind(s, IPT_PSBEND);
	s->has_begun = true;
}

void soft_stream_on(struct soft_stream *s, uint64_t ip, bool is_64)
{
	soft_stream_on_at(s, ip, is_64, 0);
}

void soft_stream_on_at(struct soft_stream *s, uint64_t ip, bool is_64, uint64_t ns)
{
	s->is_64 = is_64;
	if (!s->has_begun || s->since_psb >= s->psb_bytes) {
		put_psb(s, NULL, ns);
	} else {
		put_time(s, ns);
		if (s->is_64 != s->was_64)
			put_mode(s);
	}
	put_ip(s, IPT_TIP_PGE, ip);
	s->is_on = true;
}

void soft_stream_off(struct soft_stream *s)
{
	put_branches(s);
	put(s, &(struct ipt_packet){.kind = IPT_TIP_PGD, .ip_form = IPT_IP_NONE});
	s->is_on = false;
}

void soft_stream_off_at(struct soft_stream *s, uint64_t ip)
{
	put_ip(s, IPT_FUP, ip);
	soft_stream_off(s);
}

void soft_stream_branch(struct soft_stream *s, bool is_taken)
{
	s->tnt |= (uint64_t)is_taken << s->nr_tnt++;
	if (s->nr_tnt == IPT_MAX_SHORT_TNT)
		put_branches(s);
}

void soft_stream_target(struct soft_stream *s, uint64_t target)
{
	put_ip(s, IPT_TIP, target);
}

void soft_stream_at(struct soft_stream *s, uint64_t ip)
{
	if (s->since_psb >= s->psb_bytes)
		put_psb(s, &ip, 0);
	else if (++s->since_time >= STOPS_PER_TIME)
		put_time(s, 0);
}

void soft_stream_pad(struct soft_stream *s)
{
	put_branches(s);
	while (s->bytes.nr % 8)
		put_kind(s, IPT_PAD);
}
