/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "make/cs_etm_make.h"

#include <stdlib.h>
#include <string.h>

#include "make/cs_encode.h"

enum { MAX_WORDS = 3 + 16 * 12, NONE = UINT32_MAX, PMU_TYPE = 8 };

static const uint64_t magic_etm4 = 0x4040404040404040, magic_ete = 0x5050505050505050;

static struct etm_regs regs_of(const struct cs_etm_make *m, uint32_t cpu)
{
	return (struct etm_regs){.configr = m->configr,
				 .traceidr = 0x10 + 2 * cpu,
				 .idr0 = 0x28000ea1,
				 .idr1 = 0x4100f422,
				 .idr2 = 0x20001088,
				 .devarch = 0x47705a13,
				 .is_ete = m->is_ete};
}

static void put_info(struct cs_etm_make *m)
{
	uint64_t w[MAX_WORDS];
	size_t nr = 0;

	w[nr++] = m->version;
	w[nr++] = (uint64_t)PMU_TYPE << 32 | m->nr_cpus;
	w[nr++] = m->is_snapshot;
	for (uint32_t cpu = 0; cpu < m->nr_cpus; cpu++) {
		struct etm_regs r = regs_of(m, cpu);
		const uint64_t words[] = {r.configr, r.traceidr, r.idr0, r.idr1,
					  r.idr2,    r.idr8,     0xcc};

		w[nr++] = m->is_ete ? magic_ete : magic_etm4;
		w[nr++] = cpu;
		if (m->version)
			w[nr++] = 7 + m->is_ete + 1;
		memcpy(w + nr, words, sizeof(words));
		nr += 7;
		if (m->is_ete)
			w[nr++] = r.devarch;
		if (m->version)
			w[nr++] = (uint64_t)m->ts_source;
	}
	perf_build_view(&m->file, PERF_RECORD_AUXTRACE_INFO, 0,
			&(union perf_view){
				.auxtrace_info = {.type = PERF_AUXTRACE_CS_ETM,
						  .nr_priv = nr,
						  .priv = (const uint8_t *)w}
        },
			NULL);
}

void cs_etm_begin(struct cs_etm_make *m)
{
	struct perf_attr attr = {.type = PMU_TYPE,
				 .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_CPU |
						PERF_SAMPLE_IDENTIFIER,
				 .flags = PERF_ATTR_SAMPLE_ID_ALL};
	struct etm_regs r;

	if (!m->has_no_time)
		attr.sample_type |= PERF_SAMPLE_TIME;
	if (!m->is_system_wide || m->inherits)
		attr.flags |= PERF_ATTR_INHERIT;
	if (m->is_monotonic) {
		attr.flags |= PERF_ATTR_USE_CLOCKID;
		attr.clockid = 1;
	}
	if (!m->configr)
		m->configr = 1u << 6;
	perf_build_event(&m->file, &attr, "cs_etm//u", (uint64_t[]){1}, 1);
	r = regs_of(m, 0);
	etm_config_init(&m->config, &r, NULL);
	if (m->version != UINT64_MAX)
		put_info(m);
}

void cs_etm_done(struct cs_etm_make *m)
{
	perf_build_done(&m->file);
}

struct perf_sample_id cs_etm_id(uint32_t cpu, uint32_t tid, uint64_t time)
{
	return (struct perf_sample_id){.time = time, .id = 1, .pid = tid, .tid = tid, .cpu = cpu};
}

void cs_etm_comm(struct cs_etm_make *m, uint64_t time, uint32_t pid, uint32_t tid, const char *name,
		 bool is_exec)
{
	struct perf_sample_id id = cs_etm_id(0, tid, time);

	perf_build_view(&m->file, PERF_RECORD_COMM, 0,
			&(union perf_view){
				.comm = {pid, tid, name, is_exec}
        },
			&id);
}

void cs_etm_fork(struct cs_etm_make *m, uint64_t time, uint32_t ppid, uint32_t pid, uint32_t tid)
{
	struct perf_sample_id id = cs_etm_id(0, ppid, time);

	perf_build_view(
		&m->file, PERF_RECORD_FORK, 0,
		&(union perf_view){
			.task = {.pid = pid, .ppid = ppid, .tid = tid, .ptid = ppid, .time = time}
        },
		&id);
}

static void put_map(struct cs_etm_make *m, uint64_t time, uint16_t misc,
		    const struct perf_mmap *map)
{
	struct perf_sample_id id = cs_etm_id(0, map->tid, time);

	perf_build_view(&m->file, PERF_RECORD_MMAP2, misc, &(union perf_view){.mmap = *map}, &id);
}

void cs_etm_map(struct cs_etm_make *m, uint64_t time, uint32_t pid, uint64_t start,
		const char *path)
{
	put_map(m, time, PERF_RECORD_MISC_USER,
		&(struct perf_mmap){.pid = pid,
				    .tid = pid,
				    .start = start,
				    .len = 0x1000,
				    .filename = path,
				    .is_mmap2 = true,
				    .prot = 5});
}

void cs_etm_kernel_map(struct cs_etm_make *m, uint64_t start, uint64_t len, const char *path)
{
	put_map(m, 0, PERF_RECORD_MISC_KERNEL,
		&(struct perf_mmap){.pid = NONE,
				    .start = start,
				    .len = len,
				    .pgoff = strstr(path, "]_") ? start : 0,
				    .filename = path,
				    .is_mmap2 = true,
				    .prot = 5});
}

void cs_etm_guests(struct cs_etm_make *m, const uint32_t *machines, uint32_t nr)
{
	uint64_t words[1 + 8 * (4 + 2)] = {nr};

	for (uint32_t i = 0; i < nr && i < 8; i++) {
		uint64_t *entry = words + 1 + 4 * i, *second = words + 1 + 4 * nr + 2 * i;

		entry[0] = 2 + i;
		entry[2] = entry[3] = UINT64_MAX; /* no ring */
		second[0] = machines[i];
	}
	perf_build_raw(&m->file, PERF_RECORD_ID_INDEX, 0, bytes_of(words, 8 + nr * 48));
}

void cs_etm_guest_map(struct cs_etm_make *m, uint64_t time, uint64_t event, bool is_kernel,
		      uint32_t pid, uint64_t start, const char *path)
{
	struct perf_sample_id id = cs_etm_id(0, pid, time);
	const struct perf_mmap map = {.pid = pid,
				      .tid = pid,
				      .start = start,
				      .len = 0x1000,
				      .filename = path,
				      .is_mmap2 = true,
				      .prot = 5};

	id.id = event;
	perf_build_view(&m->file, PERF_RECORD_MMAP2,
			is_kernel ? PERF_RECORD_MISC_GUEST_KERNEL : PERF_RECORD_MISC_GUEST_USER,
			&(union perf_view){.mmap = map}, &id);
}

void cs_etm_guest_comm(struct cs_etm_make *m, uint64_t time, uint64_t event, uint32_t pid,
		       const char *name)
{
	struct perf_sample_id id = cs_etm_id(0, pid, time);

	id.id = event;
	perf_build_view(&m->file, PERF_RECORD_COMM, 0,
			&(union perf_view){
				.comm = {pid, pid, name, false}
        },
			&id);
}

static void put_switch(struct cs_etm_make *m, const struct perf_sample_id *of, uint32_t other,
		       bool is_out)
{
	perf_build_view(&m->file, PERF_RECORD_SWITCH_CPU_WIDE, 0,
			&(union perf_view){
				.sw = {.is_out = is_out,
				       .has_other = true,
				       .next_prev_pid = other,
				       .next_prev_tid = other}
        },
			of);
}

void cs_etm_switch(struct cs_etm_make *m, uint64_t time, uint32_t cpu, uint32_t from, uint32_t to)
{
	const struct perf_sample_id out = cs_etm_id(cpu, from, time), in = cs_etm_id(cpu, to, time);

	put_switch(m, &out, to, true);
	put_switch(m, &in, from, false);
}

void cs_etm_time_conv(struct cs_etm_make *m, uint64_t zero)
{
	perf_build_view(&m->file, PERF_RECORD_TIME_CONV, 0,
			&(union perf_view){
				.time_conv = {.shift = 1,
					      .mult = 4,
					      .zero = zero,
					      .mask = UINT64_MAX,
					      .has_zero = true}
        },
			NULL);
}

void cs_etm_ring_of(struct cs_etm_make *m, uint32_t tid)
{
	const uint64_t words[] = {1, 1, 0, UINT64_MAX, tid}; /* nr; id, idx, cpu, tid */

	perf_build_raw(&m->file, PERF_RECORD_ID_INDEX, 0, bytes_of(words, sizeof(words)));
}

void cs_etm_hw_id(struct cs_etm_make *m, uint32_t cpu, uint64_t hw_id)
{
	struct perf_sample_id id = cs_etm_id(cpu, 0, 1);

	perf_build_view(&m->file, PERF_RECORD_AUX_OUTPUT_HW_ID, 0,
			&(union perf_view){.hw_id = {hw_id}}, &id);
}

void cs_etm_frames(struct buf *to, uint8_t id, const struct buf *stream)
{
	struct cs_encode e = cs_encode_of(CS_MEMORY, 0, 1);
	struct cs_byte byte;
	struct {
		VEC(struct cs_byte);
	} bytes = {0};

	for (size_t i = 0; i < stream->nr; i++) {
		byte = (struct cs_byte){.id = id, .value = (uint8_t)stream->data[i]};
		if (!vec_push(&bytes, byte))
			abort();
	}
	cs_encode(&e, bytes.data, bytes.nr);
	buf_add(to, e.out.data, e.out.nr);
	buf_done(&e.out);
	vec_done(&bytes);
}

void cs_etm_aux(struct cs_etm_make *m, uint32_t cpu, uint32_t tid, uint64_t time, uint64_t bytes)
{
	struct perf_sample_id id = cs_etm_id(cpu, tid, time);
	uint64_t *offset = &m->offsets[m->is_per_thread ? tid % 16 : cpu];

	perf_build_view(&m->file, PERF_RECORD_AUX, 0,
			&(union perf_view){
				.aux = {.offset = *offset + (m->is_snapshot ? bytes : 0),
					.size = bytes,
					.flags = m->flags | (m->is_raw ? 0x100 : 0) |
						 (m->is_snapshot ? 2 : 0)}
        },
			&id);
	*offset += bytes;
}

void cs_etm_auxtrace(struct cs_etm_make *m, uint32_t cpu, uint32_t tid, uint64_t offset,
		     struct bytes trace)
{
	struct perf_auxtrace x = {.offset = offset, .idx = cpu, .tid = 0, .cpu = cpu};

	if (m->is_system_wide)
		x.tid = NONE;
	if (m->is_per_thread)
		x = (struct perf_auxtrace){.offset = offset, .tid = tid, .cpu = NONE};
	perf_build_auxtrace(&m->file, &x, trace);
}

void cs_etm_trace(struct cs_etm_make *m, uint32_t cpu, uint64_t time, struct buf *stream)
{
	uint64_t offset = m->offsets[cpu];
	struct buf framed = {0}, *out = stream;

	if (!m->is_raw) {
		cs_etm_frames(&framed, (uint8_t)(0x10 + 2 * cpu), stream);
		out = &framed;
	}
	cs_etm_aux(m, cpu, 100, time, out->nr);
	cs_etm_auxtrace(m, cpu, 100, offset, bytes_of(out->data, out->nr));
	buf_done(&framed);
	buf_clear(stream);
}

void cs_etm_sync(struct buf *t)
{
	enc_async(t);
	enc_trace_info(t, &(struct enc_trace_info){0});
	enc_trace_on(t);
}

void cs_etm_go(const struct cs_etm_make *m, struct buf *t, const struct cs_etm_place *at)
{
	enc_address_context(t, &m->config, ENC_64_IS0, at->addr,
			    &(struct enc_context){.el = at->el,
						  .sf = true,
						  .ns = !at->is_secure,
						  .has_vmid = at->vmid,
						  .has_cid = at->cid,
						  .vmid = at->vmid,
						  .cid = at->cid});
}
