/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/report/stats_text.h"

#include "base/cleanup.h"
#include "base/escape.h"
#include "base/search.h"
#include "format/tracing_text.h"
#include "format/user_stacks.h"
#include "format/windows_text.h"

enum { MAX_DSOS = 5, MIN_SHARE = 1000 /* of the samples: 0.1 % */ };

static void put_count(struct buf *out, const char *name, uint64_t nr, uint64_t total)
{
	buf_field(out, name, 16);
	buf_str(out, " events: ");
	buf_dec(out, nr, 10, ' ');
	if (total)
		buf_printf(out, "  (%4.1f%%)", 100.0 * (double)nr / (double)total);
	buf_char(out, '\n');
}

static void put_types(struct buf *out, const struct perf_file_counts *c)
{
	buf_str(out, "\nAggregated stats:\n");
	put_count(out, "TOTAL", c->nr_records, 0);
	for (uint32_t type = 0; type < PERF_RECORD_HEADER_END; type++) {
		const char *name = perf_record_type_name(type);

		if (c->by_type[type])
			put_count(out, name ? name : "?", c->by_type[type], c->nr_records);
	}
	if (c->nr_unknown)
		put_count(out, "unknown", c->nr_unknown, c->nr_records);
}

static void put_events(struct buf *out, const struct report_feed *f)
{
	for (size_t i = 0; i < report_feed_nr_events(f); i++) {
		const struct report_event *ev = report_feed_event(f, i);

		if (!ev->nr && !ev->nr_lost && !ev->nr_bpf_filtered)
			continue;
		escape_str(out, ev->evsel->name);
		buf_str(out, " stats:\n");
		if (ev->nr)
			put_count(out, "SAMPLE", ev->nr, 0);
		if (ev->nr_lost)
			put_count(out, "LOST_SAMPLES", ev->nr_lost, 0);
		if (ev->nr_bpf_filtered)
			put_count(out, "LOST_SAMPLES (BPF)", ev->nr_bpf_filtered, 0);
	}
}

static void put_outcome(struct buf *out, const char *what, uint64_t nr)
{
	buf_dec(out, nr, 12, ' ');
	buf_str(out, "  ");
	buf_str(out, what);
	buf_char(out, '\n');
}

static void put_outcomes(struct buf *out, const struct ana_summary *s)
{
	buf_str(out, "\nSamples:\n");
	put_outcome(out, "delivered", s->nr_samples);
	put_outcome(out, "excluded by filters", s->nr_filtered);
	put_outcome(out, "unreadable, or of an event the header does not name", s->nr_bad);
	put_outcome(out, "lost: the kernel had no room for them", s->nr_lost);
	if (s->nr_bpf_filtered)
		put_outcome(out, "filtered by BPF while they were recorded", s->nr_bpf_filtered);
	put_outcome(out, "records that came too late for their time", s->order.nr_late);
	if (s->nr_over_budget)
		put_outcome(out, "items skipped: over the memory budget", s->nr_over_budget);
	if (s->nr_aux_bytes)
		put_outcome(out, "bytes of hardware trace, not decoded", s->nr_aux_bytes);
}

static void put_flag(struct buf *out, uint64_t nr, const char *what)
{
	if (nr)
		buf_printf(out, ", %llu %s", (unsigned long long)nr, what);
}

/* Each of @p c: trace is missing from a full buffer to the end of the next record, at most. */
static void put_gaps(struct buf *out, const struct ana_summary *s, const struct ana_aux_cpu *c)
{
	uint64_t nr = 0;
	size_t i = search_first(s->nr_gaps, n, s->gaps[n].cpu >= c->cpu);

	if (c->nr_gaps) {
		buf_printf(out, "    gaps: %llu, ", (unsigned long long)c->nr_gaps);
		buf_ms(out, c->gap_ns);
		buf_str(out, " at most\n");
	}
	for (; i < s->nr_gaps && s->gaps[i].cpu == c->cpu; i++, nr++) {
		buf_str(out, "    gap from ");
		buf_seconds(out, s->gaps[i].from.ns);
		buf_str(out, " to ");
		if (clew_perf_ns_is_known(s->gaps[i].to))
			buf_seconds(out, s->gaps[i].to.ns);
		else
			buf_str(out, "the end");
		buf_printf(out, ", flags 0x%x\n", s->gaps[i].flags);
	}
	if (c->nr_gaps > nr)
		buf_printf(out, "    and %llu more gaps\n", (unsigned long long)(c->nr_gaps - nr));
}

/* What is missing of each CPU's hardware trace, by its AUX records. */
static void put_aux(struct buf *out, const struct ana_summary *s)
{
	if (s->nr_aux)
		buf_str(out, "\nHardware trace, by AUX records:\n");
	for (size_t i = 0; i < s->nr_aux; i++) {
		const struct ana_aux_cpu *c = &s->aux[i];

		if (c->cpu == UINT32_MAX)
			buf_str(out, "  no CPU: ");
		else
			buf_printf(out, "  cpu %u: ", c->cpu);
		buf_printf(out, "%llu record%s", (unsigned long long)c->nr, c->nr == 1 ? "" : "s");
		put_flag(out, c->nr_truncated, "truncated: the ring was full");
		put_flag(out, c->nr_partial, "partial: their last record is damaged");
		put_flag(out, c->nr_collision, "with collisions: operations were not sampled");
		if (clew_perf_ns_is_known(c->first)) {
			buf_str(out, "; from ");
			buf_seconds(out, c->first.ns);
			buf_str(out, " to ");
			buf_seconds(out, c->last.ns);
		}
		buf_char(out, '\n');
		put_gaps(out, s, c);
	}
}

void stats_text(struct buf *out, const struct perf_file_counts *counts, const struct report_feed *f,
		const struct ana_summary *s)
{
	put_types(out, counts);
	put_events(out, f);
	put_outcomes(out, s);
	put_aux(out, s);
	if (s->tracing) {
		buf_char(out, '\n');
		tracing_text(out, s->tracing, TRACING_ALL, "");
	}
	if (s->windows)
		windows_text(out, s->windows);
	user_stacks_text(out, s);
}

/* What helps against a reason that dso_why_no_symbols() gives. */
static const struct remedy {
	const char *part, *help;
} remedies[] = {
	{"kptr_restrict",        "read it as root, or 'sysctl kernel.kptr_restrict=0', or -k vmlinux"},
	{"vDSO",		 NULL								},
	{"running kernel",       "give -k vmlinux or --kallsyms FILE"                                },
	{"kernel release",       "give -k vmlinux or --kallsyms FILE"                                },
	{"kernel build id",      "give -k vmlinux or --kallsyms FILE"                                },
	{"another file than",    "give the folder that holds the recorded files with --symfs"        },
	{"was changed after",    "find the one recorded, and give --symfs"                           },
	{"stripped",             "install its debug symbols (-dbgsym, -debuginfo)"                   },
	{"build id differs",     "the file changed since: find the one recorded, and give --symfs"   },
	{"not found",            "give the folder that holds the recorded files with --symfs"        },
	{"no /tmp/perf-PID.map",
	 "run the program with its option for perf maps, such as --perf-basic-prof"                  },
	{"memory budget",        "allow more with --max-memory SIZE"                                 },
	{"kallsyms",             "give -k vmlinux or --kallsyms FILE"                                },
	{"module is not loaded", "load it, or give --symfs"                                          },
};

static const char *remedy_of(const char *why)
{
	for (size_t i = 0; i < sizeof(remedies) / sizeof(remedies[0]); i++) {
		if (strstr(why, remedies[i].part))
			return remedies[i].help;
	}
	return NULL;
}

static void put_unresolved(struct buf *out, const struct ana_unresolved *u)
{
	const char *path = u->dso ? dso_path(u->dso) : "addresses outside all mappings";
	const char *why = u->dso ? dso_why_no_symbols(u->dso) : NULL;
	const char *help;

	if (u->dso && !why)
		why = dso_note(u->dso);
	help = why ? remedy_of(why) : NULL;
	buf_str(out, "#   ");
	buf_dec(out, u->nr, 8, ' ');
	buf_str(out, "  ");
	escape_str(out, path);
	if (why)
		escape_printf(out, ": %s", why);
	else if (u->dso)
		buf_str(out, ": only some functions are in its symbol table; install its debug "
			     "symbols (-dbgsym, -debuginfo)");
	if (help)
		buf_printf(out, "; %s", help);
	buf_char(out, '\n');
}

static void put_unchecked(struct buf *out, const struct ana_summary *s)
{
	size_t nr = s->nr_unchecked < MAX_DSOS ? s->nr_unchecked : MAX_DSOS;

	if (nr)
		buf_str(out,
			"# Not checked: names are of files that may not be the recorded ones:\n");
	for (size_t i = 0; i < nr; i++)
		escape_printf(out, "#   %s: %s\n", dso_symbol_file(s->unchecked[i]),
			      dso_unchecked(s->unchecked[i]));
	if (nr < s->nr_unchecked)
		buf_printf(out, "#   and %zu more files\n", s->nr_unchecked - nr);
}

static void put_all_unresolved(struct buf *out, const struct ana_summary *s)
{
	size_t nr = 0;

	for (; nr < s->nr_unresolved && nr < MAX_DSOS; nr++) {
		if (s->unresolved[nr].nr < 1 + s->nr_samples / MIN_SHARE)
			break;
		if (!nr)
			buf_str(out, "# Samples without a symbol:\n");
		put_unresolved(out, &s->unresolved[nr]);
	}
	if (nr && nr < s->nr_unresolved)
		buf_printf(out, "#             and fewer in %zu more files\n",
			   s->nr_unresolved - nr);
}

static void put_unwound(struct buf *out, const struct ana_summary *s)
{
	clew_auto(buf_done) struct buf text = {0};

	for (unsigned int i = 0; user_stacks_sentence(&text, s, i); i++) {
		if (text.nr)
			buf_printf(out, "# %s\n", buf_cstr(&text));
		buf_clear(&text);
	}
}

static void put_tracing(struct buf *out, const struct ana_summary *s)
{
	clew_auto(buf_done) struct buf text = {0};

	if (s->tracing)
		tracing_text(out, s->tracing, TRACING_BRIEF, "# ");
	for (unsigned int i = 0; tracing_sentence(&text, s->tracing, i); i++) {
		if (text.nr)
			buf_printf(out, "# %s\n", buf_cstr(&text));
		buf_clear(&text);
	}
}

void report_gaps_text(struct buf *out, const struct ana_summary *s)
{
	if (s->nr_bpf_filtered)
		buf_printf(out, "# Filtered by BPF while it was recorded: %llu samples\n",
			   (unsigned long long)s->nr_bpf_filtered);
	if (s->nr_lost)
		buf_printf(out,
			   "# Lost: %llu records found no room in the kernel's buffer; record "
			   "with larger -m or lower -F\n",
			   (unsigned long long)s->nr_lost);
	if (s->end.code == CLEW_TRUNCATED)
		buf_printf(out,
			   "# The file ends inside a record, at offset 0x%llx: what stands before "
			   "is counted\n",
			   (unsigned long long)s->end.offset);
	if (s->nr_bad)
		buf_printf(out, "# Unusable: %llu record%s at offset 0x%llx\n",
			   (unsigned long long)s->nr_bad, s->nr_bad == 1 ? "" : "s, the first",
			   (unsigned long long)s->first_bad_offset);
	if (s->nr_aux_bytes)
		buf_printf(out, "# %llu bytes of hardware trace are not decoded in this report\n",
			   (unsigned long long)s->nr_aux_bytes);
	if (s->nr_aux_missing)
		buf_printf(
			out,
			"# AUX records describe %llu bytes of hardware trace; the file holds none "
			"of them\n",
			(unsigned long long)s->nr_aux_missing);
	put_tracing(out, s);
	if (s->nr_maps_dropped)
		buf_printf(out,
			   "# Omitted: %llu memory mappings, beyond the most that a process may "
			   "have here\n",
			   (unsigned long long)s->nr_maps_dropped);
	if (s->nr_over_budget)
		buf_printf(out,
			   "# Omitted: %llu things, over the memory budget "
			   "(--max-memory)\n",
			   (unsigned long long)s->nr_over_budget);
	put_unwound(out, s);
	if (s->kernel_note)
		escape_printf(out, "# Kernel symbols: %s\n", s->kernel_note);
	put_unchecked(out, s);
	if (s->code_note)
		escape_printf(out, "# Code made at run time: %s\n", s->code_note);
	put_all_unresolved(out, s);
}

void report_symbol_files_text(struct buf *out, struct dso_store *dsos)
{
	struct dso *d;

	buf_str(out, "# Symbols:\n");
	for (size_t i = 0; (d = dso_store_at(dsos, i)); i++) {
		const char *file = dso_symbol_file(d), *why = dso_why_no_symbols(d);

		if (!file && !why) /* no symbol was looked up */
			continue;
		buf_str(out, "#   ");
		escape_str(out, dso_path(d));
		buf_str(out, file ? ": from " : ": none: ");
		escape_str(out, file ? file : why);
		buf_char(out, '\n');
	}
}
