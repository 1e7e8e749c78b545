/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "make/perf_random.h"

#include <stdlib.h>

#include "make/splitmix.h"

uint64_t perf_random_u64(struct perf_random *r)
{
	return splitmix64(&r->state);
}

uint64_t perf_random_below(struct perf_random *r, uint64_t n)
{
	return n ? perf_random_u64(r) % n : 0;
}

static bool chance(struct perf_random *r, uint64_t percent)
{
	return perf_random_below(r, 100) < percent;
}

static uint32_t u32(struct perf_random *r)
{
	return (uint32_t)perf_random_u64(r);
}

static void *bytes_for(struct perf_random *r, size_t size)
{
	uint8_t *p = arena_alloc(&r->memory, size);

	if (!p)
		abort();
	for (size_t i = 0; i < size; i++)
		p[i] = (uint8_t)perf_random_u64(r);
	return p;
}

static struct bytes random_bytes(struct perf_random *r, size_t size)
{
	return bytes_of(bytes_for(r, size), size);
}

static bool is_swapped(const struct perf_random *r)
{
	return (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) != r->big;
}

static struct perf_words random_words(struct perf_random *r, uint32_t nr)
{
	return (struct perf_words){bytes_for(r, 8 * (size_t)nr), nr, is_swapped(r)};
}

static const char *random_text(struct perf_random *r, size_t max)
{
	size_t len = perf_random_below(r, max + 1);
	char *s = bytes_for(r, len + 1);

	for (size_t i = 0; i < len; i++)
		s[i] = (char)('!' + (uint8_t)s[i] % 94);
	s[len] = '\0';
	return s;
}

void perf_random_attr(struct perf_random *r, struct perf_attr *ret)
{
	*ret = (struct perf_attr){
		.type = (uint32_t)perf_random_below(r, 12),
		.config = perf_random_below(r, 16),
		.sample_period = perf_random_u64(r),
		.sample_type = perf_random_u64(r) & perf_random_u64(r) & (PERF_SAMPLE_MAX - 1),
		.read_format = perf_random_below(r, 32),
		.flags = perf_random_u64(r) & ((PERF_ATTR_DEFER_OUTPUT << 1) - 1),
		.wakeup = u32(r),
		.bp_type = u32(r),
		.config1 = perf_random_u64(r),
		.config2 = perf_random_u64(r),
		.branch_sample_type = perf_random_below(r, PERF_SAMPLE_BRANCH_COUNTERS << 1),
		.sample_regs_user = perf_random_u64(r) & perf_random_u64(r),
		.sample_stack_user = u32(r),
		.clockid = (int32_t)u32(r),
		.sample_regs_intr = perf_random_u64(r) & perf_random_u64(r),
		.aux_watermark = u32(r),
		.sample_max_stack = (uint16_t)u32(r),
		.aux_sample_size = u32(r),
		.aux_action = (uint32_t)perf_random_below(r, 8),
		.sig_data = perf_random_u64(r),
		.config3 = perf_random_u64(r),
		.config4 = perf_random_u64(r),
	};
	if (ret->sample_type & PERF_SAMPLE_WEIGHT)
		ret->sample_type &= ~PERF_SAMPLE_WEIGHT_STRUCT; /* the kernel allows only one */
	if (chance(r, 80))
		ret->flags |= PERF_ATTR_SAMPLE_ID_ALL;
}

static void random_read(struct perf_random *r, uint64_t format, struct perf_read *ret)
{
	uint32_t value_words =
		1 + (uint32_t)__builtin_popcountll(format & (PERF_FORMAT_ID | PERF_FORMAT_LOST));
	uint32_t time_words = (uint32_t)__builtin_popcountll(
		format & (PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING));

	*ret = (struct perf_read){.nr = 1, .read_format = format};
	if (format & PERF_FORMAT_GROUP)
		ret->nr = perf_random_below(r, 5);
	ret->words = random_words(r, (uint32_t)ret->nr * value_words +
					     (format & PERF_FORMAT_GROUP ? 0 : time_words));
	if (format & PERF_FORMAT_TOTAL_TIME_ENABLED)
		ret->time_enabled = format & PERF_FORMAT_GROUP ? perf_random_u64(r)
							       : perf_words_get(&ret->words, 1);
	if (format & PERF_FORMAT_TOTAL_TIME_RUNNING)
		ret->time_running = format & PERF_FORMAT_GROUP
					  ? perf_random_u64(r)
					  : perf_words_get(&ret->words, time_words);
}

/* perf_branch_get() reads the flags word as the order of the bytes says: make all its bits defined
 * ones. */
static void random_branches(struct perf_random *r, uint64_t branch_type, struct perf_sample *s)
{
	uint32_t nr = (uint32_t)perf_random_below(r, 8);
	uint64_t *words = bytes_for(r, 24 * (size_t)nr);

	for (uint32_t i = 0; i < nr; i++) {
		uint64_t flags = words[3 * i + 2] & (((uint64_t)1 << 33) - 1);

		if (r->big) /* some value with undefined low bits of 0 */
			flags = __builtin_bswap64(words[3 * i + 2] & ~(((uint64_t)1 << 31) - 1));
		words[3 * i + 2] = flags;
	}
	s->branches.nr = nr;
	s->branches.words = (struct perf_words){(const uint8_t *)words, 3 * nr, is_swapped(r)};
	s->branches.hw_idx =
		branch_type & PERF_SAMPLE_BRANCH_HW_INDEX ? perf_random_u64(r) : UINT64_MAX;
	if (branch_type & PERF_SAMPLE_BRANCH_COUNTERS)
		s->branches.counters = random_words(r, nr);
}

static void random_regs(struct perf_random *r, uint64_t mask, uint64_t *abi, struct perf_words *ret)
{
	*abi = perf_random_below(r, 3);
	if (*abi)
		*ret = random_words(r, (uint32_t)__builtin_popcountll(mask));
}

static void random_lengths(struct perf_random *r, const struct perf_attr *attr,
			   struct perf_sample *s)
{
	const uint64_t type = attr->sample_type;

	if (type & PERF_SAMPLE_READ)
		random_read(r, attr->read_format, &s->read);
	if (type & PERF_SAMPLE_CALLCHAIN)
		s->callchain = random_words(r, (uint32_t)perf_random_below(r, 128));
	if (type & PERF_SAMPLE_RAW)
		s->raw = random_bytes(r, 4 + 8 * perf_random_below(r, 20));
	if (type & PERF_SAMPLE_BRANCH_STACK)
		random_branches(r, attr->branch_sample_type, s);
	if (type & PERF_SAMPLE_REGS_USER)
		random_regs(r, attr->sample_regs_user, &s->regs_user.abi, &s->regs_user.words);
	if (type & PERF_SAMPLE_REGS_INTR)
		random_regs(r, attr->sample_regs_intr, &s->regs_intr.abi, &s->regs_intr.words);
	if (type & PERF_SAMPLE_STACK_USER && chance(r, 70)) {
		s->stack_user.data = random_bytes(r, 8 * perf_random_below(r, 64));
		if (bytes_left(&s->stack_user.data))
			s->stack_user.dyn_size =
				perf_random_below(r, bytes_left(&s->stack_user.data) + 1);
	}
	if (type & PERF_SAMPLE_AUX)
		s->aux = random_bytes(r, 8 * perf_random_below(r, 32));
}

/* Only what the sample_type has: so a decoded sample compares equal, 0 or all ones elsewhere. */
void perf_random_sample(struct perf_random *r, const struct perf_attr *attr, struct perf_sample *s)
{
	const uint64_t type = attr->sample_type;

	*s = (struct perf_sample){.sample_type = type,
				  .time = UINT64_MAX,
				  .id = UINT64_MAX,
				  .stream_id = UINT64_MAX,
				  .pid = UINT32_MAX,
				  .tid = UINT32_MAX,
				  .cpu = UINT32_MAX,
				  .misc = (uint16_t)perf_random_below(r, 6),
				  .swap = is_swapped(r)};
#define SET(bit, field, value)  \
 do {                           \
  if (type & PERF_SAMPLE_##bit) \
   s->field = (value);          \
 } while (0)
	SET(IP, ip, perf_random_u64(r));
	SET(TID, pid, u32(r));
	SET(TID, tid, u32(r));
	SET(TIME, time, perf_random_u64(r));
	SET(ADDR, addr, perf_random_u64(r));
	SET(ID, id, perf_random_u64(r));
	SET(IDENTIFIER, id, perf_random_u64(r));
	SET(STREAM_ID, stream_id, perf_random_u64(r));
	SET(CPU, cpu, u32(r));
	SET(PERIOD, period, perf_random_u64(r));
	SET(WEIGHT, weight, perf_random_u64(r));
	SET(WEIGHT_STRUCT, weight, u32(r));
	SET(WEIGHT_STRUCT, ins_lat_and_retire, u32(r));
	SET(DATA_SRC, data_src, perf_random_u64(r));
	SET(TRANSACTION, transaction, perf_random_u64(r));
	SET(PHYS_ADDR, phys_addr, perf_random_u64(r));
	SET(CGROUP, cgroup, perf_random_u64(r));
	SET(DATA_PAGE_SIZE, data_page_size, perf_random_u64(r));
	SET(CODE_PAGE_SIZE, code_page_size, perf_random_u64(r));
#undef SET
	s->regs_user.mask = attr->sample_regs_user;
	s->regs_intr.mask = attr->sample_regs_intr;
	random_lengths(r, attr, s);
}

static void random_mmap(struct perf_random *r, bool is_mmap2, struct perf_mmap *m)
{
	*m = (struct perf_mmap){.pid = u32(r),
				.tid = u32(r),
				.start = perf_random_u64(r),
				.len = perf_random_u64(r),
				.pgoff = perf_random_u64(r),
				.filename = random_text(r, 80),
				.is_mmap2 = is_mmap2,
				.is_data = chance(r, 20),
				.prot = 5};
	if (!is_mmap2)
		return;
	m->prot = u32(r);
	m->flags = u32(r);
	m->has_build_id = chance(r, 50);
	if (m->has_build_id) {
		m->build_id_bytes = (uint8_t)perf_random_below(r, 21);
		memcpy(m->build_id, bytes_for(r, 20), 20);
		return;
	}
	m->maj = u32(r);
	m->min = u32(r);
	m->ino = perf_random_u64(r);
	m->ino_generation = perf_random_u64(r);
}

static void random_auxtrace_error(struct perf_random *r, struct perf_auxtrace_error *e)
{
	*e = (struct perf_auxtrace_error){.type = u32(r),
					  .code = u32(r),
					  .cpu = u32(r),
					  .pid = u32(r),
					  .tid = u32(r),
					  .fmt = (uint32_t)perf_random_below(r, 3),
					  .ip = perf_random_u64(r),
					  .msg = random_text(r, 63)};
	if (e->fmt >= 1)
		e->time = perf_random_u64(r);
	if (e->fmt >= 2) {
		e->machine_pid = u32(r);
		e->vcpu = u32(r);
	}
}

static void random_tool_view(struct perf_random *r, uint32_t type, union perf_view *v)
{
	uint64_t nr = perf_random_below(r, 20);

	switch (type) {
	case PERF_RECORD_AUXTRACE_INFO:
		v->auxtrace_info = (struct perf_auxtrace_info){u32(r), nr, bytes_for(r, 8 * nr)};
		break;
	case PERF_RECORD_AUXTRACE:
		v->auxtrace = (struct perf_auxtrace){
			0, perf_random_u64(r), perf_random_u64(r), u32(r), u32(r), u32(r)};
		break;
	case PERF_RECORD_AUXTRACE_ERROR:
		random_auxtrace_error(r, &v->auxtrace_error);
		break;
	case PERF_RECORD_HEADER_BUILD_ID:
		v->build_id = (struct perf_build_id_record){
			.pid = u32(r), .filename = random_text(r, 60), .build_id_bytes = 20};
		memcpy(v->build_id.build_id, bytes_for(r, 20), 20);
		if (chance(r, 50))
			v->build_id.build_id_bytes = 16;
		break;
	case PERF_RECORD_TIME_CONV:
		v->time_conv = (struct perf_time_conv){perf_random_below(r, 64),
						       u32(r),
						       perf_random_u64(r),
						       perf_random_u64(r),
						       perf_random_u64(r),
						       chance(r, 50),
						       chance(r, 50)};
		break;
	case PERF_RECORD_ID_INDEX:
		v->id_index =
			(struct perf_id_index){nr, bytes_for(r, 32 * nr), NULL, is_swapped(r)};
		if (nr && chance(r, 50))
			v->id_index.entries_2 = bytes_for(r, 16 * nr);
		break;
	case PERF_RECORD_EVENT_UPDATE:
		v->event_update = (struct perf_event_update){
			perf_random_below(r, 4), perf_random_u64(r), random_bytes(r, 8 * nr)};
		break;
	case PERF_RECORD_HEADER_FEATURE:
		v->feature = (struct perf_header_feature){200, random_bytes(r, 8 * nr)};
		break;
	default:
		v->raw = random_bytes(r, 8 * nr);
		break;
	}
}

void perf_random_view_of(struct perf_random *r, uint32_t type, union perf_view *v)
{
	uint64_t nr = perf_random_below(r, 20);

	*v = (union perf_view){0};
	switch (type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		random_mmap(r, type == PERF_RECORD_MMAP2, &v->mmap);
		break;
	case PERF_RECORD_COMM:
		v->comm = (struct perf_comm){u32(r), u32(r), random_text(r, 15), chance(r, 50)};
		break;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		v->task = (struct perf_task){u32(r),
					     u32(r),
					     u32(r),
					     u32(r),
					     perf_random_u64(r),
					     type == PERF_RECORD_FORK && chance(r, 50)};
		break;
	case PERF_RECORD_LOST:
		v->lost = (struct perf_lost){perf_random_u64(r), perf_random_u64(r)};
		break;
	case PERF_RECORD_LOST_SAMPLES:
		v->lost = (struct perf_lost){UINT64_MAX, perf_random_u64(r)};
		break;
	case PERF_RECORD_THROTTLE:
	case PERF_RECORD_UNTHROTTLE:
		v->throttle = (struct perf_throttle){perf_random_u64(r), perf_random_u64(r),
						     perf_random_u64(r)};
		break;
	case PERF_RECORD_AUX:
		v->aux = (struct perf_aux){perf_random_u64(r), perf_random_u64(r),
					   perf_random_u64(r)};
		break;
	case PERF_RECORD_ITRACE_START:
		v->itrace_start = (struct perf_itrace_start){u32(r), u32(r)};
		break;
	case PERF_RECORD_AUX_OUTPUT_HW_ID:
		v->hw_id = (struct perf_aux_output_hw_id){perf_random_u64(r)};
		break;
	case PERF_RECORD_SWITCH:
		v->sw = (struct perf_switch){chance(r, 50), chance(r, 50), false, 0, 0};
		break;
	case PERF_RECORD_SWITCH_CPU_WIDE:
		v->sw = (struct perf_switch){chance(r, 50), chance(r, 50), true, u32(r), u32(r)};
		break;
	case PERF_RECORD_NAMESPACES:
		v->namespaces =
			(struct perf_namespaces){u32(r), u32(r), nr, random_bytes(r, 16 * nr)};
		break;
	case PERF_RECORD_KSYMBOL:
		v->ksymbol = (struct perf_ksymbol){perf_random_u64(r), u32(r),
						   (uint16_t)perf_random_below(r, 3),
						   (uint16_t)perf_random_below(r, 2),
						   random_text(r, 60)};
		break;
	case PERF_RECORD_BPF_EVENT:
		v->bpf = (struct perf_bpf_event){(uint16_t)perf_random_below(r, 3), 0, u32(r), {0}};
		memcpy(v->bpf.tag, bytes_for(r, 8), 8);
		break;
	case PERF_RECORD_CGROUP:
		v->cgroup = (struct perf_cgroup){perf_random_u64(r), random_text(r, 100)};
		break;
	case PERF_RECORD_TEXT_POKE:
		v->text_poke = (struct perf_text_poke){perf_random_u64(r), (uint16_t)nr,
						       (uint16_t)perf_random_below(r, 16),
						       bytes_for(r, 64)};
		break;
	case PERF_RECORD_CALLCHAIN_DEFERRED:
		v->deferred = (struct perf_callchain_deferred){perf_random_u64(r), nr,
							       bytes_for(r, 8 * nr)};
		break;
	default:
		random_tool_view(r, type, v);
		break;
	}
}

/* Those that change how the rest is read (ATTR, TRACING_DATA, FEATURE, COMPRESSED) or need their
 * payload are put by their own functions. */
static bool stands_alone(uint32_t type)
{
	return type != PERF_RECORD_READ && type != PERF_RECORD_SAMPLE &&
	       type != PERF_RECORD_HEADER_ATTR && type != PERF_RECORD_HEADER_TRACING_DATA &&
	       type != PERF_RECORD_FINISHED_ROUND && type != PERF_RECORD_AUXTRACE &&
	       type != PERF_RECORD_HEADER_FEATURE && type != PERF_RECORD_EVENT_UPDATE &&
	       type != PERF_RECORD_COMPRESSED && type != PERF_RECORD_COMPRESSED2;
}

uint32_t perf_random_view(struct perf_random *r, union perf_view *ret)
{
	uint32_t type;

	do {
		type = chance(r, 70)
			     ? 1 + (uint32_t)perf_random_below(r, PERF_RECORD_CALLCHAIN_DEFERRED)
			     : 64 + (uint32_t)perf_random_below(r, 23);
	} while (!stands_alone(type));
	perf_random_view_of(r, type, ret);
	return type;
}

enum { NR_CPUS = 4 };

struct filler {
	struct perf_random *r;
	const struct perf_random_opts *opts;
	struct perf_build *b;
	uint64_t time[NR_CPUS];
	uint64_t chain[4]; /* of a sample with a deferred stack */
};

/* Few enough to be met again; some are no cookie. */
static uint64_t random_cookie(struct perf_random *r)
{
	return perf_random_below(r, 6) << 16 | perf_random_below(r, 3);
}

static uint32_t random_task(struct perf_random *r)
{
	return (uint32_t)perf_random_below(r, 4);
}

static void fill_events(struct filler *f)
{
	uint32_t nr = 1 + (uint32_t)perf_random_below(f->r, 4), nr_ids;
	uint64_t ids[8], common = 0;
	struct perf_attr attr;

	for (uint32_t i = 0; i < nr; i++) {
		perf_random_attr(f->r, &attr);
		if (f->opts->is_ordered || nr > 1)
			attr.sample_type |= PERF_SAMPLE_TIME | PERF_SAMPLE_IDENTIFIER;
		if (i == 0)
			common = attr.sample_type;
		/* The trailer's form is that of event 0 for records of every event. */
		attr.sample_type &= ~(PERF_SAMPLE_TID | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID |
				      PERF_SAMPLE_CPU);
		attr.sample_type |= common & (PERF_SAMPLE_TID | PERF_SAMPLE_ID |
					      PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU);
		attr.flags |= PERF_ATTR_SAMPLE_ID_ALL;
		if (f->opts->build.attr_bytes && f->opts->build.attr_bytes < sizeof(attr))
			memset((char *)&attr + f->opts->build.attr_bytes, 0,
			       sizeof(attr) - f->opts->build.attr_bytes);
		nr_ids = 1 + (uint32_t)perf_random_below(f->r, 8);
		for (uint32_t id = 0; id < nr_ids; id++)
			ids[id] = 100 * (i + 1) + id;
		perf_build_event(f->b, &attr, random_text(f->r, 20), ids, nr_ids);
	}
}

static void fill_features(struct filler *f)
{
	struct perf_random *r = f->r;

	for (unsigned int i = PERF_FEAT_HOSTNAME; i <= PERF_FEAT_ARCH; i++) {
		if (chance(r, 70))
			perf_build_feature_string(f->b, i, random_text(r, 60));
	}
	if (chance(r, 70))
		perf_build_feature_u64(f->b, PERF_FEAT_TOTAL_MEM, perf_random_u64(r));
	if (chance(r, 70))
		perf_build_event_desc(f->b);
	if (chance(r, 30))
		perf_build_tracing_data(f->b, random_bytes(r, perf_random_below(r, 100)));
}

static uint64_t next_time(struct filler *f, unsigned int cpu)
{
	f->time[cpu] += perf_random_below(f->r, 100);
	return f->opts->is_ordered ? f->time[cpu] : perf_random_u64(f->r);
}

static void fill_sample(struct filler *f, unsigned int cpu)
{
	uint32_t event = (uint32_t)perf_random_below(f->r, f->b->events.nr);
	const struct perf_build_event *e = &f->b->events.data[event];
	struct perf_sample s;

	perf_random_sample(f->r, &e->attr, &s);
	if (e->attr.sample_type & PERF_SAMPLE_CALLCHAIN && chance(f->r, 40)) {
		memcpy(f->chain,
		       (uint64_t[]){PERF_CONTEXT_KERNEL, perf_random_u64(f->r),
				    PERF_CONTEXT_USER_DEFERRED, random_cookie(f->r)},
		       sizeof(f->chain));
		s.callchain = (struct perf_words){.data = (const uint8_t *)f->chain, .nr = 4};
		if (e->attr.sample_type & PERF_SAMPLE_TID)
			s.tid = random_task(f->r);
	}
	if (e->attr.sample_type & (PERF_SAMPLE_ID | PERF_SAMPLE_IDENTIFIER))
		s.id = e->ids[perf_random_below(f->r, e->nr_ids)];
	if (e->attr.sample_type & PERF_SAMPLE_TIME)
		s.time = next_time(f, cpu);
	perf_build_sample(f->b, event, &s);
}

static void fill_other(struct filler *f, unsigned int cpu)
{
	struct perf_sample_id id = {
		.time = next_time(f, cpu),
		.id = f->b->events.data[0].ids[0],
		.stream_id = perf_random_u64(f->r),
		.pid = u32(f->r),
		.tid = u32(f->r),
		.cpu = cpu,
	};
	union perf_view v;
	uint32_t type = perf_random_view(f->r, &v);

	if (type == PERF_RECORD_CALLCHAIN_DEFERRED) {
		v.deferred.cookie = random_cookie(f->r);
		id.tid = random_task(f->r);
	}
	perf_build_view(f->b, type, (uint16_t)perf_random_below(f->r, 6), &v, &id);
}

static void fill_auxtrace(struct filler *f)
{
	union perf_view v;

	perf_random_view_of(f->r, PERF_RECORD_AUXTRACE, &v);
	perf_build_auxtrace(f->b, &v.auxtrace, random_bytes(f->r, perf_random_below(f->r, 300)));
}

/* One round: each CPU's buffer is in order; the next round starts where the newest one ended. */
static void fill_round(struct filler *f, uint32_t nr)
{
	uint64_t newest = 0;
	bool is_packed = f->opts->compress_type && chance(f->r, 60);

	if (is_packed)
		perf_build_compress(f->b, f->opts->compress_type);
	for (unsigned int cpu = 0; cpu < NR_CPUS; cpu++) {
		for (uint32_t i = 0; i < nr / NR_CPUS + 1; i++) {
			if (chance(f->r, 70))
				fill_sample(f, cpu);
			else
				fill_other(f, cpu);
		}
	}
	if (is_packed)
		perf_build_compress_end(f->b, 1 + perf_random_below(f->r, 3000));
	if (chance(f->r, 30))
		fill_auxtrace(f);
	perf_build_round(f->b);
	for (unsigned int cpu = 0; cpu < NR_CPUS; cpu++)
		newest = f->time[cpu] > newest ? f->time[cpu] : newest;
	/* The promise is one round weaker than this, and the reader may rely on that only. */
	for (unsigned int cpu = 0; cpu < NR_CPUS; cpu++)
		f->time[cpu] = newest;
}

void perf_random_fill(struct perf_random *r, const struct perf_random_opts *opts,
		      struct perf_build *b)
{
	struct filler f = {.r = r, .opts = opts, .b = b};
	uint32_t nr;

	b->opts = opts->build;
	r->big = opts->build.big;
	fill_events(&f);
	fill_features(&f);
	for (uint32_t done = 0; done < opts->nr_records; done += nr) {
		nr = 1 + (uint32_t)perf_random_below(r, 40);
		fill_round(&f, nr);
	}
}

void perf_random_done(struct perf_random *r)
{
	arena_done(&r->memory);
}
