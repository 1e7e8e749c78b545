/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/trace/spe_dump.h"

enum { LINE_BYTES = 16 };

/* --- events --- */

static const char *const event_names[64] = {
	[0] = "EXCEPTION-GEN", [1] = "RETIRED",           [2] = "L1D-ACCESS",
	[3] = "L1D-REFILL",    [4] = "TLB-ACCESS",        [5] = "TLB-REFILL",
	[6] = "NOT-TAKEN",     [7] = "MISPRED",           [8] = "LLC-ACCESS",
	[9] = "LLC-REFILL",    [10] = "REMOTE-ACCESS",    [11] = "ALIGNMENT",
	[16] = "TXN",          [17] = "SVE-PARTIAL-PRED", [18] = "SVE-EMPTY-PRED",
	[19] = "L2D-ACCESS",   [20] = "L2D-MISS",         [21] = "HITM",
	[22] = "LFB",          [23] = "SNOOPED",          [24] = "STREAMING-SVE",
	[25] = "SMCU",
};

enum { N1_LATE_PREFETCH = 12 };

enum spe_core spe_core_of(uint32_t midr)
{
	return (midr & 0xff00fff0) == 0x4100d0c0 ? SPE_CORE_NEOVERSE_N1 : SPE_CORE_UNKNOWN;
}

void spe_events_text(struct buf *out, uint64_t events, enum spe_core core)
{
	const char *before = " IMPDEF:";

	buf_str(out, "EV");
	for (unsigned int i = 0; i < 64; i++)
		if (events >> i & 1 && event_names[i])
			buf_printf(out, " %s", event_names[i]);
	if (core == SPE_CORE_NEOVERSE_N1 && events >> N1_LATE_PREFETCH & 1) {
		buf_str(out, " LATE-PREFETCH");
		events &= ~(1ULL << N1_LATE_PREFETCH);
	}
	for (unsigned int i = 0; i < 64; i++) {
		if (!(events >> i & 1) || event_names[i])
			continue;
		buf_printf(out, "%s%u", before, i);
		before = ",";
	}
}

/* --- operations --- */

static void flag(struct buf *out, uint8_t p, unsigned int bit, const char *text)
{
	if (p >> bit & 1)
		buf_str(out, text);
}

/** Effective vector length, bits 6:4, in bits. */
static unsigned int vector_bits(uint8_t p)
{
	return 32U << (p >> 4 & 7);
}

static void other_text(struct buf *out, uint8_t p)
{
	if ((p & 0x89) == 0x08) {
		buf_printf(out, "SVE-OTHER EVLEN %u", vector_bits(p));
		flag(out, p, 1, " FP");
		flag(out, p, 2, " PRED");
	} else if ((p & 0x89) == 0x88) {
		unsigned int ets = (p >> 4 & 7U) << 1 | (p >> 2 & 1U);

		buf_printf(out, "SME-OTHER ETS %u", 128U << ets);
		flag(out, p, 1, " FP");
	} else if ((p & 0xf8) == 0) {
		buf_str(out, "OTHER");
		flag(out, p, 2, " ASE");
		flag(out, p, 1, " FP");
		buf_str(out, p & 1 ? " COND-SELECT" : " INSN-OTHER");
	} else {
		buf_printf(out, "OTHER reserved 0x%x", p);
	}
}

/** In this order: 0x0a is an extended operation, not one of SVE. */
static void memory_text(struct buf *out, uint8_t p)
{
	static const struct {
		uint8_t mask, value;
		const char *text;
	} kinds[] = {
		{0xe2, 0x02, ""            },
		{0xfe, 0x04, " SIMD-FP"    },
		{0xfe, 0x00, " GP-REG"     },
		{0xfe, 0x10, " UNSPEC-REG" },
		{0xfe, 0x30, " NV-SYSREG"  },
		{0xfe, 0x14, " MTE-TAG"    },
		{0xfe, 0x20, " MEMCPY"     },
		{0xff, 0x25, " MEMSET"     },
		{0x0a, 0x08, " SVE-SME-REG"},
		{0xfa, 0x40, " GCS"        },
		{0x00, 0x00, NULL          },
	};
	unsigned int i = 0;

	buf_str(out, p & 1 ? "ST" : "LD");
	while ((p & kinds[i].mask) != kinds[i].value)
		i++;
	if (!kinds[i].text)
		return;
	buf_str(out, kinds[i].text);
	if (kinds[i].mask == 0xe2) {
		flag(out, p, 2, " AT");
		flag(out, p, 3, " EXCL");
		flag(out, p, 4, " AR");
	} else if (kinds[i].mask == 0x0a) {
		buf_printf(out, " EVLEN %u", vector_bits(p));
		flag(out, p, 2, " PRED");
		flag(out, p, 7, " SG");
	} else if (kinds[i].mask == 0xfa) {
		flag(out, p, 2, " COMM");
	}
}

static void branch_text(struct buf *out, uint8_t p)
{
	/* FEAT_SPE_CRR; 0: the core does not say. */
	static const char *const kinds[] = {"", " CR-BL", " CR-RET", " CR-NON-BL-RET"};

	buf_char(out, 'B');
	flag(out, p, 0, " COND");
	flag(out, p, 1, " IND");
	flag(out, p, 2, " GCS");
	buf_str(out, kinds[p >> 3 & 3]);
}

void spe_operation_text(struct buf *out, unsigned int op_class, uint8_t payload)
{
	switch (op_class) {
	case SPE_CLASS_OTHER:
		other_text(out, payload);
		break;
	case SPE_CLASS_MEMORY:
		memory_text(out, payload);
		break;
	case SPE_CLASS_BRANCH:
		branch_text(out, payload);
		break;
	default:
		buf_printf(out, "OP-TYPE 0x%x (%u)", payload, op_class);
		break;
	}
}

/* --- the rest --- */

/** Without the top byte: that of the data address is a tag, and is printed. */
static void address_text(struct buf *out, const struct spe_packet *p)
{
	static const char *const names[] = {[SPE_ADDRESS_PC] = "PC",
					    [SPE_ADDRESS_TARGET] = "TGT",
					    [SPE_ADDRESS_PREV_TARGET] = "PBT"};
	unsigned long long v = p->payload, address = v & (UINT64_MAX >> 8);
	unsigned int ns = (unsigned int)(v >> 63);

	switch (p->index) {
	case SPE_ADDRESS_PC:
	case SPE_ADDRESS_TARGET:
	case SPE_ADDRESS_PREV_TARGET:
		buf_printf(out, "%s 0x%llx el%u ns=%u", names[p->index], address,
			   (unsigned int)(v >> 61 & 3), ns);
		break;
	case SPE_ADDRESS_VA:
		buf_printf(out, "VA 0x%llx", v);
		break;
	case SPE_ADDRESS_PA:
		buf_printf(out, "PA 0x%llx ns=%u ch=%u pat=%x", address, ns,
			   (unsigned int)(v >> 62 & 1), (unsigned int)(v >> 56 & 0xf));
		break;
	default:
		buf_printf(out, "ADDR 0x%llx (%u)", v, p->index);
		break;
	}
}

static void counter_text(struct buf *out, const struct spe_packet *p)
{
	static const char *const names[] = {"TOT", "ISSUE", "XLAT"};

	buf_printf(out, "LAT %u %s", (unsigned int)p->payload,
		   p->index <= SPE_COUNTER_XLAT ? names[p->index] : "");
}

void spe_packet_text(struct buf *out, const struct spe_packet *p, enum spe_core core)
{
	unsigned long long v = p->payload;

	switch ((enum spe_kind)p->kind) {
	case SPE_RESERVED:
	case NR_SPE_KINDS:
		buf_str(out, "Bad packet!");
		break;
	case SPE_PAD:
	case SPE_ALIGNMENT:
		buf_str(out, "PAD");
		break;
	case SPE_END:
		buf_str(out, "END");
		break;
	case SPE_EVENTS:
		spe_events_text(out, v, core);
		break;
	case SPE_DATA_SOURCE:
		buf_printf(out, "DATA-SOURCE %lld", (long long)v);
		break;
	case SPE_OPERATION:
		spe_operation_text(out, p->index, (uint8_t)v);
		break;
	case SPE_CONTEXT:
		buf_printf(out, "CONTEXT 0x%llx el%u", v, p->index + 1U);
		break;
	case SPE_TIMESTAMP:
		buf_printf(out, "TS %lld", (long long)v);
		break;
	case SPE_COUNTER:
		counter_text(out, p);
		break;
	case SPE_ADDRESS:
		address_text(out, p);
		break;
	}
}

/** Bytes of the line at @p pos: a packet, or padding after another. */
static size_t line_of(const uint8_t *pos, size_t left, uint64_t offset, struct spe_packet *ret)
{
	size_t n;

	spe_packet_at(pos, left, offset, ret);
	if (ret->is_cut) {
		*ret = (struct spe_packet){.kind = SPE_RESERVED, .bytes = 1};
		return 1;
	}
	n = ret->bytes;
	if (ret->kind == SPE_PAD || ret->kind == SPE_ALIGNMENT)
		while (n < LINE_BYTES && n < left && !pos[n])
			n++;
	return n;
}

size_t spe_dump_lines(struct buf *out, const uint8_t *data, size_t bytes, uint64_t offset,
		      enum spe_core core, size_t *at, size_t max)
{
	size_t n = 0;

	for (; n < max && *at < bytes; n++) {
		struct spe_packet p;
		size_t size = line_of(data + *at, bytes - *at, offset + *at, &p);

		buf_str(out, ".  ");
		buf_hex(out, *at, 8, '0');
		buf_str(out, ": ");
		for (size_t i = 0; i < size; i++) {
			buf_char(out, ' ');
			buf_hex(out, data[*at + i], 2, '0');
		}
		buf_fill(out, ' ', 3 * (LINE_BYTES - size) + 1);
		spe_packet_text(out, &p, core);
		buf_char(out, '\n');
		*at += size;
	}
	return n;
}

void spe_dump_head(struct buf *out, size_t bytes)
{
	buf_printf(out, ".\n. ... ARM SPE data: size 0x%zx bytes\n", bytes);
}

void spe_dump(struct buf *out, const uint8_t *data, size_t bytes, uint64_t offset,
	      enum spe_core core)
{
	size_t at = 0;

	spe_dump_head(out, bytes);
	spe_dump_lines(out, data, bytes, offset, core, &at, SIZE_MAX);
}
