/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "make/perf_encode.h"

static size_t begin(struct perf_put *p, uint32_t type, uint16_t misc)
{
	size_t start = p->buf.nr;

	put_u32(p, type);
	put_u16(p, misc);
	put_u16(p, 0);
	return start;
}

static void end(struct perf_put *p, size_t start)
{
	size_t size = p->buf.nr - start;
	uint8_t low = (uint8_t)size, high = (uint8_t)(size >> 8);

	if (p->buf.is_failed)
		return;
	p->buf.data[start + 6] = (char)(p->big ? high : low);
	p->buf.data[start + 7] = (char)(p->big ? low : high);
}

void perf_encode_raw(struct perf_put *p, uint32_t type, uint16_t misc, struct bytes body)
{
	size_t start = begin(p, type, misc);

	put_bytes(p, body);
	end(p, start);
}

static void put_words(struct perf_put *p, const struct perf_words *w)
{
	for (uint32_t i = 0; i < w->nr; i++)
		put_u64(p, perf_words_get(w, i));
}

static void put_sample_id(struct perf_put *p, const struct perf_attr *attr,
			  const struct perf_sample_id *id)
{
	const uint64_t type = attr->sample_type;

	if (type & PERF_SAMPLE_TID) {
		put_u32(p, id->pid);
		put_u32(p, id->tid);
	}
	if (type & PERF_SAMPLE_TIME)
		put_u64(p, id->time);
	if (type & PERF_SAMPLE_ID)
		put_u64(p, id->id);
	if (type & PERF_SAMPLE_STREAM_ID)
		put_u64(p, id->stream_id);
	if (type & PERF_SAMPLE_CPU) {
		put_u32(p, id->cpu);
		put_u32(p, 0);
	}
	if (type & PERF_SAMPLE_IDENTIFIER)
		put_u64(p, id->id);
}

static uint16_t misc_of_view(uint32_t type, const union perf_view *v)
{
	switch (type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		return (uint16_t)((v->mmap.is_data ? PERF_RECORD_MISC_MMAP_DATA : 0) |
				  (v->mmap.has_build_id ? PERF_RECORD_MISC_MMAP_BUILD_ID : 0));
	case PERF_RECORD_COMM:
		return v->comm.is_exec ? PERF_RECORD_MISC_COMM_EXEC : 0;
	case PERF_RECORD_FORK:
		return v->task.is_recorders ? PERF_RECORD_MISC_FORK_EXEC : 0;
	case PERF_RECORD_SWITCH:
	case PERF_RECORD_SWITCH_CPU_WIDE:
		return (uint16_t)((v->sw.is_out ? PERF_RECORD_MISC_SWITCH_OUT : 0) |
				  (v->sw.is_preempt ? PERF_RECORD_MISC_SWITCH_OUT_PREEMPT : 0));
	case PERF_RECORD_HEADER_BUILD_ID:
		return v->build_id.build_id_bytes != 20 ? PERF_RECORD_MISC_EXT_RESERVED : 0;
	default:
		return 0;
	}
}

static void put_mmap(struct perf_put *p, const struct perf_mmap *m, bool is_mmap2, size_t start)
{
	put_u32(p, m->pid);
	put_u32(p, m->tid);
	put_u64(p, m->start);
	put_u64(p, m->len);
	put_u64(p, m->pgoff);
	if (is_mmap2 && m->has_build_id) {
		put_u8(p, m->build_id_bytes);
		put_zeros(p, 3);
		put_bytes(p, bytes_of(m->build_id, 20));
	} else if (is_mmap2) {
		put_u32(p, m->maj);
		put_u32(p, m->min);
		put_u64(p, m->ino);
		put_u64(p, m->ino_generation);
	}
	if (is_mmap2) {
		put_u32(p, m->prot);
		put_u32(p, m->flags);
	}
	put_text(p, m->filename, start);
}

static void put_auxtrace_error(struct perf_put *p, const struct perf_auxtrace_error *e)
{
	size_t len = strlen(e->msg);

	put_u32(p, e->type);
	put_u32(p, e->code);
	put_u32(p, e->cpu);
	put_u32(p, e->pid);
	put_u32(p, e->tid);
	put_u32(p, e->fmt);
	put_u64(p, e->ip);
	if (e->fmt >= 1)
		put_u64(p, e->time);
	put_bytes(p, bytes_of(e->msg, len));
	put_zeros(p, 64 - len);
	if (e->fmt >= 2) {
		put_u32(p, (uint32_t)e->machine_pid);
		put_u32(p, e->vcpu);
	}
}

static void put_time_conv(struct perf_put *p, const struct perf_time_conv *t)
{
	put_u64(p, t->shift);
	put_u64(p, t->mult);
	put_u64(p, t->zero);
	put_u64(p, t->cycles);
	put_u64(p, t->mask);
	put_u8(p, t->has_zero);
	put_u8(p, t->is_short);
	put_zeros(p, 6);
}

static void put_id_index(struct perf_put *p, const struct perf_id_index *x)
{
	put_u64(p, x->nr);
	for (uint64_t i = 0; i < x->nr; i++) {
		struct perf_id_index_entry e = perf_id_index_get(x, i);

		put_u64(p, e.id);
		put_u64(p, e.idx);
		put_u64(p, e.cpu);
		put_u64(p, e.tid);
	}
	for (uint64_t i = 0; x->entries_2 && i < x->nr; i++) {
		struct perf_id_index_entry e = perf_id_index_get(x, i);

		put_u64(p, e.machine_pid);
		put_u64(p, e.vcpu);
	}
}

static void put_kernel_view(struct perf_put *p, uint32_t type, const union perf_view *v,
			    size_t start)
{
	switch (type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		put_mmap(p, &v->mmap, type == PERF_RECORD_MMAP2, start);
		break;
	case PERF_RECORD_COMM:
		put_u32(p, v->comm.pid);
		put_u32(p, v->comm.tid);
		put_text(p, v->comm.comm, start);
		break;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		put_u32(p, v->task.pid);
		put_u32(p, v->task.ppid);
		put_u32(p, v->task.tid);
		put_u32(p, v->task.ptid);
		put_u64(p, v->task.time);
		break;
	case PERF_RECORD_LOST:
		put_u64(p, v->lost.id);
		put_u64(p, v->lost.lost);
		break;
	case PERF_RECORD_LOST_SAMPLES:
		put_u64(p, v->lost.lost);
		break;
	case PERF_RECORD_THROTTLE:
	case PERF_RECORD_UNTHROTTLE:
		put_u64(p, v->throttle.time);
		put_u64(p, v->throttle.id);
		put_u64(p, v->throttle.stream_id);
		break;
	case PERF_RECORD_AUX:
		put_u64(p, v->aux.offset);
		put_u64(p, v->aux.size);
		put_u64(p, v->aux.flags);
		break;
	case PERF_RECORD_ITRACE_START:
		put_u32(p, v->itrace_start.pid);
		put_u32(p, v->itrace_start.tid);
		break;
	case PERF_RECORD_AUX_OUTPUT_HW_ID:
		put_u64(p, v->hw_id.hw_id);
		break;
	case PERF_RECORD_SWITCH_CPU_WIDE:
		put_u32(p, v->sw.next_prev_pid);
		put_u32(p, v->sw.next_prev_tid);
		break;
	case PERF_RECORD_NAMESPACES:
		put_u32(p, v->namespaces.pid);
		put_u32(p, v->namespaces.tid);
		put_u64(p, v->namespaces.nr);
		put_bytes(p, v->namespaces.links);
		break;
	case PERF_RECORD_KSYMBOL:
		put_u64(p, v->ksymbol.addr);
		put_u32(p, v->ksymbol.len);
		put_u16(p, v->ksymbol.ksym_type);
		put_u16(p, v->ksymbol.flags);
		put_text(p, v->ksymbol.name, start);
		break;
	case PERF_RECORD_BPF_EVENT:
		put_u16(p, v->bpf.type);
		put_u16(p, v->bpf.flags);
		put_u32(p, v->bpf.id);
		put_bytes(p, bytes_of(v->bpf.tag, sizeof(v->bpf.tag)));
		break;
	case PERF_RECORD_CGROUP:
		put_u64(p, v->cgroup.id);
		put_text(p, v->cgroup.path, start);
		break;
	case PERF_RECORD_TEXT_POKE:
		put_u64(p, v->text_poke.addr);
		put_u16(p, v->text_poke.old_len);
		put_u16(p, v->text_poke.new_len);
		put_bytes(p, bytes_of(v->text_poke.bytes,
				      (size_t)v->text_poke.old_len + v->text_poke.new_len));
		put_align(p, start, 8);
		break;
	case PERF_RECORD_CALLCHAIN_DEFERRED:
		put_u64(p, v->deferred.cookie);
		put_u64(p, v->deferred.nr);
		put_bytes(p, bytes_of(v->deferred.ips, 8 * v->deferred.nr));
		break;
	default: /* SWITCH: all of it is in misc */
		break;
	}
}

static void put_tool_view(struct perf_put *p, uint32_t type, const union perf_view *v, size_t start)
{
	switch (type) {
	case PERF_RECORD_AUXTRACE_INFO:
		put_u32(p, v->auxtrace_info.type);
		put_u32(p, 0);
		put_bytes(p, bytes_of(v->auxtrace_info.priv, 8 * v->auxtrace_info.nr_priv));
		break;
	case PERF_RECORD_AUXTRACE:
		put_u64(p, v->auxtrace.size);
		put_u64(p, v->auxtrace.offset);
		put_u64(p, v->auxtrace.reference);
		put_u32(p, v->auxtrace.idx);
		put_u32(p, v->auxtrace.tid);
		put_u32(p, v->auxtrace.cpu);
		put_u32(p, 0);
		break;
	case PERF_RECORD_AUXTRACE_ERROR:
		put_auxtrace_error(p, &v->auxtrace_error);
		break;
	case PERF_RECORD_HEADER_BUILD_ID:
		put_u32(p, v->build_id.pid);
		put_bytes(p, bytes_of(v->build_id.build_id, 20));
		put_u8(p, v->build_id.build_id_bytes);
		put_zeros(p, 3);
		put_text(p, v->build_id.filename, start);
		break;
	case PERF_RECORD_TIME_CONV:
		put_time_conv(p, &v->time_conv);
		break;
	case PERF_RECORD_ID_INDEX:
		put_id_index(p, &v->id_index);
		break;
	case PERF_RECORD_EVENT_UPDATE:
		put_u64(p, v->event_update.type);
		put_u64(p, v->event_update.id);
		put_bytes(p, v->event_update.data);
		break;
	case PERF_RECORD_HEADER_FEATURE:
		put_u64(p, v->feature.feature);
		put_bytes(p, v->feature.data);
		break;
	default:
		break;
	}
}

struct perf_record perf_record_of(struct bytes raw, bool big)
{
	bool swap = (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) != big;

	return (struct perf_record){
		.data = raw.pos,
		.type = load_u32(raw.pos, swap),
		.misc = load_u16(raw.pos + 4, swap),
		.size = load_u16(raw.pos + 6, swap),
		.swap = swap,
	};
}

bool perf_view_is_typed(uint32_t type)
{
	switch (type) {
	case PERF_RECORD_SAMPLE:
	case PERF_RECORD_READ:
		return false;
	case PERF_RECORD_ID_INDEX:
	case PERF_RECORD_AUXTRACE_INFO:
	case PERF_RECORD_AUXTRACE:
	case PERF_RECORD_AUXTRACE_ERROR:
	case PERF_RECORD_HEADER_BUILD_ID:
	case PERF_RECORD_TIME_CONV:
	case PERF_RECORD_EVENT_UPDATE:
	case PERF_RECORD_HEADER_FEATURE:
		return true;
	default:
		return type >= PERF_RECORD_MMAP && type <= PERF_RECORD_CALLCHAIN_DEFERRED;
	}
}

void perf_encode_record(struct perf_put *p, uint32_t type, uint16_t misc, const union perf_view *v,
			const struct perf_attr *attr, const struct perf_sample_id *id)
{
	bool is_typed = perf_view_is_typed(type);
	size_t start = begin(p, type, is_typed ? misc | misc_of_view(type, v) : misc);

	if (!is_typed)
		put_bytes(p, v->raw);
	else if (type < PERF_RECORD_HEADER_ATTR)
		put_kernel_view(p, type, v, start);
	else
		put_tool_view(p, type, v, start);
	if (id && type < PERF_RECORD_HEADER_ATTR && perf_attr_has(attr, PERF_ATTR_SAMPLE_ID_ALL))
		put_sample_id(p, attr, id);
	end(p, start);
}

enum clew_err perf_view_parse(const struct perf_record *r, union perf_view *ret)
{
	/* clang-format off */
	switch (r->type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:              return perf_mmap_parse(r, &ret->mmap);
	case PERF_RECORD_COMM:               return perf_comm_parse(r, &ret->comm);
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:               return perf_task_parse(r, &ret->task);
	case PERF_RECORD_LOST:
	case PERF_RECORD_LOST_SAMPLES:       return perf_lost_parse(r, &ret->lost);
	case PERF_RECORD_THROTTLE:
	case PERF_RECORD_UNTHROTTLE:         return perf_throttle_parse(r, &ret->throttle);
	case PERF_RECORD_AUX:                return perf_aux_parse(r, &ret->aux);
	case PERF_RECORD_ITRACE_START:       return perf_itrace_start_parse(r, &ret->itrace_start);
	case PERF_RECORD_AUX_OUTPUT_HW_ID:   return perf_aux_output_hw_id_parse(r, &ret->hw_id);
	case PERF_RECORD_SWITCH:
	case PERF_RECORD_SWITCH_CPU_WIDE:    return perf_switch_parse(r, &ret->sw);
	case PERF_RECORD_NAMESPACES:         return perf_namespaces_parse(r, &ret->namespaces);
	case PERF_RECORD_KSYMBOL:            return perf_ksymbol_parse(r, &ret->ksymbol);
	case PERF_RECORD_BPF_EVENT:          return perf_bpf_event_parse(r, &ret->bpf);
	case PERF_RECORD_CGROUP:             return perf_cgroup_parse(r, &ret->cgroup);
	case PERF_RECORD_TEXT_POKE:          return perf_text_poke_parse(r, &ret->text_poke);
	case PERF_RECORD_CALLCHAIN_DEFERRED: return perf_callchain_deferred_parse(r, &ret->deferred);
	case PERF_RECORD_AUXTRACE_INFO:      return perf_auxtrace_info_parse(r, &ret->auxtrace_info);
	case PERF_RECORD_AUXTRACE:           return perf_auxtrace_parse(r, &ret->auxtrace);
	case PERF_RECORD_AUXTRACE_ERROR:     return perf_auxtrace_error_parse(r, &ret->auxtrace_error);
	case PERF_RECORD_HEADER_BUILD_ID:    return perf_build_id_parse(r, &ret->build_id);
	case PERF_RECORD_TIME_CONV:          return perf_time_conv_parse(r, &ret->time_conv);
	case PERF_RECORD_ID_INDEX:           return perf_id_index_parse(r, &ret->id_index);
	case PERF_RECORD_EVENT_UPDATE:       return perf_event_update_parse(r, &ret->event_update);
	case PERF_RECORD_HEADER_FEATURE:     return perf_header_feature_parse(r, &ret->feature);
	default:
		ret->raw = perf_record_body(r);
		return CLEW_UNSUPPORTED;
	}
	/* clang-format on */
}

/* Single: value, times, id, lost. Group: nr, times, then value, id, lost of each. */
static void put_read(struct perf_put *p, const struct perf_read *r, uint64_t format)
{
	bool is_group = format & PERF_FORMAT_GROUP;

	if (is_group)
		put_u64(p, r->nr);
	else
		put_u64(p, perf_read_get(r, 0).value);
	if (format & PERF_FORMAT_TOTAL_TIME_ENABLED)
		put_u64(p, r->time_enabled);
	if (format & PERF_FORMAT_TOTAL_TIME_RUNNING)
		put_u64(p, r->time_running);
	for (uint64_t i = 0; i < r->nr; i++) {
		struct perf_read_value v = perf_read_get(r, i);

		if (is_group)
			put_u64(p, v.value);
		if (format & PERF_FORMAT_ID)
			put_u64(p, v.id);
		if (format & PERF_FORMAT_LOST)
			put_u64(p, v.lost);
	}
}

/* The bit-field `mispred:1 predicted:1 in_tx:1 abort:1 cycles:16 type:4 spec:2 new_type:4 priv:3`
 * as a big-endian compiler lays it out: first field highest. */
static uint64_t big_branch_flags(uint64_t v)
{
	static const struct {
		uint8_t low, bits;
	} fields[] = {
		{0,  1 },
                {1,  1 },
                {2,  1 },
                {3,  1 },
                {4,  16},
                {20, 4 },
                {24, 2 },
                {26, 4 },
                {30, 3 }
        };
	uint64_t flags = 0;

	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
		uint64_t value = v >> fields[i].low & ((1u << fields[i].bits) - 1);

		flags |= value << (64 - fields[i].low - fields[i].bits);
	}
	return flags;
}

static void put_branches(struct perf_put *p, const struct perf_attr *attr,
			 const struct perf_sample *s)
{
	put_u64(p, s->branches.nr);
	if (attr->branch_sample_type & PERF_SAMPLE_BRANCH_HW_INDEX)
		put_u64(p, s->branches.hw_idx);
	for (uint64_t i = 0; i < s->branches.nr; i++) {
		struct perf_branch b = perf_branch_get(s, i);

		put_u64(p, b.from);
		put_u64(p, b.to);
		put_u64(p, p->big ? big_branch_flags(b.flags) : b.flags);
	}
	if (attr->branch_sample_type & PERF_SAMPLE_BRANCH_COUNTERS)
		put_words(p, &s->branches.counters);
}

static void put_front(struct perf_put *p, uint64_t type, const struct perf_sample *s)
{
	if (type & PERF_SAMPLE_IDENTIFIER)
		put_u64(p, s->id);
	if (type & PERF_SAMPLE_IP)
		put_u64(p, s->ip);
	if (type & PERF_SAMPLE_TID) {
		put_u32(p, s->pid);
		put_u32(p, s->tid);
	}
	if (type & PERF_SAMPLE_TIME)
		put_u64(p, s->time);
	if (type & PERF_SAMPLE_ADDR)
		put_u64(p, s->addr);
	if (type & PERF_SAMPLE_ID)
		put_u64(p, s->id);
	if (type & PERF_SAMPLE_STREAM_ID)
		put_u64(p, s->stream_id);
	if (type & PERF_SAMPLE_CPU) {
		put_u32(p, s->cpu);
		put_u32(p, 0);
	}
	if (type & PERF_SAMPLE_PERIOD)
		put_u64(p, s->period);
}

static void put_middle(struct perf_put *p, const struct perf_attr *attr,
		       const struct perf_sample *s)
{
	uint64_t type = attr->sample_type;

	if (type & PERF_SAMPLE_READ)
		put_read(p, &s->read, attr->read_format);
	if (type & PERF_SAMPLE_CALLCHAIN) {
		put_u64(p, s->callchain.nr);
		put_words(p, &s->callchain);
	}
	if (type & PERF_SAMPLE_RAW) {
		put_u32(p, (uint32_t)bytes_left(&s->raw));
		put_bytes(p, s->raw);
	}
	if (type & PERF_SAMPLE_BRANCH_STACK)
		put_branches(p, attr, s);
	if (type & PERF_SAMPLE_REGS_USER) {
		put_u64(p, s->regs_user.abi);
		put_words(p, &s->regs_user.words);
	}
	if (type & PERF_SAMPLE_STACK_USER) {
		put_u64(p, bytes_left(&s->stack_user.data));
		put_bytes(p, s->stack_user.data);
		if (bytes_left(&s->stack_user.data))
			put_u64(p, s->stack_user.dyn_size);
	}
}

static void put_back(struct perf_put *p, uint64_t type, const struct perf_sample *s)
{
	if (type & PERF_SAMPLE_WEIGHT_STRUCT)
		put_u64(p, s->weight | (uint64_t)s->ins_lat_and_retire << 32);
	else if (type & PERF_SAMPLE_WEIGHT)
		put_u64(p, s->weight);
	if (type & PERF_SAMPLE_DATA_SRC)
		put_u64(p, s->data_src);
	if (type & PERF_SAMPLE_TRANSACTION)
		put_u64(p, s->transaction);
	if (type & PERF_SAMPLE_REGS_INTR) {
		put_u64(p, s->regs_intr.abi);
		put_words(p, &s->regs_intr.words);
	}
	if (type & PERF_SAMPLE_PHYS_ADDR)
		put_u64(p, s->phys_addr);
	if (type & PERF_SAMPLE_CGROUP)
		put_u64(p, s->cgroup);
	if (type & PERF_SAMPLE_DATA_PAGE_SIZE)
		put_u64(p, s->data_page_size);
	if (type & PERF_SAMPLE_CODE_PAGE_SIZE)
		put_u64(p, s->code_page_size);
	if (type & PERF_SAMPLE_AUX) {
		put_u64(p, bytes_left(&s->aux));
		put_bytes(p, s->aux);
	}
}

void perf_encode_sample(struct perf_put *p, const struct perf_attr *attr,
			const struct perf_sample *s)
{
	size_t start = begin(p, PERF_RECORD_SAMPLE, s->misc);

	put_front(p, attr->sample_type, s);
	put_middle(p, attr, s);
	put_back(p, attr->sample_type, s);
	end(p, start);
}

void perf_encode_read(struct perf_put *p, const struct perf_attr *attr, uint32_t pid, uint32_t tid,
		      const struct perf_read *r, const struct perf_sample_id *id)
{
	size_t start = begin(p, PERF_RECORD_READ, 0);

	put_u32(p, pid);
	put_u32(p, tid);
	put_read(p, r, attr->read_format);
	if (id && perf_attr_has(attr, PERF_ATTR_SAMPLE_ID_ALL))
		put_sample_id(p, attr, id);
	end(p, start);
}

/* Bits 15 and 16 are one field, precise_ip; all others stand alone. */
static uint64_t big_attr_flags(uint64_t v)
{
	uint64_t flags = 0;

	for (unsigned int bit = 0; bit < 64; bit++) {
		if (bit != 15 && bit != 16 && v >> bit & 1)
			flags |= (uint64_t)1 << (63 - bit);
	}
	return flags | (v >> 15 & 3) << 47;
}

void perf_encode_attr(struct perf_put *out, const struct perf_attr *a, size_t bytes)
{
	struct perf_put p = {.big = out->big};

	put_u32(&p, a->type);
	put_u32(&p, a->size);
	put_u64(&p, a->config);
	put_u64(&p, a->sample_period);
	put_u64(&p, a->sample_type);
	put_u64(&p, a->read_format);
	put_u64(&p, p.big ? big_attr_flags(a->flags) : a->flags);
	put_u32(&p, a->wakeup);
	put_u32(&p, a->bp_type);
	put_u64(&p, a->config1);
	put_u64(&p, a->config2);
	put_u64(&p, a->branch_sample_type);
	put_u64(&p, a->sample_regs_user);
	put_u32(&p, a->sample_stack_user);
	put_u32(&p, (uint32_t)a->clockid);
	put_u64(&p, a->sample_regs_intr);
	put_u32(&p, a->aux_watermark);
	put_u16(&p, a->sample_max_stack);
	put_u16(&p, a->reserved_2);
	put_u32(&p, a->aux_sample_size);
	/* Three one-bit fields: from the other end on big-endian machines. */
	put_u32(&p, !p.big ? a->aux_action
			   : (a->aux_action & 1) << 31 | (a->aux_action & 2) << 29 |
				     (a->aux_action & 4) << 27);
	put_u64(&p, a->sig_data);
	put_u64(&p, a->config3);
	put_u64(&p, a->config4);
	if (bytes > p.buf.nr)
		put_zeros(&p, bytes - p.buf.nr);
	buf_add(&out->buf, p.buf.data, bytes);
	buf_done(&p.buf);
}
