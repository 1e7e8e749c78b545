/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_SOFT_SOFT_STREAM_H
#define RECORD_SOFT_SOFT_STREAM_H

#include "base/buf.h"
#include "packet/pt/ipt_packet.h"

/*
 * What one thread executes, as packets of Intel PT of user mode alone: every system call ends with
 * TIP.PGD, and TIP.PGE follows it.
 * Spec: Intel SDM volume 3, "Intel Processor Trace".
 */
struct soft_stream {
	uint32_t idx;
	uint32_t psb_bytes; /* from one PSB to the next */
	int clockid;        /* of its times, in nanoseconds */
	struct buf bytes;   /* not yet sent */
	uint64_t last_ip;
	uint64_t tnt; /* not yet written */
	uint8_t nr_tnt;
	uint64_t since_psb; /* bytes */
	uint32_t since_time;
	bool has_begun; /* a PSB was written */
	bool is_on;     /* between TIP.PGE and TIP.PGD */
	bool is_64, was_64;
};

/** Tracing begins, or continues, at @p ip. */
void soft_stream_on(struct soft_stream *s, uint64_t ip, bool is_64);

/** The same at a time in the past, or 0: now. */
void soft_stream_on_at(struct soft_stream *s, uint64_t ip, bool is_64, uint64_t ns);

/** A system call, or another far transfer, at the present place. */
void soft_stream_off(struct soft_stream *s);

/** Everything before @p ip was executed, and tracing ends there. */
void soft_stream_off_at(struct soft_stream *s, uint64_t ip);

void soft_stream_branch(struct soft_stream *s, bool is_taken);
void soft_stream_target(struct soft_stream *s, uint64_t target);

/** The thread is at @p ip: now and then, its time and a place to start decoding from. */
void soft_stream_at(struct soft_stream *s, uint64_t ip);

/** The time now; not 0. */
uint64_t soft_stream_now(const struct soft_stream *s);

/** Make the bytes a multiple of 8, as they are stored. */
void soft_stream_pad(struct soft_stream *s);

#endif
