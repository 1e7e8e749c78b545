/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TESTS_MAKE_CS_ETM_MAKE_H
#define TESTS_MAKE_CS_ETM_MAKE_H

#include "make/etm_encode.h"
#include "make/perf_build.h"

/*
 * perf.data with cs_etm, record by record:
 *
 *	struct cs_etm_make m = {.nr_cpus = 2, .version = 1};
 *	struct buf t = {0};
 *	cs_etm_begin(&m);
 *	cs_etm_comm(&m, 10, 100, 100, "one", true);
 *	cs_etm_map(&m, 10, 100, 0x10000, "/bin/one");
 *	cs_etm_sync(&t);
 *	cs_etm_go(&m, &t, &(struct cs_etm_place){.addr = 0x10000, .cid = 100});
 *	enc_atoms(&t, 1, 1);
 *	cs_etm_trace(&m, 0, 20, &t);
 *	struct bytes file = perf_build_finish(&m.file);
 */
struct cs_etm_make {
	/* Before cs_etm_begin(): */
	struct perf_build file;
	uint64_t version; /* of AUXTRACE_INFO */
	uint32_t nr_cpus;
	uint32_t configr; /* 0: CID */
	bool is_ete, is_raw, has_no_time, is_system_wide, is_per_thread, is_monotonic;
	bool inherits; /* with is_system_wide: as perf sets it there too */
	int64_t ts_source;
	uint64_t flags;   /* of AUX records */
	bool is_snapshot; /* AUX records give the end of their trace */
	/* Its own: */
	uint64_t offsets[16];
	struct etm_config config;
};

/** The event and, with version not all ones, AUXTRACE_INFO. Trace IDs: 0x10 + 2 * CPU. */
void cs_etm_begin(struct cs_etm_make *m);
void cs_etm_done(struct cs_etm_make *m);

/** The trailer: @p pid is the tid too. */
struct perf_sample_id cs_etm_id(uint32_t cpu, uint32_t tid, uint64_t time);

void cs_etm_comm(struct cs_etm_make *m, uint64_t time, uint32_t pid, uint32_t tid, const char *name,
		 bool is_exec);
void cs_etm_fork(struct cs_etm_make *m, uint64_t time, uint32_t ppid, uint32_t pid, uint32_t tid);
/** One page of code of @p path, from its beginning. */
void cs_etm_map(struct cs_etm_make *m, uint64_t time, uint32_t pid, uint64_t start,
		const char *path);
void cs_etm_kernel_map(struct cs_etm_make *m, uint64_t start, uint64_t len, const char *path);
/** ID_INDEX: machine @p i of @p nr has event 2 + i. */
void cs_etm_guests(struct cs_etm_make *m, const uint32_t *machines, uint32_t nr);
/** A page of code of the guest with event @p event, of its kernel or of process @p pid there. */
void cs_etm_guest_map(struct cs_etm_make *m, uint64_t time, uint64_t event, bool is_kernel,
		      uint32_t pid, uint64_t start, const char *path);
/** A guest's process that gets a name. */
void cs_etm_guest_comm(struct cs_etm_make *m, uint64_t time, uint64_t event, uint32_t pid,
		       const char *name);
void cs_etm_switch(struct cs_etm_make *m, uint64_t time, uint32_t cpu, uint32_t from, uint32_t to);
void cs_etm_time_conv(struct cs_etm_make *m, uint64_t zero); /* ns = zero + ticks * 2 */
/** ID_INDEX with the one event's ring: a thread's. */
void cs_etm_ring_of(struct cs_etm_make *m, uint32_t tid);
void cs_etm_hw_id(struct cs_etm_make *m, uint32_t cpu, uint64_t hw_id);

/** An AUX record at @p time and its trace: @p stream of the CPU's unit, in frames unless is_raw. It
 * is emptied. */
void cs_etm_trace(struct cs_etm_make *m, uint32_t cpu, uint64_t time, struct buf *stream);
/** The same by parts. @p tid: in the trailer, and with is_per_thread the ring's. */
void cs_etm_aux(struct cs_etm_make *m, uint32_t cpu, uint32_t tid, uint64_t time, uint64_t bytes);
void cs_etm_auxtrace(struct cs_etm_make *m, uint32_t cpu, uint32_t tid, uint64_t offset,
		     struct bytes trace);
/** @p stream in frames under @p id. */
void cs_etm_frames(struct buf *to, uint8_t id, const struct buf *stream);

/** What a stream begins with. */
void cs_etm_sync(struct buf *t);
struct cs_etm_place {
	uint64_t addr;
	uint8_t el;
	uint32_t cid, vmid; /* sent where not 0 */
	bool is_secure;
};
/** Address and context. */
void cs_etm_go(const struct cs_etm_make *m, struct buf *t, const struct cs_etm_place *at);

#endif
