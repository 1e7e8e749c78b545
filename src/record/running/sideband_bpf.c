/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/perf/bpf_progs.h"
#include "os/proc.h"
#include "record/plan/btf.h"
#include "record/running/sideband.h"

/* Code that the kernel made at run time and no file has: what its own KSYMBOL and BPF_EVENT records
 * would have said, had they been asked for when it was made. */

enum { TYPE_BPF = 1, TYPE_OUT_OF_LINE = 2, EVENT_LOAD = 1, NAME_BYTES = 512 };

static void add_ksymbol(struct rec_sideband *s, uint64_t start, uint32_t bytes, uint16_t type,
			const char *name)
{
	size_t at = rec_sideband_begin(s, PERF_RECORD_KSYMBOL, 0);

	rec_sideband_u64(s, start);
	rec_sideband_u32(s, bytes);
	rec_sideband_u32(s, type); /* and no flags */
	rec_sideband_text(s, name, strlen(name));
	rec_sideband_end(s, at, 0, 0);
}

static void add_load(struct rec_sideband *s, const struct os_bpf_prog *p)
{
	size_t at = rec_sideband_begin(s, PERF_RECORD_BPF_EVENT, 0);

	rec_sideband_u32(s, EVENT_LOAD); /* and no flags */
	rec_sideband_u32(s, p->id);
	buf_add(&s->out, p->tag, sizeof(p->tag));
	rec_sideband_end(s, at, 0, 0);
}

/* As the kernel names it: /proc/kallsyms, bpf_get_prog_name(). */
static void name_part(char ret[NAME_BYTES], const struct os_bpf_part *part, const char *function)
{
	size_t n = (size_t)snprintf(ret, NAME_BYTES, "bpf_prog_");

	for (size_t i = 0; i < sizeof(part->tag); i++)
		n += (size_t)snprintf(ret + n, NAME_BYTES - n, "%02x", part->tag[i]);
	if (function && *function)
		snprintf(ret + n, NAME_BYTES - n, "_%s", function);
}

struct progs {
	struct rec_sideband *s;
	struct buf btf;
	const char *names[OS_BPF_MAX_PARTS];
	struct os_bpf_prog room;
};

static void name_functions(struct progs *all, const struct os_bpf_prog *p)
{
	uint32_t types[OS_BPF_MAX_PARTS];

	for (uint32_t i = 0; i < p->nr; i++)
		types[i] = p->part[i].type;
	if (!os_bpf_btf(p->part[0].type ? p->btf_id : 0, &all->btf))
		buf_clear(&all->btf);
	btf_function_names(bytes_of(all->btf.data, all->btf.nr), types, p->nr, all->names);
	/* The kernel cut this one, but has no other. */
	if (!all->names[0])
		all->names[0] = p->name;
}

static void add_prog(void *ctx, const struct os_bpf_prog *p)
{
	struct progs *all = ctx;
	char name[NAME_BYTES];

	if (!p->nr)
		return;
	name_functions(all, p);
	for (uint32_t i = 0; i < p->nr; i++) {
		/* A part that lies nowhere was not compiled. */
		if (!p->part[i].start || !p->part[i].bytes)
			continue;
		name_part(name, &p->part[i], all->names[i] ? all->names[i] : "F");
		add_ksymbol(all->s, p->part[i].start, p->part[i].bytes, TYPE_BPF, name);
	}
	add_load(all->s, p);
}

void rec_sideband_bpf(struct rec_sideband *s)
{
	struct progs *all;

	if (s->options->no_bpf_events)
		return;
	all = mem_zalloc(sizeof(*all));
	if (!all) {
		s->out.is_failed = true;
		return;
	}
	all->s = s;
	os_bpf_progs(&all->room, add_prog, all);
	buf_done(&all->btf);
	mem_free(all);
}

/* What the kernel's own symbols name without an end; each takes whole pages. */
static const struct made {
	const char *start, *module; /* of the name; as kallsyms has it */
	uint16_t type;
} made[] = {
	{"bpf_trampoline_",   "[bpf]",                TYPE_BPF        },
	{"bpf_dispatcher_",   "[bpf]",                TYPE_BPF        },
	{"ftrace_trampoline", "[__builtin__ftrace]",  TYPE_OUT_OF_LINE},
	{"kprobe_",           "[__builtin__kprobes]", TYPE_OUT_OF_LINE},
};

static bool is_made(const struct made *m, const char *name, const char *module, const char *end)
{
	return !strncmp(name, m->start, strlen(m->start)) &&
	       strlen(m->module) == (size_t)(end - module) &&
	       !memcmp(m->module, module, (size_t)(end - module));
}

/* "address type name\t[module]" */
static void add_made(struct rec_sideband *s, const char *line, const char *module, const char *end)
{
	char name[NAME_BYTES], *text;
	uint64_t start = strtoull(line, &text, 16);

	if (!start || *text != ' ' || module - text <= 4 || module - text - 4 >= NAME_BYTES)
		return;
	text += 3; /* the space on both sides of the type */
	for (size_t i = 0; i < sizeof(made) / sizeof(*made); i++) {
		if (!is_made(&made[i], text, module, end))
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)(module - 1 - text), text);
		add_ksymbol(s, start, os_page_bytes(), made[i].type, name);
	}
}

void rec_sideband_made(struct rec_sideband *s, const char *kallsyms)
{
	const char *at = kallsyms, *line, *end;

	if (s->options->no_bpf_events)
		return;
	while ((at = strstr(at, "\t["))) {
		for (line = at; line > kallsyms && line[-1] != '\n';)
			line--;
		end = strchr(at, '\n');
		if (!end)
			return;
		add_made(s, line, at + 1, end);
		at = end;
	}
}
