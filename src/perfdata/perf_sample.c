/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "perfdata/perf_sample.h"

static bool take_words(struct bytes *b, uint64_t nr, bool swap, struct perf_words *ret)
{
	/* A record is below 64 KiB: a count beyond this cannot fit, and the product below cannot
	 * wrap. */
	if (nr > UINT16_MAX || bytes_left(b) < nr * 8)
		return false;
	*ret = (struct perf_words){b->pos, (uint32_t)nr, swap};
	b->pos += nr * 8;
	return true;
}

static uint64_t words_of_value(uint64_t read_format)
{
	return (read_format & PERF_FORMAT_ID ? 2u : 1u) +
	       (read_format & PERF_FORMAT_LOST ? 1u : 0u);
}

static uint32_t words_of_times(uint64_t read_format)
{
	return (read_format & PERF_FORMAT_TOTAL_TIME_ENABLED ? 1u : 0u) +
	       (read_format & PERF_FORMAT_TOTAL_TIME_RUNNING ? 1u : 0u);
}

static bool read_group(struct bytes *b, bool swap, struct perf_read *ret)
{
	uint64_t nr;

	if (!bytes_u64(b, swap, &nr) || nr > UINT16_MAX)
		return false;
	ret->nr = nr;
	if (ret->read_format & PERF_FORMAT_TOTAL_TIME_ENABLED &&
	    !bytes_u64(b, swap, &ret->time_enabled))
		return false;
	if (ret->read_format & PERF_FORMAT_TOTAL_TIME_RUNNING &&
	    !bytes_u64(b, swap, &ret->time_running))
		return false;
	return take_words(b, nr * words_of_value(ret->read_format), swap, &ret->words);
}

/* Without GROUP the value comes first, then the times, then id and lost. They are kept as words, as
 * those of a group are. */
static bool read_single(struct bytes *b, bool swap, struct perf_read *ret)
{
	const uint64_t f = ret->read_format;
	uint64_t nr = words_of_value(f) + words_of_times(f);

	ret->nr = 1;
	if (!take_words(b, nr, swap, &ret->words))
		return false;
	nr = 1;
	if (f & PERF_FORMAT_TOTAL_TIME_ENABLED)
		ret->time_enabled = perf_words_get(&ret->words, (uint32_t)nr++);
	if (f & PERF_FORMAT_TOTAL_TIME_RUNNING)
		ret->time_running = perf_words_get(&ret->words, (uint32_t)nr);
	return true;
}

static bool take_read(struct bytes *b, bool swap, uint64_t read_format, struct perf_read *ret)
{
	*ret = (struct perf_read){.read_format = read_format};
	return read_format & PERF_FORMAT_GROUP ? read_group(b, swap, ret)
					       : read_single(b, swap, ret);
}

struct perf_read_value perf_read_get(const struct perf_read *r, uint64_t i)
{
	const uint64_t f = r->read_format;
	struct perf_read_value v = {0};
	uint32_t at = 0;

	if (f & PERF_FORMAT_GROUP)
		at = (uint32_t)(i * words_of_value(f));
	v.value = perf_words_get(&r->words, at++);
	if (!(f & PERF_FORMAT_GROUP))
		at += words_of_times(f);
	if (f & PERF_FORMAT_ID)
		v.id = perf_words_get(&r->words, at++);
	if (f & PERF_FORMAT_LOST)
		v.lost = perf_words_get(&r->words, at);
	return v;
}

enum clew_err perf_read_parse(struct bytes body, bool swap, const struct perf_attr *attr,
			      struct perf_read_record *ret)
{
	*ret = (struct perf_read_record){0};
	if (!bytes_u32(&body, swap, &ret->pid) || !bytes_u32(&body, swap, &ret->tid) ||
	    !take_read(&body, swap, attr->read_format, &ret->read))
		return CLEW_BAD_FILE;
	return CLEW_OK;
}

static bool take_raw(struct bytes *b, bool swap, struct bytes *ret)
{
	uint32_t size;

	return bytes_u32(b, swap, &size) && bytes_take(b, size, ret);
}

static bool take_branches(struct bytes *b, bool swap, uint64_t branch_type, struct perf_sample *s)
{
	uint64_t nr;

	if (!bytes_u64(b, swap, &nr) || nr > UINT16_MAX)
		return false;
	s->branches.nr = nr;
	s->branches.hw_idx = UINT64_MAX;
	if (branch_type & PERF_SAMPLE_BRANCH_HW_INDEX && !bytes_u64(b, swap, &s->branches.hw_idx))
		return false;
	if (!take_words(b, nr * 3, swap, &s->branches.words))
		return false;
	return !(branch_type & PERF_SAMPLE_BRANCH_COUNTERS) ||
	       take_words(b, nr, swap, &s->branches.counters);
}

uint64_t perf_branch_flags_from_other_end(uint64_t v)
{
	static const uint8_t bits[] = {1, 1, 1, 1, 16, 4, 2, 4, 3};
	unsigned int low = 0, high = 64;
	uint64_t flags = 0;

	for (size_t i = 0; i < sizeof(bits); i++) {
		high -= bits[i];
		flags |= (v >> high & (((uint64_t)1 << bits[i]) - 1)) << low;
		low += bits[i];
	}
	return flags;
}

static bool take_regs(struct bytes *b, bool swap, uint64_t mask, uint64_t *abi,
		      struct perf_words *ret)
{
	if (!bytes_u64(b, swap, abi))
		return false;
	return !*abi || take_words(b, (uint64_t)__builtin_popcountll(mask), swap, ret);
}

static bool take_stack(struct bytes *b, bool swap, struct perf_sample *s)
{
	uint64_t size;

	if (!bytes_u64(b, swap, &size))
		return false;
	if (!size)
		return true;
	return size <= bytes_left(b) && bytes_take(b, size, &s->stack_user.data) &&
	       bytes_u64(b, swap, &s->stack_user.dyn_size);
}

/* WEIGHT_STRUCT: u32 weight, u16 instruction latency, u16 retire latency. The kernel declares the
 * three in turned order on big-endian machines, so that the word has one meaning on all. */
static bool take_weight(struct bytes *b, bool swap, bool is_struct, struct perf_sample *s)
{
	uint64_t v;

	if (!bytes_u64(b, swap, &v))
		return false;
	s->weight = v;
	if (!is_struct)
		return true;
	s->weight = v & UINT32_MAX;
	s->ins_lat_and_retire = (uint32_t)(v >> 32);
	return true;
}

static bool take_aux(struct bytes *b, bool swap, struct bytes *ret)
{
	uint64_t size;

	return bytes_u64(b, swap, &size) && size <= bytes_left(b) && bytes_take(b, size, ret);
}

/* The fixed words in front. */
static bool take_front(struct bytes *b, bool swap, uint64_t type, struct perf_sample *s)
{
	uint32_t reserved;
	bool ok = true;

	if (type & PERF_SAMPLE_IDENTIFIER)
		ok &= bytes_u64(b, swap, &s->id);
	if (type & PERF_SAMPLE_IP)
		ok &= bytes_u64(b, swap, &s->ip);
	if (type & PERF_SAMPLE_TID)
		ok &= bytes_u32(b, swap, &s->pid) && bytes_u32(b, swap, &s->tid);
	if (type & PERF_SAMPLE_TIME)
		ok &= bytes_u64(b, swap, &s->time);
	if (type & PERF_SAMPLE_ADDR)
		ok &= bytes_u64(b, swap, &s->addr);
	if (type & PERF_SAMPLE_ID)
		ok &= bytes_u64(b, swap, &s->id);
	if (type & PERF_SAMPLE_STREAM_ID)
		ok &= bytes_u64(b, swap, &s->stream_id);
	if (type & PERF_SAMPLE_CPU)
		ok &= bytes_u32(b, swap, &s->cpu) && bytes_u32(b, swap, &reserved);
	if (type & PERF_SAMPLE_PERIOD)
		ok &= bytes_u64(b, swap, &s->period);
	return ok;
}

static bool take_callchain(struct bytes *b, bool swap, struct perf_sample *s)
{
	uint64_t nr;

	return bytes_u64(b, swap, &nr) && take_words(b, nr, swap, &s->callchain);
}

static bool take_middle(struct bytes *b, bool swap, const struct perf_attr *attr,
			struct perf_sample *s)
{
	const uint64_t type = attr->sample_type;

	if (type & PERF_SAMPLE_READ && !take_read(b, swap, attr->read_format, &s->read))
		return false;
	if (type & PERF_SAMPLE_CALLCHAIN && !take_callchain(b, swap, s))
		return false;
	if (type & PERF_SAMPLE_RAW && !take_raw(b, swap, &s->raw))
		return false;
	if (type & PERF_SAMPLE_BRANCH_STACK && !take_branches(b, swap, attr->branch_sample_type, s))
		return false;
	if (type & PERF_SAMPLE_REGS_USER &&
	    !take_regs(b, swap, attr->sample_regs_user, &s->regs_user.abi, &s->regs_user.words))
		return false;
	s->regs_user.mask = attr->sample_regs_user;
	return !(type & PERF_SAMPLE_STACK_USER) || take_stack(b, swap, s);
}

static bool take_back(struct bytes *b, bool swap, const struct perf_attr *attr,
		      struct perf_sample *s)
{
	const uint64_t type = attr->sample_type;

	if (type & (PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT) &&
	    !take_weight(b, swap, type & PERF_SAMPLE_WEIGHT_STRUCT, s))
		return false;
	if (type & PERF_SAMPLE_DATA_SRC && !bytes_u64(b, swap, &s->data_src))
		return false;
	if (type & PERF_SAMPLE_TRANSACTION && !bytes_u64(b, swap, &s->transaction))
		return false;
	if (type & PERF_SAMPLE_REGS_INTR &&
	    !take_regs(b, swap, attr->sample_regs_intr, &s->regs_intr.abi, &s->regs_intr.words))
		return false;
	s->regs_intr.mask = attr->sample_regs_intr;
	if (type & PERF_SAMPLE_PHYS_ADDR && !bytes_u64(b, swap, &s->phys_addr))
		return false;
	if (type & PERF_SAMPLE_CGROUP && !bytes_u64(b, swap, &s->cgroup))
		return false;
	if (type & PERF_SAMPLE_DATA_PAGE_SIZE && !bytes_u64(b, swap, &s->data_page_size))
		return false;
	if (type & PERF_SAMPLE_CODE_PAGE_SIZE && !bytes_u64(b, swap, &s->code_page_size))
		return false;
	return !(type & PERF_SAMPLE_AUX) || take_aux(b, swap, &s->aux);
}

enum clew_err perf_sample_parse(struct bytes body, uint16_t misc, bool swap,
				const struct perf_attr *attr, struct perf_sample *ret)
{
	const uint64_t type = attr->sample_type;

	*ret = (struct perf_sample){.sample_type = type, .misc = misc, .swap = swap};
	ret->id = ret->stream_id = ret->time = UINT64_MAX;
	ret->cpu = ret->pid = ret->tid = UINT32_MAX;
	if (!take_front(&body, swap, type, ret) || !take_middle(&body, swap, attr, ret) ||
	    !take_back(&body, swap, attr, ret))
		return CLEW_BAD_FILE;
	return CLEW_OK;
}

uint32_t perf_sample_id_bytes(const struct perf_attr *attr)
{
	const uint64_t fields = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID |
				PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER;

	if (!perf_attr_has(attr, PERF_ATTR_SAMPLE_ID_ALL))
		return 0;
	return 8 * (uint32_t)__builtin_popcountll(attr->sample_type & fields);
}

enum clew_err perf_sample_id_parse(struct bytes body, bool swap, const struct perf_attr *attr,
				   struct perf_sample_id *ret)
{
	const uint64_t type = attr->sample_type;
	uint32_t size = perf_sample_id_bytes(attr), reserved;

	*ret = (struct perf_sample_id){UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT32_MAX,
				       UINT32_MAX, UINT32_MAX, 0};
	if (!perf_attr_has(attr, PERF_ATTR_SAMPLE_ID_ALL))
		return CLEW_OK;
	if (bytes_left(&body) < size)
		return CLEW_BAD_FILE;
	body.pos = body.end - size;
	ret->size_bytes = size;
	if (type & PERF_SAMPLE_TID && bytes_u32(&body, swap, &ret->pid))
		bytes_u32(&body, swap, &ret->tid);
	if (type & PERF_SAMPLE_TIME)
		bytes_u64(&body, swap, &ret->time);
	if (type & PERF_SAMPLE_ID)
		bytes_u64(&body, swap, &ret->id);
	if (type & PERF_SAMPLE_STREAM_ID)
		bytes_u64(&body, swap, &ret->stream_id);
	if (type & PERF_SAMPLE_CPU && bytes_u32(&body, swap, &ret->cpu))
		bytes_u32(&body, swap, &reserved);
	if (type & PERF_SAMPLE_IDENTIFIER)
		bytes_u64(&body, swap, &ret->id);
	return CLEW_OK;
}

static void put_pair(uint64_t *to, uint32_t first, uint32_t second)
{
	const uint32_t pair[2] = {first, second};

	memcpy(to, pair, sizeof(pair));
}

void perf_sample_id_put(struct buf *b, const struct perf_attr *attr,
			const struct perf_sample_id *id)
{
	const uint64_t type = attr->sample_type;
	uint64_t words[6];
	size_t nr = 0;

	if (!perf_attr_has(attr, PERF_ATTR_SAMPLE_ID_ALL))
		return;
	if (type & PERF_SAMPLE_TID)
		put_pair(&words[nr++], id->pid, id->tid);
	if (type & PERF_SAMPLE_TIME)
		words[nr++] = id->time;
	if (type & PERF_SAMPLE_ID)
		words[nr++] = id->id;
	if (type & PERF_SAMPLE_STREAM_ID)
		words[nr++] = id->stream_id;
	if (type & PERF_SAMPLE_CPU)
		put_pair(&words[nr++], id->cpu, 0);
	if (type & PERF_SAMPLE_IDENTIFIER)
		words[nr++] = id->id;
	buf_add(b, words, 8 * nr);
}

struct perf_field_pos perf_id_pos_of(const struct perf_attr *attr)
{
	const uint64_t type = attr->sample_type;
	struct perf_field_pos pos = {-1, -1};

	if (type & PERF_SAMPLE_IDENTIFIER) {
		pos = (struct perf_field_pos){0, 1};
	} else if (type & PERF_SAMPLE_ID) {
		pos.sample =
			(int8_t)__builtin_popcountll(type & (PERF_SAMPLE_IP | PERF_SAMPLE_TID |
							     PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR));
		pos.trailer =
			(int8_t)(1 + !!(type & PERF_SAMPLE_CPU) + !!(type & PERF_SAMPLE_STREAM_ID));
	}
	if (!perf_attr_has(attr, PERF_ATTR_SAMPLE_ID_ALL))
		pos.trailer = -1;
	return pos;
}

struct perf_field_pos perf_time_pos_of(const struct perf_attr *attr)
{
	const uint64_t type = attr->sample_type;

	if (!(type & PERF_SAMPLE_TIME))
		return (struct perf_field_pos){-1, -1};
	return (struct perf_field_pos){
		.sample = (int8_t)__builtin_popcountll(
			type & (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID)),
		.trailer = (int8_t)(1 + __builtin_popcountll(
						type & (PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID |
							PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER))),
	};
}
