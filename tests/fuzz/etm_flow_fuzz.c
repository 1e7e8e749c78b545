/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "flow/etm/etm_flow.h"

#include "base/buf.h"
#include "prop/etm_log.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/*
 * A trace unit's configuration, code and a trace:
 *
 *   byte 0    FLAG_ bits
 *   byte 1    TRCIDR8
 *   byte 2    bits 0 CIDSIZE, 2:1 VMIDSIZE, 5:3 minor version; SYNC, T32
 *   byte 3    code bytes / 16
 *   code      at CODE; from its middle on, seen again at CODE by EL1
 *   the rest  the trace; with SYNC after an async, trace info and an address and context
 *
 * Decoded in one piece, in pieces of 7 bytes with a cache that overflows, and only counted: all
 * three agree.
 */
enum {
	FLAG_ETE = 1 << 0,
	FLAG_RETURN_STACK = 1 << 1,
	FLAG_BROADCAST = 1 << 2,
	FLAG_Q = 1 << 3,
	FLAG_COMMOPT = 1 << 4,
	FLAG_COMMTRANS = 1 << 5,
	FLAG_WFX = 1 << 6,
	FLAG_SPLITS = 1 << 7,
	SYNC = 1 << 6, /* of byte 2 */
	T32 = 1 << 7,
	HEADER_BYTES = 4,
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
	return key->context.arm.el == 1;
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

static bool config_of(const uint8_t *p, struct etm_config *ret)
{
	uint32_t minor = p[2] >> 3 & 7;
	struct etm_regs r = {
		.is_ete = p[0] & FLAG_ETE,
		.traceidr = 0x10,
		.configr = (p[0] & FLAG_RETURN_STACK ? 1u << 12 : 0) |
			   (p[0] & FLAG_BROADCAST ? 1u << 3 : 0),
		.idr0 = (p[0] & FLAG_Q ? 3u << 15 : 0) | (p[0] & FLAG_COMMOPT ? 1u << 29 : 0) |
			(p[0] & FLAG_COMMTRANS ? 1u << 30 : 0) | 1u << 7,
		.idr1 = 0x4100f403 | minor << 4,
		.idr2 = 8u | (p[2] & 1 ? 4u << 5 : 0) | (p[2] >> 1 & 3u) << 10 |
			(p[0] & FLAG_WFX ? 1u << 31 : 0),
		.idr8 = p[1],
		.devarch = 0x47705a13 | minor << 16,
	};

	return !etm_config_init(ret, &r, NULL);
}

/** Long enough a sync for every configuration: sizes are of @p c. */
static void put_sync(struct buf *b, const struct etm_config *c, bool is_t32)
{
	static const uint8_t to_info[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 0x01, 0x00};
	const uint8_t address[] = {is_t32 ? 0x83 : 0x82,
				   0,
				   0,
				   CODE >> 16,
				   0,
				   (uint8_t)((is_t32 ? 0x20 : 0x30) | (c->vmid_bytes ? 0x40 : 0) |
					     (c->cid_bytes ? 0x80 : 0))};

	buf_add(b, to_info, sizeof(to_info));
	buf_add(b, address, sizeof(address));
	buf_fill(b, 1, (size_t)(c->vmid_bytes + c->cid_bytes));
}

struct outcome {
	struct flow_totals totals;
	uint64_t digest;
	enum clew_err err;
};

static struct outcome decode(struct etm_flow_opts opts, struct bytes in, size_t chunk)
{
	struct etm_log log = {.code = opts.flow.code, .by_block = true};
	struct outcome ret = {.err = CLEW_NO_MEMORY};
	struct flow *f;

	opts.flow.ctx = &log;
	f = etm_flow_new(&opts);
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
	struct etm_config config;
	struct code code = {.bytes = data + HEADER_BYTES};
	struct code_source source = {space, find, &code};
	struct etm_flow_opts opts = {
		.config = &config, .flow.code = &source, .flow.batch = etm_log_batch};
	struct outcome whole, pieces, counted;
	struct buf trace = {0};
	struct bytes in;

	if (size < HEADER_BYTES || !config_of(data, &config))
		return 0;
	size -= HEADER_BYTES;
	code.size = (size_t)data[3] * 16 < size ? (size_t)data[3] * 16 : size;
	opts.splits_source_ranges = data[0] & FLAG_SPLITS;
	if (data[2] & SYNC)
		put_sync(&trace, &config, data[2] & T32);
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
