/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/escape.h"
#include "format/script/script_text_impl.h"

/* Records other than samples: the --show-*-events. */

static void add_task(struct buf *b, const struct perf_record *r)
{
	struct perf_task t;

	if (perf_task_parse(r, &t) != CLEW_OK)
		return;
	buf_printf(b, "PERF_RECORD_%s(%d:%d):(%d:%d)\n", perf_record_type_name(r->type), (int)t.pid,
		   (int)t.tid, (int)t.ppid, (int)t.ptid);
}

static void add_comm(struct buf *b, const struct perf_record *r)
{
	struct perf_comm c;

	if (perf_comm_parse(r, &c) == CLEW_OK)
		escape_printf(b, "PERF_RECORD_COMM%s: %s:%d/%d\n", c.is_exec ? " exec" : "", c.comm,
			      (int)c.pid, (int)c.tid);
}

static void add_build_id(struct buf *b, const struct perf_mmap *m)
{
	buf_char(b, '<');
	buf_hex_bytes(b, m->build_id, m->build_id_bytes);
	buf_char(b, '>');
}

static void add_hex(struct buf *b, uint64_t v)
{
	/* printf's %#x: no 0x before a zero */
	buf_str(b, v ? "0x" : "");
	buf_hex(b, v, 0, ' ');
}

static void add_mmap(struct buf *b, const struct perf_record *r)
{
	struct perf_mmap m;

	if (perf_mmap_parse(r, &m) != CLEW_OK)
		return;
	buf_printf(b, "PERF_RECORD_%s %d/%d: [", m.is_mmap2 ? "MMAP2" : "MMAP", (int)m.pid,
		   (int)m.tid);
	add_hex(b, m.start);
	buf_char(b, '(');
	add_hex(b, m.len);
	buf_str(b, ") @ ");
	add_hex(b, m.pgoff);
	if (!m.is_mmap2) {
		escape_printf(b, "]: %c %s\n", m.is_data ? 'r' : 'x', m.filename);
		return;
	}
	buf_char(b, ' ');
	if (m.has_build_id)
		add_build_id(b, &m);
	else
		buf_printf(b, "%02x:%02x %llu %llu", m.maj, m.min, (unsigned long long)m.ino,
			   (unsigned long long)m.ino_generation);
	escape_printf(b, "]: %c%c%c%c %s\n", m.prot & 1 ? 'r' : '-', m.prot & 2 ? 'w' : '-',
		      m.prot & 4 ? 'x' : '-', m.flags & 1 ? 's' : 'p', m.filename);
}

static void add_switch(struct buf *b, const struct perf_record *r)
{
	struct perf_switch s;

	if (perf_switch_parse(r, &s) != CLEW_OK)
		return;
	buf_printf(b, "PERF_RECORD_%s %s", perf_record_type_name(r->type),
		   !s.is_out      ? "IN         "
		   : s.is_preempt ? "OUT preempt"
				  : "OUT        ");
	if (s.has_other)
		buf_printf(b, "  %s pid/tid: %5d/%-5d", s.is_out ? "next" : "prev",
			   (int)s.next_prev_pid, (int)s.next_prev_tid);
	buf_char(b, '\n');
}

static void add_namespaces(struct buf *b, const struct perf_record *r)
{
	static const char *const names[] = {"net", "uts", "ipc", "pid", "user", "mnt", "cgroup"};
	struct perf_namespaces n;

	if (perf_namespaces_parse(r, &n) != CLEW_OK)
		return;
	buf_printf(b, "PERF_RECORD_NAMESPACES %d/%d - nr_namespaces: %llu\n\t\t[", (int)n.pid,
		   (int)n.tid, (unsigned long long)n.nr);
	for (uint64_t i = 0; i < n.nr; i++) {
		uint64_t dev = 0, ino = 0;

		bytes_u64(&n.links, r->swap, &dev);
		bytes_u64(&n.links, r->swap, &ino);
		if (i && i % 4 == 0)
			buf_str(b, "\n\t\t ");
		buf_printf(b, "%llu/%s: %llu/", (unsigned long long)i,
			   i < sizeof(names) / sizeof(names[0]) ? names[i] : "unknown",
			   (unsigned long long)dev);
		add_hex(b, ino);
		buf_str(b, i + 1 == n.nr ? "]\n" : ", ");
	}
}

static void add_cgroup(struct buf *b, const struct perf_record *r)
{
	struct perf_cgroup c;

	if (perf_cgroup_parse(r, &c) == CLEW_OK)
		escape_printf(b, "PERF_RECORD_CGROUP cgroup: %llu %s\n", (unsigned long long)c.id,
			      c.path);
}

static void add_ksymbol(struct buf *b, const struct perf_record *r)
{
	struct perf_ksymbol k;

	if (perf_ksymbol_parse(r, &k) == CLEW_OK)
		escape_printf(b,
			      "PERF_RECORD_KSYMBOL addr %llx len %u type %u flags 0x%x name %s\n",
			      (unsigned long long)k.addr, k.len, k.ksym_type, k.flags, k.name);
}

static void add_bpf(struct buf *b, const struct perf_record *r)
{
	struct perf_bpf_event e;

	if (perf_bpf_event_parse(r, &e) == CLEW_OK)
		buf_printf(b, "PERF_RECORD_BPF_EVENT type %u, flags %u, id %u\n", e.type, e.flags,
			   e.id);
}

static void add_lost(struct buf *b, const struct perf_record *r)
{
	struct perf_lost l;

	if (perf_lost_parse(r, &l) != CLEW_OK)
		return;
	if (r->type == PERF_RECORD_LOST)
		buf_printf(b, "PERF_RECORD_LOST lost %llu\n", (unsigned long long)l.lost);
	else
		buf_printf(b, "PERF_RECORD_LOST_SAMPLES lost %llu%s\n", (unsigned long long)l.lost,
			   l.is_bpf_filtered ? " (filtered by BPF)" : "");
}

static void add_text_poke(struct buf *b, const struct perf_record *r)
{
	struct perf_text_poke p;

	if (perf_text_poke_parse(r, &p) != CLEW_OK)
		return;
	buf_printf(b, "PERF_RECORD_TEXT_POKE addr %#llx old len %u new len %u\n",
		   (unsigned long long)p.addr, p.old_len, p.new_len);
	for (unsigned int new = 0; new < 2; new ++) {
		const uint8_t *bytes = p.bytes + (new ? p.old_len : 0);
		unsigned int nr = new ? p.new_len : p.old_len;

		buf_str(b, new ? "     new bytes:" : "     old bytes:");
		for (unsigned int i = 0; i < nr; i++) {
			buf_char(b, ' ');
			buf_hex(b, bytes[i], 2, '0');
		}
		buf_char(b, '\n');
	}
}

/* Which --show option prints a record, and how. */
static const struct shown {
	uint32_t type;
	unsigned int show;
	void (*add)(struct buf *b, const struct perf_record *r);
} shown[] = {
	{PERF_RECORD_MMAP,            SCRIPT_SHOW_MMAP,       add_mmap      },
	{PERF_RECORD_MMAP2,           SCRIPT_SHOW_MMAP,       add_mmap      },
	{PERF_RECORD_COMM,            SCRIPT_SHOW_TASK,       add_comm      },
	{PERF_RECORD_FORK,            SCRIPT_SHOW_TASK,       add_task      },
	{PERF_RECORD_EXIT,            SCRIPT_SHOW_TASK,       add_task      },
	{PERF_RECORD_SWITCH,          SCRIPT_SHOW_SWITCH,     add_switch    },
	{PERF_RECORD_SWITCH_CPU_WIDE, SCRIPT_SHOW_SWITCH,     add_switch    },
	{PERF_RECORD_NAMESPACES,      SCRIPT_SHOW_NAMESPACES, add_namespaces},
	{PERF_RECORD_CGROUP,          SCRIPT_SHOW_CGROUP,     add_cgroup    },
	{PERF_RECORD_KSYMBOL,         SCRIPT_SHOW_BPF,        add_ksymbol   },
	{PERF_RECORD_BPF_EVENT,       SCRIPT_SHOW_BPF,        add_bpf       },
	{PERF_RECORD_LOST,            SCRIPT_SHOW_LOST,       add_lost      },
	{PERF_RECORD_LOST_SAMPLES,    SCRIPT_SHOW_LOST,       add_lost      },
	{PERF_RECORD_TEXT_POKE,       SCRIPT_SHOW_TEXT_POKE,  add_text_poke },
};

bool script_record_text(struct buf *b, unsigned int shows, const struct perf_record *r)
{
	size_t from = b->nr;

	for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++) {
		if (shown[i].type == r->type && shows & shown[i].show)
			shown[i].add(b, r);
	}
	return b->nr > from;
}

/* A stack in a separate record, as perf script --no-merge-callchains prints it. */
static void add_deferred(struct script_text *t, const struct ana_event *ev)
{
	struct script_evsel e = t->evsels.data[ev->evsel->index];
	struct perf_callchain_deferred c;

	if (perf_callchain_deferred_parse(&ev->record, &c) != CLEW_OK)
		return;
	e.has_chain = !t->opts.no_chains && e.fields & SCRIPT_IP;
	script_add_start(t, &e, ev, ev->pid, ev->tid, ev->cpu, ev->time);
	buf_str(&t->out, "DEFERRED CALLCHAIN [cookie: ");
	buf_hex(&t->out, c.cookie, 0, ' ');
	buf_str(&t->out, "]\n");
	if (!e.has_chain)
		return;
	if (ev->chain && !ev->chain->is_broken)
		script_add_chain(t, &e, ev->chain);
	buf_char(&t->out, '\n');
}

void script_add_record(struct script_text *t, const struct ana_event *ev)
{
	const struct perf_record *r = &ev->record;

	if (ev->synth) {
		script_add_trace_error(&t->out, ev);
		return;
	}
	if (r->type == PERF_RECORD_CALLCHAIN_DEFERRED && ev->evsel &&
	    t->opts.shows & SCRIPT_SHOW_DEFERRED)
		add_deferred(t, ev);

	if (r->type == PERF_RECORD_FINISHED_ROUND && t->opts.shows & SCRIPT_SHOW_ROUND)
		buf_str(&t->out, "PERF_RECORD_FINISHED_ROUND\n");
	buf_clear(&t->record);
	if (!ev->evsel || !script_record_text(&t->record, t->opts.shows, r))
		return;
	script_add_start(t, &t->evsels.data[ev->evsel->index], ev, ev->pid, ev->tid, ev->cpu,
			 ev->time);
	buf_add(&t->out, t->record.data, t->record.nr);
}
