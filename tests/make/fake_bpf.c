/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "make/fake_bpf.h"

struct defer_bpf bpf;

enum clew_err defer_bpf_open(struct defer_bpf **ret, const struct defer_bpf_opts *o,
			     struct rec_error *error)
{
	*ret = o->nr_cpus ? &bpf : NULL;
	return *ret ? CLEW_OK : rec_fail(error, CLEW_UNSUPPORTED, "no CPU");
}

void defer_bpf_free(struct defer_bpf *d)
{
	if (!d)
		return;
	vec_done(&d->requests);
	vec_done(&d->stacks);
	vec_done(&d->asleep);
	vec_done(&d->wants);
	d->nr_freed++;
}

enum clew_err defer_bpf_attach(struct defer_bpf *d, int perf_fd, uint32_t event,
			       enum defer_source source, struct rec_error *error)
{
	if (d->refuses || perf_fd < 0 || source != DEFER_COUNTER)
		return rec_fail(error, CLEW_UNSUPPORTED, "event %u takes no program", event);
	d->nr_attached++;
	return CLEW_OK;
}

enum clew_err defer_bpf_attach_tracepoint(struct defer_bpf *d, uint64_t id, uint32_t event,
					  enum defer_source *ret_source, struct rec_error *error)
{
	(void)id;
	*ret_source = DEFER_COUNTER;
	return defer_bpf_attach(d, 0, event, DEFER_COUNTER, error);
}

enum clew_err defer_bpf_scan(struct defer_bpf *d, const int *pids, size_t nr,
			     const struct defer_sink *sink)
{
	(void)d, (void)pids, (void)nr, (void)sink;
	return CLEW_OK;
}

enum clew_err defer_bpf_put_table(struct defer_bpf *d, const struct defer_file_key *key,
				  const struct unw_code *code)
{
	(void)key, (void)code;
	d->nr_tables++;
	return CLEW_OK;
}

void defer_bpf_hold_tables(struct defer_bpf *d)
{
	(void)d;
}

enum clew_err defer_bpf_release_tables(struct defer_bpf *d)
{
	(void)d;
	return CLEW_OK;
}

enum clew_err defer_bpf_put_none(struct defer_bpf *d, const struct defer_file_key *key)
{
	(void)key;
	d->nr_none++;
	return CLEW_OK;
}

enum clew_err defer_bpf_put_later(struct defer_bpf *d, const struct defer_file_key *key)
{
	(void)key;
	d->nr_later++;
	return CLEW_OK;
}

enum clew_err defer_bpf_poll(struct defer_bpf *d, const struct defer_sink *sink)
{
	if (d->nr_hidden) {
		d->nr_hidden--;
		return CLEW_OK;
	}
	vec_for_each (&d->requests, r)
		sink->request(sink->ctx, r);
	vec_for_each (&d->stacks, s)
		sink->stack(sink->ctx, s);
	vec_for_each (&d->wants, w)
		sink->want(sink->ctx, w);
	d->requests.nr = d->stacks.nr = d->wants.nr = 0;
	return CLEW_OK;
}

bool defer_bpf_has_unread(const struct defer_bpf *d)
{
	return d->requests.nr;
}

int defer_bpf_fd(const struct defer_bpf *d)
{
	(void)d;
	return -1;
}

void defer_bpf_stop(struct defer_bpf *d)
{
	d->is_stopped = true;
}

size_t defer_bpf_finish(struct defer_bpf *d, const struct defer_sink *sink)
{
	vec_for_each (&d->asleep, s)
		sink->stack(sink->ctx, s);
	return d->nr_left;
}

void defer_bpf_counts(const struct defer_bpf *d, struct defer_counts *ret)
{
	*ret = (struct defer_counts){.nr_tables = (uint64_t)d->nr_tables};
}

uint64_t defer_bpf_nr_ring_full(const struct defer_bpf *d)
{
	(void)d;
	return 0;
}
