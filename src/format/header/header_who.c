/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/escape.h"
#include "format/header/header_impl.h"
#include "perfdata/perf_guest_fits.h"

static const char *const namespaces[] = {
	[PERF_WHO_NAMESPACE_UNKNOWN] = "unknown",
	[PERF_WHO_NAMESPACE_INITIAL] = "initial",
	[PERF_WHO_NAMESPACE_OTHER] = "other",
};

static const char *const procfs_words[] = {
	[PERF_WHO_PROCFS_UNKNOWN] = "unknown",
	[PERF_WHO_PROCFS_SAME] = "same",
	[PERF_WHO_PROCFS_TRANSLATED] = "translated",
	[PERF_WHO_PROCFS_OMITTED] = "omitted",
};

static const char *const procfs_texts[] = {
	[PERF_WHO_PROCFS_UNKNOWN] = "unknown",
	[PERF_WHO_PROCFS_SAME] = "the same as in the kernel's records",
	[PERF_WHO_PROCFS_TRANSLATED] = "others than in the kernel's records, translated by NSpid",
	[PERF_WHO_PROCFS_OMITTED] =
		"others than in the kernel's records, so /proc was not recorded",
};

void header_print_who(struct buf *out, const struct header_facts *h)
{
	const struct perf_who_facts *f = perf_file_who_facts(h->file);

	if (!f->has_recorder)
		return;
	buf_str(out, "# PID namespace of the recorder : ");
	if (f->pid_ns)
		buf_printf(out, "%llu, ", (unsigned long long)f->pid_ns);
	buf_printf(out, "%s\n# ids in /proc : %s\n",
		   f->recorder == PERF_WHO_NAMESPACE_INITIAL ? "the initial one"
		   : f->recorder == PERF_WHO_NAMESPACE_OTHER ? "not the initial one"
							     : "unknown",
		   procfs_texts[f->ids]);
}

static void add_enabled(struct buf *out, const struct perf_who_facts *f)
{
	if (!f->enabled.nr)
		return;
	buf_str(out, "# records of switches are complete from :");
	vec_for_each (&f->enabled, e) {
		buf_printf(out, " cpu %u ", e->cpu);
		buf_seconds(out, e->ns);
	}
	buf_char(out, '\n');
}

void header_print_who_records(struct buf *out, const struct header_facts *h)
{
	const struct perf_who_facts *f = perf_file_who_facts(h->file);

	if (!f->has_recorder)
		return;
	if (f->nr_translated || f->nr_omitted)
		buf_printf(out, "# threads of /proc : %u translated, %u omitted\n",
			   f->nr_translated, f->nr_omitted);
	vec_for_each (&f->tasks, t) {
		buf_printf(out, "# thread : %u in /proc, ", t->procfs);
		if (t->local)
			buf_printf(out, "%u here, ", t->local);
		else
			buf_str(out, "none here, ");
		buf_printf(out, "%u in its own namespace", t->inner);
		if (t->pid_ns)
			buf_printf(out, " %llu", (unsigned long long)t->pid_ns);
		buf_printf(out, " at depth %u\n", t->depth);
	}
	add_enabled(out, f);
}

/* --- guests that were merged --- */

static const char *const verdicts[] =
	{[PERF_GUEST_GIVEN] = "given", [PERF_GUEST_LIKELY] = "likely", [PERF_GUEST_SURE] = "sure"};

void header_print_guests(struct buf *out, const struct header_facts *h)
{
	struct perf_guest_fits fits;

	if (perf_guest_fits_parse(perf_file_features(h->file), &fits))
		buf_str(out,
			"# guests : what is known of them is damaged, or of another version\n");
	vec_for_each (&fits.guests, g) {
		buf_printf(out, "# guest : process %u, ", g->machine);
		escape_str(out, g->path);
		buf_printf(out, ", clock %s", verdicts[g->verdict]);
		if (g->verdict != PERF_GUEST_GIVEN)
			buf_printf(out, ", to %.1f us either way", (double)g->band_ns / 1000);
		buf_char(out, '\n');
	}
	perf_guest_fits_done(&fits);
}

void header_json_guests(struct json_put *j, const struct header_facts *h)
{
	struct perf_guest_fits fits;

	if (perf_guest_fits_parse(perf_file_features(h->file), &fits) || !fits.guests.nr)
		return;
	json_key(j, "guests");
	json_open(j, '[');
	vec_for_each (&fits.guests, g) {
		json_open(j, '{');
		json_put_u64(j, "machine", g->machine);
		json_put_string(j, "path", g->path);
		json_put_string(j, "clock", verdicts[g->verdict]);
		json_put_u64(j, "band_ns", g->band_ns);
		json_put_u64(j, "pieces", g->pieces.nr);
		json_close(j, '}');
	}
	json_close(j, ']');
	perf_guest_fits_done(&fits);
}

/* --- ids --- */

static void add_task(struct json_put *j, const struct perf_who_task *t)
{
	json_open(j, '{');
	json_put_u64(j, "procfs", t->procfs);
	json_put_u64(j, "local", t->local);
	json_put_u64(j, "inner", t->inner);
	json_put_u64(j, "depth", t->depth);
	json_put_u64(j, "pid_namespace_inode", t->pid_ns);
	json_close(j, '}');
}

static void add_records(struct json_put *j, const struct perf_who_facts *f)
{
	json_put_u64(j, "nr_translated", f->nr_translated);
	json_put_u64(j, "nr_omitted", f->nr_omitted);
	json_key(j, "tasks");
	json_open(j, '[');
	vec_for_each (&f->tasks, t)
		add_task(j, t);
	json_close(j, ']');
	json_key(j, "tracked_from");
	json_open(j, '[');
	vec_for_each (&f->enabled, e) {
		json_open(j, '{');
		json_put_u64(j, "cpu", e->cpu);
		json_put_u64(j, "ns", e->ns);
		json_close(j, '}');
	}
	json_close(j, ']');
}

void header_json_who(struct json_put *j, const struct header_facts *h)
{
	const struct perf_who_facts *f = perf_file_who_facts(h->file);

	if (!f->has_recorder)
		return;
	json_key(j, "recorder");
	json_open(j, '{');
	json_put_string(j, "pid_namespace", namespaces[f->recorder]);
	json_put_u64(j, "pid_namespace_inode", f->pid_ns);
	json_put_string(j, "procfs_namespace", namespaces[f->proc]);
	json_put_string(j, "procfs_ids", procfs_words[f->ids]);
	json_put_u64(j, "local_id", f->recorder_local);
	json_put_u64(j, "procfs_id", f->recorder_procfs);
	if (h->has_records)
		add_records(j, f);
	json_close(j, '}');
}
