/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_SESSION_SESSION_IMPL_H
#define RECORD_SESSION_SESSION_IMPL_H

#include "os/child.h"
#include "os/clock.h"
#include "record/session/control.h"
#include "record/session/rec_session.h"
#include "record/session/stream.h"

/* A recording from its preparation to its end (rec_session.c); while it waits (session_loop.c). */

struct session {
	const struct rec_options *asked, *options; /* as given; settled */
	struct rec_options settled;
	const struct rec_ui *ui;
	struct rec_result *result;
	struct rec_target target;
	struct rec_counters counters;
	struct rec_sources sources;
	struct rec_stream stream;
	struct rec_control control;
	struct os_child child;
	struct os_poll poll;
	int signal_fd, signal_poll, control_poll;
	size_t task_poll, task_poll_end; /* polled descriptors, one per task, that report its end */
	size_t nr_tasks;
	uint64_t start_ns, enable_at_ns, progress_at_ns;
	bool must_stop, must_switch;
};

/** What is waited for. @return false: out of memory. */
bool session_fill_poll(struct session *s);

/** Wait, write what comes, do what signals and --control ask for; until something ends it. */
enum clew_err session_loop(struct session *s, struct rec_error *error);

/** One round. */
enum clew_err session_drain(struct session *s, struct rec_error *error);

/** @return how many events or buffers that concerned. */
size_t session_order(const struct session *s, enum rec_order_kind kind, const char *event);

#endif
