/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "record/stacks/bpf/defer_bpf.h"

/* This build holds no BPF programs: another machine than x86-64 and arm64, or no clang or libbpf
 * when it was made. */
enum clew_err defer_bpf_open(struct defer_bpf **ret, const struct defer_bpf_opts *o,
			     struct rec_error *error)
{
	(void)ret;
	(void)o;
	return rec_fail(
		error, CLEW_UNSUPPORTED,
		"this build of clew holds no BPF programs (they need x86-64 or arm64, libbpf and "
		"clang)");
}

void defer_bpf_free(struct defer_bpf *d)
{
	(void)d;
}

enum clew_err defer_bpf_attach(struct defer_bpf *d, int perf_fd, uint32_t event,
			       enum defer_source source, struct rec_error *error)
{
	(void)d;
	(void)perf_fd;
	(void)event;
	(void)source;
	return rec_fail(error, CLEW_UNSUPPORTED, "this build of clew holds no BPF programs");
}

enum clew_err defer_bpf_attach_tracepoint(struct defer_bpf *d, uint64_t id, uint32_t event,
					  enum defer_source *ret_source, struct rec_error *error)
{
	*ret_source = DEFER_COUNTER;
	(void)d;
	(void)id;
	(void)event;
	return rec_fail(error, CLEW_UNSUPPORTED, "this build of clew holds no BPF programs");
}

enum clew_err defer_bpf_scan(struct defer_bpf *d, const int *pids, size_t nr,
			     const struct defer_sink *sink)
{
	(void)d;
	(void)pids;
	(void)nr;
	(void)sink;
	return CLEW_UNSUPPORTED;
}

enum clew_err defer_bpf_put_table(struct defer_bpf *d, const struct defer_file_key *key,
				  const struct unw_code *code)
{
	(void)d;
	(void)key;
	(void)code;
	return CLEW_UNSUPPORTED;
}

void defer_bpf_hold_tables(struct defer_bpf *d)
{
	(void)d;
}

enum clew_err defer_bpf_release_tables(struct defer_bpf *d)
{
	(void)d;
	return CLEW_UNSUPPORTED;
}

enum clew_err defer_bpf_put_none(struct defer_bpf *d, const struct defer_file_key *key)
{
	(void)d;
	(void)key;
	return CLEW_UNSUPPORTED;
}

enum clew_err defer_bpf_put_later(struct defer_bpf *d, const struct defer_file_key *key)
{
	(void)d;
	(void)key;
	return CLEW_UNSUPPORTED;
}

enum clew_err defer_bpf_poll(struct defer_bpf *d, const struct defer_sink *sink)
{
	(void)d;
	(void)sink;
	return CLEW_UNSUPPORTED;
}

bool defer_bpf_has_unread(const struct defer_bpf *d)
{
	(void)d;
	return false;
}

int defer_bpf_fd(const struct defer_bpf *d)
{
	(void)d;
	return -1;
}

void defer_bpf_stop(struct defer_bpf *d)
{
	(void)d;
}

size_t defer_bpf_finish(struct defer_bpf *d, const struct defer_sink *sink)
{
	(void)d;
	(void)sink;
	return 0;
}

void defer_bpf_counts(const struct defer_bpf *d, struct defer_counts *ret)
{
	(void)d;
	memset(ret, 0, sizeof(*ret));
}

uint64_t defer_bpf_nr_ring_full(const struct defer_bpf *d)
{
	(void)d;
	return 0;
}
