/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "perfdata/perf_attr.h"

#include <stddef.h>

/* The kernel's bit-field starts at the least significant bit on little-endian hosts and at the most
 * significant on others. */
static uint64_t reverse_bits(uint64_t v)
{
	v = (v >> 1 & 0x5555555555555555u) | (v & 0x5555555555555555u) << 1;
	v = (v >> 2 & 0x3333333333333333u) | (v & 0x3333333333333333u) << 2;
	v = (v >> 4 & 0x0f0f0f0f0f0f0f0fu) | (v & 0x0f0f0f0f0f0f0f0fu) << 4;
	return __builtin_bswap64(v);
}

/* All flags are one bit but precise_ip: its two bits keep their order. Its own inverse. */
static uint64_t reverse_flags(uint64_t v)
{
	const unsigned int here = PERF_ATTR_PRECISE_IP_SHIFT, there = 62 - here;
	uint64_t turned = reverse_bits(v);

	turned &= ~((uint64_t)3 << there | (uint64_t)3 << here);
	turned |= (v >> here & 3) << there | (v >> there & 3) << here;
	return turned;
}

static bool is_big_endian(bool swap)
{
	return (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) != swap;
}

enum clew_err perf_attr_parse(struct bytes b, bool swap, struct perf_attr *ret)
{
	uint8_t raw[PERF_ATTR_SIZE_VER9] = {0};
	uint32_t size;

	if (bytes_left(&b) < PERF_ATTR_SIZE_VER0)
		return CLEW_TRUNCATED;
	size = load_u32(b.pos + offsetof(struct perf_attr, size), swap);
	if (size == 0)
		size = PERF_ATTR_SIZE_VER0;
	if (size < PERF_ATTR_SIZE_VER0 || size > bytes_left(&b))
		return CLEW_BAD_FILE;
	memcpy(raw, b.pos, size < sizeof(raw) ? size : sizeof(raw));

#define U16(field) .field = load_u16(raw + offsetof(struct perf_attr, field), swap)
#define U32(field) .field = load_u32(raw + offsetof(struct perf_attr, field), swap)
#define U64(field) .field = load_u64(raw + offsetof(struct perf_attr, field), swap)
	*ret = (struct perf_attr){
		U32(type),
		U64(config),
		U64(sample_period),
		U64(sample_type),
		U64(read_format),
		U64(flags),
		U32(wakeup),
		U32(bp_type),
		U64(config1),
		U64(config2),
		U64(branch_sample_type),
		U64(sample_regs_user),
		U32(sample_stack_user),
		U64(sample_regs_intr),
		U32(aux_watermark),
		U16(sample_max_stack),
		U16(reserved_2),
		U32(aux_sample_size),
		U32(aux_action),
		U64(sig_data),
		U64(config3),
		U64(config4),
	};
#undef U16
#undef U32
#undef U64
	ret->size = size;
	ret->clockid = (int32_t)load_u32(raw + offsetof(struct perf_attr, clockid), swap);
	if (is_big_endian(swap)) {
		ret->flags = reverse_flags(ret->flags);
		ret->aux_action = (uint32_t)(reverse_bits(ret->aux_action) >> 32);
	}
	return CLEW_OK;
}

void perf_attr_for_kernel(const struct perf_attr *attr, uint8_t ret[PERF_ATTR_SIZE_VER9])
{
	struct perf_attr a = *attr;

	if (is_big_endian(false)) {
		a.flags = reverse_flags(a.flags);
		a.aux_action = (uint32_t)(reverse_bits(a.aux_action) >> 32);
	}
	memcpy(ret, &a, sizeof(a));
}
