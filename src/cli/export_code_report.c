/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/cleanup.h"
#include "cli/common/message.h"
#include "cli/common/progress.h"
#include "cli/export_code.h"
#include "format/json_put.h"
#include "image/dso_source.h"

enum { DWARF_TOO_NEW = 5 }; /* for AutoFDO */

static uint64_t nr_omitted(const struct export_code *x)
{
	uint64_t nr = 0;

	vec_for_each (&x->profile.stacks.events, e)
		nr += e->is_omitted ? e->nr : 0;
	return nr;
}

static const struct ana_summary *summary_of(const struct export_code *x)
{
	static const struct ana_summary none;

	return x->profile.trace || !x->profile.analysis ? &none
							: analyze_summary(x->profile.analysis);
}

/* --- for people --- */

static void report_omitted(const struct export_code *x)
{
	struct export_listed list = {0};

	vec_for_each (&x->profile.stacks.events, e) {
		if (e->is_omitted)
			export_list_event(&list, e->evsel->name, e->nr);
	}
	export_report_listed(&list, x->run->code->name, x->run->opts.event);
}

static void report_samples(const struct export_code *x)
{
	const struct ana_summary *s = summary_of(x);

	if (x->profile.trace)
		return;
	cli_note("%s: of %llu samples", x->run->code->name,
		 (unsigned long long)x->profile.stacks.nr_samples);
	report_omitted(x);
	export_report_skipped(s);
}

static void report_others(const struct export_code *x)
{
	size_t nr = 0;

	vec_for_each (&x->profile.code.binaries, b)
		nr += b != x->binary && code_profile_has(b, NULL);
	if (nr && x->binary && !x->run->binary)
		cli_note("%zu other binaries: --binary=NAME chooses one", nr);
}

/* --- of one format --- */

static void warn_dwarf(const struct export_code *x)
{
	unsigned int version = x->binary->dso ? dso_line_version(x->binary->dso) : 0;

	if (version >= DWARF_TOO_NEW) {
		cli_warn("%s: its line table is DWARF %u: create_llvm_prof 0.19 reads 4 at most, "
			 "and writes an empty profile for later ones",
			 x->binary->path, version);
		cli_hint("build it with -gdwarf-4, or use --to llvm");
	}
}

void export_code_report_autofdo(const struct export_code *x)
{
	if (!x->run->is_json)
		code_profile_report_base(x->binary, x->base);
	warn_dwarf(x);
}

void export_code_report_bolt(const struct export_code *x)
{
	if (code_profile_kind(&x->profile) != CODE_OF_SAMPLES)
		return;
	cli_note("bolt: of samples without branches, for llvm-bolt -data=FILE, without perf2bolt");
	if (x->nr_nowhere)
		cli_warn("%s: %llu samples are in no function of its symbol table", x->binary->path,
			 (unsigned long long)x->nr_nowhere);
}

static const char *unit_of(const struct export_code *x)
{
	return x->binary->counts.runs.nr ? "ranges" : "samples";
}

void export_code_report_inlined(const struct export_code *x)
{
	const struct inline_profile *p = &x->inlined;
	size_t nr_functions;

	inline_profile_children(p, INLINE_TOP, &nr_functions);
	cli_note("llvm: %zu functions, %zu places in them and in what was inlined", nr_functions,
		 p->places.nr);
	if (p->nr_unknown)
		cli_warn("%s: %llu of %llu %s are of code without source lines", x->binary->path,
			 (unsigned long long)p->nr_unknown,
			 (unsigned long long)(p->nr_known + p->nr_unknown), unit_of(x));
	if (p->nr_unknown && !p->nr_known)
		cli_hint("build it with -g -fdebug-info-for-profiling");
	if (p->nr_no_room)
		cli_warn("%llu counts were skipped: there was no room for more places",
			 (unsigned long long)p->nr_no_room);
}

struct found {
	size_t nr, nr_hit;
};

static struct found found_lines(const struct line_counts *c)
{
	struct found f = {.nr = c->lines.nr};

	vec_for_each (&c->lines, l)
		f.nr_hit += l->nr > 0;
	return f;
}

static struct found found_functions(const struct line_counts *c)
{
	struct found f = {.nr = c->functions.nr};

	vec_for_each (&c->functions, l)
		f.nr_hit += l->nr > 0;
	return f;
}

void export_code_report_lines(const struct export_code *x)
{
	const struct line_counts *c = &x->lines;
	struct found lines = found_lines(c), functions = found_functions(c);

	cli_note("lcov: %zu file%s of %u %s: %zu of %zu lines ran, %zu of %zu functions",
		 c->files.nr, c->files.nr == 1 ? "" : "s", c->nr_binaries,
		 c->nr_binaries == 1 ? "binary" : "binaries", lines.nr_hit, lines.nr,
		 functions.nr_hit, functions.nr);
	if (c->nr_binaries > 1)
		cli_hint("--binary=NAME: of one alone; genhtml needs the sources of all");
	if (!c->nr_binaries)
		cli_hint("build the program with -g");
	if (c->nr_without)
		cli_note("lcov: %u other binaries have no debug information", c->nr_without);
	if (c->nr_no_room)
		cli_warn("%llu lines, functions or branches were skipped: there was no room",
			 (unsigned long long)c->nr_no_room);
}

/* --- as JSON --- */

static void put_found(struct json_put *j, const char *key, struct found f)
{
	json_key(j, key);
	json_open(j, '{');
	json_put_u64(j, "found", f.nr);
	json_put_u64(j, "hit", f.nr_hit);
	json_close(j, '}');
}

void export_code_put_lines(const struct export_code *x, struct json_put *j)
{
	put_found(j, "lines", found_lines(&x->lines));
	put_found(j, "functions", found_functions(&x->lines));
	json_put_u64(j, "files", x->lines.files.nr);
	json_put_u64(j, "binaries_without_lines", x->lines.nr_without);
}

void export_code_put_autofdo(const struct export_code *x, struct json_put *j)
{
	json_put_string(j, "base", x->base == AUTOFDO_OFFSET ? "offset" : "segment");
	json_put_bool(j, "bases_differ", autofdo_bases_differ(x->binary));
}

void export_code_put_bolt(const struct export_code *x, struct json_put *j)
{
	json_put_u64(j, "samples_in_no_function", x->nr_nowhere);
}

void export_code_put_inlined(const struct export_code *x, struct json_put *j)
{
	const struct inline_profile *p = &x->inlined;
	size_t nr_functions;

	inline_profile_children(p, INLINE_TOP, &nr_functions);
	json_put_u64(j, "functions", nr_functions);
	json_put_u64(j, "places", p->places.nr);
	json_put_u64(j, "with_lines", p->nr_known);
	json_put_u64(j, "without_lines", p->nr_unknown);
}

static const char *source_name(const struct export_code *x)
{
	switch (code_profile_kind(&x->profile)) {
	case CODE_OF_TRACE:
		return "trace";
	case CODE_OF_OPS:
		return "operations";
	case CODE_OF_STACKS:
		return "branch_stacks";
	case CODE_OF_SAMPLES:
		return "samples";
	}
	return "";
}

static void put_binary(struct json_put *j, const struct counted_binary *b)
{
	json_open(j, '{');
	json_put_string(j, "binary", b->path);
	json_put_u64(j, "ranges", b->counts.runs.nr);
	json_put_u64(j, "branches", b->counts.branches.nr);
	json_put_u64(j, "sampled_addresses", b->counts.samples.nr);
	json_put_u64(j, "skipped", b->nr_lost + b->counts.nr_dropped);
	json_close(j, '}');
}

static void put_binaries(const struct export_code *x, struct json_put *j)
{
	json_key(j, "binaries");
	json_open(j, '[');
	vec_for_each (&x->profile.code.binaries, b) {
		if (x->binary ? b == x->binary : code_profile_has(b, x->run->binary))
			put_binary(j, b);
	}
	json_close(j, ']');
}

static void put_samples(const struct export_code *x, struct json_put *j)
{
	const struct ana_summary *s = summary_of(x);

	const struct branch_edges_totals *t = &x->profile.stacks;

	json_put_u64(j, "samples", t->nr_samples);
	json_put_u64(j, "filtered_stacks", t->nr_filtered);
	json_put_u64(j, "not_branches", t->nr_not_branches);
	json_put_u64(j, "bad_ranges", t->nr_bad_runs);
	json_put_u64(j, "omitted_samples", nr_omitted(x));
	json_put_u64(j, "filtered_samples", s->nr_filtered);
	json_put_u64(j, "bad_samples", s->nr_bad);
	json_put_u64(j, "lost_records", s->nr_lost);
	json_put_u64(j, "bpf_filtered_samples", s->nr_bpf_filtered);
}

static void report_json(const struct export_code *x)
{
	clew_auto(buf_done) struct buf out = {0};
	struct json_put j = {.out = &out};

	json_open(&j, '{');
	json_put_string(&j, "format", x->run->code->name);
	json_put_string(&j, "source", source_name(x));
	put_samples(x, &j);
	put_binaries(x, &j);
	if (x->run->code->put)
		x->run->code->put(x, &j);
	json_put_bool(&j, "is_truncated", code_profile_cut(&x->profile)->code == CLEW_TRUNCATED);
	json_close(&j, '}');
	cli_progress_pause();
	cli_put(stderr, "%s\n", buf_cstr(&out));
}

void export_code_report(const struct export_code *x)
{
	if (x->run->is_json) {
		report_json(x);
	} else {
		if (x->binary)
			code_profile_report_binary(x->binary, x->run->code->name);
		report_others(x);
		report_samples(x);
	}
	if (x->run->code->report)
		x->run->code->report(x);
	code_profile_report(&x->profile);
	if (!x->profile.trace)
		export_report_input(&x->run->in, summary_of(x));
}
