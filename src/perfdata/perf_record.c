/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "perfdata/perf_record.h"

/* clang-format off */
static const char *const type_names[PERF_RECORD_HEADER_END] = {
	[PERF_RECORD_MMAP] = "MMAP",
	[PERF_RECORD_LOST] = "LOST",
	[PERF_RECORD_COMM] = "COMM",
	[PERF_RECORD_EXIT] = "EXIT",
	[PERF_RECORD_THROTTLE] = "THROTTLE",
	[PERF_RECORD_UNTHROTTLE] = "UNTHROTTLE",
	[PERF_RECORD_FORK] = "FORK",
	[PERF_RECORD_READ] = "READ",
	[PERF_RECORD_SAMPLE] = "SAMPLE",
	[PERF_RECORD_MMAP2] = "MMAP2",
	[PERF_RECORD_AUX] = "AUX",
	[PERF_RECORD_ITRACE_START] = "ITRACE_START",
	[PERF_RECORD_LOST_SAMPLES] = "LOST_SAMPLES",
	[PERF_RECORD_SWITCH] = "SWITCH",
	[PERF_RECORD_SWITCH_CPU_WIDE] = "SWITCH_CPU_WIDE",
	[PERF_RECORD_NAMESPACES] = "NAMESPACES",
	[PERF_RECORD_KSYMBOL] = "KSYMBOL",
	[PERF_RECORD_BPF_EVENT] = "BPF_EVENT",
	[PERF_RECORD_CGROUP] = "CGROUP",
	[PERF_RECORD_TEXT_POKE] = "TEXT_POKE",
	[PERF_RECORD_AUX_OUTPUT_HW_ID] = "AUX_OUTPUT_HW_ID",
	[PERF_RECORD_CALLCHAIN_DEFERRED] = "CALLCHAIN_DEFERRED",
	[PERF_RECORD_HEADER_ATTR] = "ATTR",
	[PERF_RECORD_HEADER_EVENT_TYPE] = "EVENT_TYPE",
	[PERF_RECORD_HEADER_TRACING_DATA] = "TRACING_DATA",
	[PERF_RECORD_HEADER_BUILD_ID] = "BUILD_ID",
	[PERF_RECORD_FINISHED_ROUND] = "FINISHED_ROUND",
	[PERF_RECORD_ID_INDEX] = "ID_INDEX",
	[PERF_RECORD_AUXTRACE_INFO] = "AUXTRACE_INFO",
	[PERF_RECORD_AUXTRACE] = "AUXTRACE",
	[PERF_RECORD_AUXTRACE_ERROR] = "AUXTRACE_ERROR",
	[PERF_RECORD_THREAD_MAP] = "THREAD_MAP",
	[PERF_RECORD_CPU_MAP] = "CPU_MAP",
	[PERF_RECORD_STAT_CONFIG] = "STAT_CONFIG",
	[PERF_RECORD_STAT] = "STAT",
	[PERF_RECORD_STAT_ROUND] = "STAT_ROUND",
	[PERF_RECORD_EVENT_UPDATE] = "EVENT_UPDATE",
	[PERF_RECORD_TIME_CONV] = "TIME_CONV",
	[PERF_RECORD_HEADER_FEATURE] = "FEATURE",
	[PERF_RECORD_COMPRESSED] = "COMPRESSED",
	[PERF_RECORD_FINISHED_INIT] = "FINISHED_INIT",
	[PERF_RECORD_COMPRESSED2] = "COMPRESSED2",
	[PERF_RECORD_BPF_METADATA] = "BPF_METADATA",
	[PERF_RECORD_SCHEDSTAT_CPU] = "SCHEDSTAT_CPU",
	[PERF_RECORD_SCHEDSTAT_DOMAIN] = "SCHEDSTAT_DOMAIN",
};
/* clang-format on */

const char *perf_record_type_name(uint32_t type)
{
	return type < PERF_RECORD_HEADER_END ? type_names[type] : NULL;
}

/*
 * A cursor with a sticky error: each get past the end yields 0 and sets the error, which done()
 * reports.
 */
struct cursor {
	struct bytes b;
	bool swap, is_bad;
};

static struct cursor start(const struct perf_record *r)
{
	return (struct cursor){perf_record_body(r), r->swap,
			       r->size < sizeof(struct perf_event_header)};
}

static uint16_t u16(struct cursor *c)
{
	uint16_t v = 0;

	c->is_bad = c->is_bad || !bytes_u16(&c->b, c->swap, &v);
	return v;
}

static uint32_t u32(struct cursor *c)
{
	uint32_t v = 0;

	c->is_bad = c->is_bad || !bytes_u32(&c->b, c->swap, &v);
	return v;
}

static uint64_t u64(struct cursor *c)
{
	uint64_t v = 0;

	c->is_bad = c->is_bad || !bytes_u64(&c->b, c->swap, &v);
	return v;
}

static struct bytes take(struct cursor *c, uint64_t size)
{
	struct bytes part = {c->b.end, c->b.end};

	c->is_bad = c->is_bad || size > bytes_left(&c->b) || !bytes_take(&c->b, size, &part);
	return part;
}

/* @p nr items of @p item_bytes; the count comes from the file. */
static struct bytes take_items(struct cursor *c, uint64_t nr, uint64_t item_bytes)
{
	return take(c, nr > UINT32_MAX ? UINT64_MAX : nr * item_bytes);
}

/* A NUL-terminated text; the cursor steps past its NUL. */
static const char *text(struct cursor *c)
{
	const uint8_t *s = c->b.pos, *nul = memchr(s, 0, bytes_left(&c->b));

	if (c->is_bad || !nul) {
		c->is_bad = true;
		return "";
	}
	c->b.pos = nul + 1;
	return (const char *)s;
}

static enum clew_err done(const struct cursor *c)
{
	return c->is_bad ? CLEW_BAD_FILE : CLEW_OK;
}

static void read_mmap_build_id(struct cursor *c, struct perf_mmap *ret)
{
	struct bytes head = take(c, 4), id = take(c, 20);

	if (c->is_bad)
		return;
	ret->has_build_id = true;
	ret->build_id_bytes = head.pos[0] > 20 ? 20 : head.pos[0];
	memcpy(ret->build_id, id.pos, 20);
}

static void read_mmap_file_id(struct cursor *c, struct perf_mmap *ret)
{
	ret->maj = u32(c);
	ret->min = u32(c);
	ret->ino = u64(c);
	ret->ino_generation = u64(c);
}

enum clew_err perf_mmap_parse(const struct perf_record *r, struct perf_mmap *ret)
{
	struct cursor c = start(r);

	*ret = (struct perf_mmap){.is_mmap2 = r->type == PERF_RECORD_MMAP2,
				  .is_data = r->misc & PERF_RECORD_MISC_MMAP_DATA,
				  .prot = 5};
	ret->pid = u32(&c);
	ret->tid = u32(&c);
	ret->start = u64(&c);
	ret->len = u64(&c);
	ret->pgoff = u64(&c);
	if (ret->is_mmap2) {
		if (r->misc & PERF_RECORD_MISC_MMAP_BUILD_ID)
			read_mmap_build_id(&c, ret);
		else
			read_mmap_file_id(&c, ret);
		ret->prot = u32(&c);
		ret->flags = u32(&c);
	}
	ret->filename = text(&c);
	return done(&c);
}

enum clew_err perf_comm_parse(const struct perf_record *r, struct perf_comm *ret)
{
	struct cursor c = start(r);

	*ret = (struct perf_comm){.is_exec = r->misc & PERF_RECORD_MISC_COMM_EXEC};
	ret->pid = u32(&c);
	ret->tid = u32(&c);
	ret->comm = text(&c);
	return done(&c);
}

enum clew_err perf_task_parse(const struct perf_record *r, struct perf_task *ret)
{
	struct cursor c = start(r);

	ret->pid = u32(&c);
	ret->ppid = u32(&c);
	ret->tid = u32(&c);
	ret->ptid = u32(&c);
	ret->time = u64(&c);
	ret->is_recorders = r->type == PERF_RECORD_FORK && r->misc & PERF_RECORD_MISC_FORK_EXEC;
	return done(&c);
}

enum clew_err perf_lost_parse(const struct perf_record *r, struct perf_lost *ret)
{
	struct cursor c = start(r);

	ret->id = r->type == PERF_RECORD_LOST ? u64(&c) : UINT64_MAX;
	ret->lost = u64(&c);
	ret->is_bpf_filtered =
		r->type == PERF_RECORD_LOST_SAMPLES && r->misc & PERF_RECORD_MISC_LOST_SAMPLES_BPF;
	return done(&c);
}

enum clew_err perf_throttle_parse(const struct perf_record *r, struct perf_throttle *ret)
{
	struct cursor c = start(r);

	ret->time = u64(&c);
	ret->id = u64(&c);
	ret->stream_id = u64(&c);
	return done(&c);
}

enum clew_err perf_aux_parse(const struct perf_record *r, struct perf_aux *ret)
{
	struct cursor c = start(r);

	ret->offset = u64(&c);
	ret->size = u64(&c);
	ret->flags = u64(&c);
	return done(&c);
}

enum clew_err perf_itrace_start_parse(const struct perf_record *r, struct perf_itrace_start *ret)
{
	struct cursor c = start(r);

	ret->pid = u32(&c);
	ret->tid = u32(&c);
	return done(&c);
}

enum clew_err perf_aux_output_hw_id_parse(const struct perf_record *r,
					  struct perf_aux_output_hw_id *ret)
{
	struct cursor c = start(r);

	ret->hw_id = u64(&c);
	return done(&c);
}

enum clew_err perf_switch_parse(const struct perf_record *r, struct perf_switch *ret)
{
	struct cursor c = start(r);

	*ret = (struct perf_switch){
		.is_out = r->misc & PERF_RECORD_MISC_SWITCH_OUT,
		.is_preempt = r->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT,
		.has_other = r->type == PERF_RECORD_SWITCH_CPU_WIDE,
	};
	if (ret->has_other) {
		ret->next_prev_pid = u32(&c);
		ret->next_prev_tid = u32(&c);
	}
	return done(&c);
}

enum clew_err perf_namespaces_parse(const struct perf_record *r, struct perf_namespaces *ret)
{
	struct cursor c = start(r);

	ret->pid = u32(&c);
	ret->tid = u32(&c);
	ret->nr = u64(&c);
	ret->links = take_items(&c, ret->nr, 16);
	return done(&c);
}

enum clew_err perf_ksymbol_parse(const struct perf_record *r, struct perf_ksymbol *ret)
{
	struct cursor c = start(r);

	ret->addr = u64(&c);
	ret->len = u32(&c);
	ret->ksym_type = u16(&c);
	ret->flags = u16(&c);
	ret->name = text(&c);
	return done(&c);
}

enum clew_err perf_bpf_event_parse(const struct perf_record *r, struct perf_bpf_event *ret)
{
	struct cursor c = start(r);
	struct bytes tag;

	ret->type = u16(&c);
	ret->flags = u16(&c);
	ret->id = u32(&c);
	tag = take(&c, sizeof(ret->tag));
	if (!c.is_bad)
		memcpy(ret->tag, tag.pos, sizeof(ret->tag));
	return done(&c);
}

enum clew_err perf_cgroup_parse(const struct perf_record *r, struct perf_cgroup *ret)
{
	struct cursor c = start(r);

	ret->id = u64(&c);
	ret->path = text(&c);
	return done(&c);
}

enum clew_err perf_text_poke_parse(const struct perf_record *r, struct perf_text_poke *ret)
{
	struct cursor c = start(r);

	ret->addr = u64(&c);
	ret->old_len = u16(&c);
	ret->new_len = u16(&c);
	ret->bytes = take(&c, (uint64_t)ret->old_len + ret->new_len).pos;
	return done(&c);
}

enum clew_err perf_callchain_deferred_parse(const struct perf_record *r,
					    struct perf_callchain_deferred *ret)
{
	struct cursor c = start(r);

	ret->cookie = u64(&c);
	ret->nr = u64(&c);
	ret->ips = take_items(&c, ret->nr, 8).pos;
	return done(&c);
}

enum clew_err perf_auxtrace_info_parse(const struct perf_record *r, struct perf_auxtrace_info *ret)
{
	struct cursor c = start(r);

	ret->type = u32(&c);
	u32(&c);
	ret->nr_priv = bytes_left(&c.b) / 8;
	ret->priv = c.b.pos;
	return done(&c);
}

enum clew_err perf_auxtrace_parse(const struct perf_record *r, struct perf_auxtrace *ret)
{
	struct cursor c = start(r);

	ret->size = u64(&c);
	ret->offset = u64(&c);
	ret->reference = u64(&c);
	ret->idx = u32(&c);
	ret->tid = u32(&c);
	ret->cpu = u32(&c);
	return done(&c);
}

enum { AUXTRACE_MSG_BYTES = 64 };

enum clew_err perf_auxtrace_error_parse(const struct perf_record *r,
					struct perf_auxtrace_error *ret)
{
	struct cursor c = start(r);
	struct bytes msg;

	*ret = (struct perf_auxtrace_error){.msg = ""};
	ret->type = u32(&c);
	ret->code = u32(&c);
	ret->cpu = u32(&c);
	ret->pid = u32(&c);
	ret->tid = u32(&c);
	ret->fmt = u32(&c);
	ret->ip = u64(&c);
	if (ret->fmt >= 1)
		ret->time = u64(&c);
	/* The text fills a fixed field; before fmt 2 what follows it may be cut off. */
	msg = take(&c,
		   bytes_left(&c.b) < AUXTRACE_MSG_BYTES ? bytes_left(&c.b) : AUXTRACE_MSG_BYTES);
	if (!c.is_bad && memchr(msg.pos, 0, bytes_left(&msg)))
		ret->msg = (const char *)msg.pos;
	if (ret->fmt >= 2) {
		ret->machine_pid = u32(&c);
		ret->vcpu = u32(&c);
	}
	return done(&c);
}

static enum clew_err build_id_parse(const struct perf_record *r, bool has_pid,
				    struct perf_build_id_record *ret)
{
	struct cursor c = start(r);
	struct bytes id;

	*ret = (struct perf_build_id_record){.pid = has_pid ? u32(&c) : UINT32_MAX};
	id = take(&c, 24); /* 20 bytes, then the size where misc says so, else padding */
	if (c.is_bad)
		return CLEW_BAD_FILE;
	memcpy(ret->build_id, id.pos, 20);
	ret->build_id_bytes = 20;
	if (r->misc & PERF_RECORD_MISC_EXT_RESERVED && id.pos[20] <= 20)
		ret->build_id_bytes = id.pos[20];
	ret->filename = text(&c);
	return done(&c);
}

enum clew_err perf_build_id_parse(const struct perf_record *r, struct perf_build_id_record *ret)
{
	return build_id_parse(r, true, ret);
}

enum clew_err perf_build_id_parse_old(const struct perf_record *r, struct perf_build_id_record *ret)
{
	return build_id_parse(r, false, ret);
}

enum clew_err perf_time_conv_parse(const struct perf_record *r, struct perf_time_conv *ret)
{
	struct cursor c = start(r);

	*ret = (struct perf_time_conv){.mask = UINT64_MAX};
	ret->shift = u64(&c);
	ret->mult = u64(&c);
	ret->zero = u64(&c);
	ret->has_zero = true;
	if (bytes_left(&c.b) >= 18) {
		ret->cycles = u64(&c);
		ret->mask = u64(&c);
		struct bytes caps = take(&c, 2);
		ret->has_zero = caps.pos[0];
		ret->is_short = caps.pos[1];
	}
	return done(&c);
}

enum { ID_INDEX_ENTRY_BYTES = 32, ID_INDEX_ENTRY_2_BYTES = 16 };

enum clew_err perf_id_index_parse(const struct perf_record *r, struct perf_id_index *ret)
{
	struct cursor c = start(r);

	*ret = (struct perf_id_index){.nr = u64(&c), .swap = r->swap};
	ret->entries = take_items(&c, ret->nr, ID_INDEX_ENTRY_BYTES).pos;
	if (!c.is_bad && bytes_left(&c.b) >= ret->nr * ID_INDEX_ENTRY_2_BYTES)
		ret->entries_2 = c.b.pos;
	return done(&c);
}

struct perf_id_index_entry perf_id_index_get(const struct perf_id_index *x, uint64_t i)
{
	const uint8_t *p = x->entries + i * ID_INDEX_ENTRY_BYTES;
	const uint8_t *q = x->entries_2 ? x->entries_2 + i * ID_INDEX_ENTRY_2_BYTES : NULL;

	return (struct perf_id_index_entry){
		.id = load_u64(p, x->swap),
		.idx = load_u64(p + 8, x->swap),
		.cpu = load_u64(p + 16, x->swap),
		.tid = load_u64(p + 24, x->swap),
		.machine_pid = q ? load_u64(q, x->swap) : 0,
		.vcpu = q ? load_u64(q + 8, x->swap) : 0,
	};
}

enum clew_err perf_event_update_parse(const struct perf_record *r, struct perf_event_update *ret)
{
	struct cursor c = start(r);

	ret->type = u64(&c);
	ret->id = u64(&c);
	ret->data = take(&c, bytes_left(&c.b));
	return done(&c);
}

enum clew_err perf_header_feature_parse(const struct perf_record *r,
					struct perf_header_feature *ret)
{
	struct cursor c = start(r);

	ret->feature = u64(&c);
	ret->data = take(&c, bytes_left(&c.b));
	return done(&c);
}
