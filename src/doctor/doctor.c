/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "doctor/doctor.h"

#include "doctor/doctor_rows.h"

const char *doctor_state_name(enum doctor_state state)
{
	static const char *const names[] = {"yes", "no", "fact"};

	return names[state];
}

enum clew_err rec_doctor_run(struct doctor_report *ret)
{
	static void (*const sections[])(struct doctor *) = {
		doctor_system, doctor_permissions, doctor_limits, doctor_events,  doctor_records,
		doctor_traces, doctor_bpf,         doctor_stacks, doctor_symbols,
	};
	struct doctor d = {.report = ret};

	*ret = (struct doctor_report){0};
	rec_host_facts_read(0, &d.world);
	os_pmus_read(NULL, &d.pmus, NULL);
	for (size_t i = 0; i < sizeof(sections) / sizeof(*sections); i++)
		sections[i](&d);
	os_pmus_done(&d.pmus);
	if (!d.is_out_of_memory)
		return CLEW_OK;
	rec_doctor_done(ret);
	return CLEW_NO_MEMORY;
}

void rec_doctor_done(struct doctor_report *r)
{
	vec_done(&r->rows);
	arena_done(&r->memory);
	*r = (struct doctor_report){0};
}
