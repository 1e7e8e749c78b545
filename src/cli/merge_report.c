/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/cleanup.h"
#include "cli/common/message.h"
#include "cli/merge.h"
#include "format/json_put.h"

static const char *const verdicts[] =
	{[FIT_NOT_FOUND] = "not found", [FIT_LIKELY] = "likely", [FIT_SURE] = "sure"};

const char *merge_verdict_name(enum fit_verdict verdict)
{
	return verdicts[verdict];
}

static const char *unit_of(const struct guest_match *m)
{
	return m->is_ticks ? "ticks" : "ns";
}

static int64_t piece_offset(const struct guest_match *m, const struct fit_piece *p)
{
	return (int64_t)(m->guest.base - m->host.base) - fit_line_at(&p->line, p->from);
}

static double ppm_of(const struct fit_piece *p)
{
	return -p->line.slope * 1e6;
}

static double band_us(const struct guest_match *m)
{
	return (double)m->fit.width / (m->is_ticks ? merge_ticks_per_us(&m->convs[0]) : 1000);
}

static void put_pieces(const struct guest_match *m)
{
	vec_for_each (&m->fit.pieces, p)
		cli_note("  from %llu: offset %lld %s, drift %.2f ppm, %llu of %llu edges",
			 (unsigned long long)(m->guest.base + (uint64_t)p->from),
			 (long long)piece_offset(m, p), unit_of(m), ppm_of(p),
			 (unsigned long long)p->nr_matched, (unsigned long long)p->nr_edges);
}

/* Of an offset that was given, there is no band. */
void merge_report_given(const struct guest *g)
{
	const struct fit_result *f = &g->match.fit;

	cli_note("%s: process %u: the given offset %s: matched %llu of %llu edges, contained %llu "
		 "of %llu events (by chance at most %llu of %llu)",
		 g->path, g->match.pid, f->verdict ? "fits" : "does not fit",
		 (unsigned long long)f->nr_matched, (unsigned long long)f->nr_edges,
		 (unsigned long long)f->contained.nr_inside, (unsigned long long)f->contained.nr,
		 (unsigned long long)f->best_random.nr_inside,
		 (unsigned long long)f->best_random.nr);
}

/* How much better it is than the next best. */
static void put_rivals(const struct fit_result *f, struct buf *b)
{
	if (!f->is_by_stays)
		buf_printf(b, "best %u, runner-up %u", f->score, f->runner_up);
	if (f->is_by_stays || f->gaps_other)
		buf_printf(b, "%sin gaps: best %llu, runner-up %llu", f->is_by_stays ? "" : ", ",
			   (unsigned long long)f->gaps_hit, (unsigned long long)f->gaps_other);
}

void merge_report_fit(const struct guest *g, const struct guest_match *m)
{
	const struct fit_result *f = &m->fit;
	clew_auto(buf_done) struct buf drift = {0};
	clew_auto(buf_done) struct buf ids = {0};
	clew_auto(buf_done) struct buf rivals = {0};

	if (!f->pieces.nr) {
		cli_note("%s: process %u: not found: %llu edges, of which no offset matches any",
			 g->path, m->pid, (unsigned long long)f->nr_edges);
		return;
	}
	if (f->ids.nr)
		buf_printf(&ids, ", %llu of %llu threads in the host's trace ran then",
			   (unsigned long long)f->ids.nr_inside, (unsigned long long)f->ids.nr);
	put_rivals(f, &rivals);
	if (m->is_ticks)
		buf_str(&drift, "0 by definition");
	else
		buf_printf(&drift, "%.2f ppm", ppm_of(&f->pieces.data[0]));
	cli_note(
		"%s: process %u: %s: %soffset %lld %s, drift %s, band %.1f us, matched %llu of %llu "
		"edges, contained %llu of %llu events (by chance at most %llu of %llu), "
		"%s, %zu piece%s%s",
		g->path, m->pid, verdicts[f->verdict],
		f->verdict == FIT_NOT_FOUND ? "nearest " : "", (long long)guest_match_offset(m),
		unit_of(m), buf_cstr(&drift), band_us(m), (unsigned long long)f->nr_matched,
		(unsigned long long)f->nr_edges, (unsigned long long)f->contained.nr_inside,
		(unsigned long long)f->contained.nr, (unsigned long long)f->best_random.nr_inside,
		(unsigned long long)f->best_random.nr, buf_cstr(&rivals), f->pieces.nr,
		f->pieces.nr == 1 ? "" : "s", buf_cstr(&ids));
	if (f->pieces.nr > 1)
		put_pieces(m);
}

static void report_counts(const struct merge *m, const struct guest_merge_counts *c)
{
	cli_note("%s: %llu records of the host, %llu of %zu guest%s", m->out_path,
		 (unsigned long long)c->nr_host, (unsigned long long)c->nr_guest, m->guests.nr,
		 m->guests.nr == 1 ? "" : "s");
	if (c->aux_bytes) {
		cli_warn("%llu bytes of hardware trace of guests were not merged",
			 (unsigned long long)c->aux_bytes);
		cli_hint(
			"a perf.data file has one trace: a guest's is decoded from the guest's own "
			"recording, as by 'clew script -i GUEST'");
	}
	if (c->nr_skipped)
		cli_note("%llu records of guests have no place among the host's",
			 (unsigned long long)c->nr_skipped);
	if (c->nr_bad)
		cli_warn("%llu records were skipped: damaged, or too large",
			 (unsigned long long)c->nr_bad);
	if (c->nr_off_cpu)
		cli_note("%llu records of guests are without a CPU of the host: the virtual CPU's "
			 "thread was about to move to another one, or was not seen yet",
			 (unsigned long long)c->nr_off_cpu);
	if (c->drops_stack_infos)
		cli_note("how the host's user stacks ended is not kept");
}

/* --- as JSON --- */

static void put_share(struct json_put *j, const char *key, const struct fit_share *s)
{
	json_key(j, key);
	json_open(j, '{');
	json_put_u64(j, "inside", s->nr_inside);
	json_put_u64(j, "all", s->nr);
	json_close(j, '}');
}

static void put_pieces_json(struct json_put *j, const struct guest_match *m)
{
	json_key(j, "pieces");
	json_open(j, '[');
	vec_for_each (&m->fit.pieces, p) {
		json_open(j, '{');
		json_put_u64(j, "from", m->guest.base + (uint64_t)p->from);
		json_put_i64(j, "offset", piece_offset(m, p));
		json_put_double(j, "drift_ppm", ppm_of(p));
		json_put_u64(j, "matched_edges", p->nr_matched);
		json_put_u64(j, "edges", p->nr_edges);
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void put_guest_json(struct json_put *j, const struct guest *g)
{
	const struct guest_match *m = &g->match;

	json_open(j, '{');
	json_put_string(j, "path", g->path);
	json_put_u64(j, "pid", m->pid);
	json_put_string(j, "verdict", verdicts[m->fit.verdict]);
	json_put_bool(j, "is_given", g->has_offset);
	json_put_string(j, "unit", unit_of(m));
	json_put_i64(j, "offset", g->has_offset ? g->given.offset : guest_match_offset(m));
	if (!g->has_offset)
		json_put_double(j, "band_us", band_us(m));
	json_put_u64(j, "matched_edges", m->fit.nr_matched);
	json_put_u64(j, "edges", m->fit.nr_edges);
	put_share(j, "contained", &m->fit.contained);
	put_share(j, "by_chance", &m->fit.best_random);
	if (!g->has_offset)
		put_pieces_json(j, m);
	json_close(j, '}');
}

static void report_json(const struct merge *m, const struct guest_merge_counts *c)
{
	clew_auto(buf_done) struct buf out = {0};
	struct json_put j = {.out = &out};

	json_open(&j, '{');
	json_put_string(&j, "path", m->out_path);
	json_put_u64(&j, "host_records", c->nr_host);
	json_put_u64(&j, "guest_records", c->nr_guest);
	json_put_u64(&j, "skipped_records", c->nr_skipped);
	json_put_u64(&j, "bad_records", c->nr_bad);
	json_put_u64(&j, "records_without_cpu", c->nr_off_cpu);
	json_put_u64(&j, "omitted_aux_bytes", c->aux_bytes);
	json_key(&j, "guests");
	json_open(&j, '[');
	vec_for_each (&m->guests, g)
		put_guest_json(&j, *g);
	json_close(&j, ']');
	json_close(&j, '}');
	cli_put(stdout, "%s\n", buf_cstr(&out));
}

void merge_report(const struct merge *m, const struct guest_merge_counts *counts)
{
	report_counts(m, counts);
	if (m->is_json)
		report_json(m, counts);
}
