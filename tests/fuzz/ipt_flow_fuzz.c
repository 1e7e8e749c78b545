/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "flow/pt/ipt_flow.h"

#include "base/buf.h"
#include "packet/pt/ipt_write.h"
#include "prop/etm_log.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/*
 * Code and a trace:
 *
 *   byte 0    FLAG_ bits
 *   byte 1    code bytes / 16
 *   code      at CODE; from its middle on, seen again at CODE by a guest
 *   the rest  the trace; with FLAG_SYNC after a PSB+ at CODE
 *
 * Decoded in one piece, in pieces of 7 bytes with a cache that overflows, and only counted: all
 * three agree.
 */
enum {
	FLAG_SYNC = 1 << 0,
	FLAG_ERRATA = 1 << 1,
	FLAG_POINTS = 1 << 2,
	FLAG_SYNCS = 1 << 3,
	FLAG_CYCLES = 1 << 4,
	FLAG_NO_BRANCHES = 1 << 5,
	HEADER_BYTES = 2,
	CODE = 0x10000,
	SMALL_CACHE = 8 << 10,
};

struct code {
	const uint8_t *bytes;
	size_t size;
};

static uint32_t space(void *ctx, const struct code_key *key)
{
	(void)ctx;
	return key->context.x86.is_guest;
}

static bool find(void *ctx, uint32_t space_nr, uint64_t addr, struct code_region *ret)
{
	const struct code *c = ctx;
	size_t from = space_nr ? c->size / 2 : 0;

	if (addr < CODE || addr - CODE >= c->size - from)
		return false;
	*ret = (struct code_region){CODE, CODE + c->size - from, c->bytes + from};
	return true;
}

static void put_sync(struct buf *b)
{
	const struct ipt_packet packets[] = {
		{.kind = IPT_PSB},
		{.kind = IPT_FUP, .ip_form = IPT_IP_64, .ip = CODE},
		{.kind = IPT_PSBEND    },
	};
	uint64_t last_ip = 0;

	for (unsigned int i = 0; i < 3; i++)
		ipt_write(b, &packets[i], &last_ip);
}

struct outcome {
	struct flow_totals totals;
	uint64_t digest;
	enum clew_err err;
};

static struct outcome decode(struct ipt_flow_opts opts, struct bytes in, size_t chunk)
{
	struct etm_log log = {.code = opts.flow.code, .by_block = true};
	struct outcome ret = {.err = CLEW_NO_MEMORY};
	struct flow *f;

	opts.flow.ctx = &log;
	f = ipt_flow_new(&opts);
	if (!f)
		return ret;
	ret.err = etm_log_decode(f, in, chunk);
	ret.totals = *flow_totals(f);
	ret.digest = log.digest;
	flow_free(f);
	return ret;
}

static void check(bool ok)
{
	if (!ok)
		__builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct code code = {.bytes = data + HEADER_BYTES};
	struct code_source source = {space, find, &code};
	struct ipt_config config = {0};
	struct ipt_flow_opts opts = {
		.config = &config, .flow.code = &source, .flow.batch = etm_log_batch};
	struct outcome whole, pieces, counted;
	struct buf trace = {0};
	struct bytes in;

	if (size < HEADER_BYTES)
		return 0;
	config.errata = data[0] & FLAG_ERRATA ? UINT16_MAX : 0;
	config.has_no_branches = data[0] & FLAG_NO_BRANCHES;
	opts.flow.detail = data[0] & FLAG_POINTS ? FLOW_POINTS
			 : data[0] & FLAG_SYNCS  ? FLOW_SYNCS
						 : FLOW_ALL;
	opts.flow.has_cycles = data[0] & FLAG_CYCLES;
	size -= HEADER_BYTES;
	code.size = (size_t)data[1] * 16 < size ? (size_t)data[1] * 16 : size;
	if (data[0] & FLAG_SYNC)
		put_sync(&trace);
	buf_add(&trace, code.bytes + code.size, size - code.size);
	in = bytes_of(trace.data, trace.nr);
	whole = decode(opts, in, 0);
	opts.flow.max_cache_bytes = SMALL_CACHE;
	pieces = decode(opts, in, 7);
	opts.flow.batch = NULL;
	counted = decode(opts, in, 0);
	check(whole.err == CLEW_OK && pieces.err == CLEW_OK && counted.err == CLEW_OK);
	check(whole.digest == pieces.digest);
	check(whole.totals.nr_insns == pieces.totals.nr_insns);
	check(whole.totals.nr_insns == counted.totals.nr_insns);
	check(whole.totals.nr_exceptions == counted.totals.nr_exceptions);
	check(whole.totals.nr_nacc == counted.totals.nr_nacc);
	check(whole.totals.nr_no_sync == counted.totals.nr_no_sync);
	check(whole.totals.nr_packets == counted.totals.nr_packets);
	buf_done(&trace);
	return 0;
}
