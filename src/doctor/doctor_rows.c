/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "doctor/doctor_rows.h"

#include <stdarg.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/escape.h"
#include "os/file.h"
#include "os/perf/perf_event.h"
#include "perfdata/perf_attr.h"

static const char *text_of(struct doctor *d, const char *format, va_list args)
	__attribute__((format(printf, 2, 0)));
static const char *text_of(struct doctor *d, const char *format, va_list args)
{
	clew_auto(buf_done) struct buf text = {0};
	const char *copy;

	buf_vprintf(&text, format, args);
	escape_since(&text, 0);
	copy = text.is_failed ? NULL : arena_strndup(&d->report->memory, text.data, text.nr);
	d->is_out_of_memory |= !copy;
	return copy ? copy : "";
}

const char *doctor_text(struct doctor *d, const char *format, ...)
{
	va_list args;
	const char *text;

	va_start(args, format);
	text = text_of(d, format, args);
	va_end(args);
	return text;
}

static void add(struct doctor *d, struct doctor_row row)
{
	row.section = d->section;
	if (!row.fix)
		row.fix = "";
	if (!vec_push(&d->report->rows, row))
		d->is_out_of_memory = true;
}

void doctor_yes(struct doctor *d, const char *id, const char *title, const char *detail, ...)
{
	va_list args;

	va_start(args, detail);
	add(d, (struct doctor_row){.id = id,
				   .title = title,
				   .state = DOCTOR_YES,
				   .detail = text_of(d, detail, args)});
	va_end(args);
}

void doctor_fact(struct doctor *d, const char *id, const char *title, const char *detail, ...)
{
	va_list args;

	va_start(args, detail);
	add(d, (struct doctor_row){.id = id,
				   .title = title,
				   .state = DOCTOR_FACT,
				   .detail = text_of(d, detail, args)});
	va_end(args);
}

void doctor_no(struct doctor *d, const char *id, const char *title, const char *fix,
	       const char *detail, ...)
{
	va_list args;

	va_start(args, detail);
	add(d, (struct doctor_row){.id = id,
				   .title = title,
				   .state = DOCTOR_NO,
				   .fix = fix,
				   .detail = text_of(d, detail, args)});
	va_end(args);
}

int doctor_try(const struct perf_attr *attr, int pid, int cpu)
{
	uint8_t bytes[PERF_ATTR_SIZE_VER9];
	int fd;

	perf_attr_for_kernel(attr, bytes);
	fd = os_perf_open(bytes, pid, cpu, -1, 0);
	if (fd < 0)
		return -fd;
	os_close(fd);
	return 0;
}

void doctor_outcome(struct doctor *d, const char *id, const char *title, const char *detail,
		    const struct doctor_trial *trial)
{
	struct rec_refusal r = {.call = REC_CALL_OPEN,
				.os_errno = trial->os_errno,
				.attr = trial->attr,
				.event = "",
				.pmu = trial->pmu,
				.pid = trial->pid,
				.cpu = trial->pid < 0 ? 0 : -1};
	struct rec_error error;

	if (!trial->os_errno) {
		doctor_yes(d, id, title, "%s", detail);
		return;
	}
	rec_refusal_explain(&r, &d->world, &error);
	doctor_no(d, id, title, doctor_text(d, "%s", error.hint), "%s", error.text);
}

const char *doctor_setcap(struct doctor *d)
{
	if (!d->world.caps.is_initial_user_ns)
		return "record from the host";
	return doctor_text(d, "run as root, or: sudo setcap " REC_SETCAP " %s",
			   *d->world.program ? d->world.program : "$(command -v clew)");
}
