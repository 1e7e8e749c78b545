/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OS_PERF_PMU_H
#define OS_PERF_PMU_H

#include <stdbool.h>
#include <stdint.h>

#include <clew/err.h>

#include "base/arena.h"
#include "base/vec.h"

/*
 * Performance monitoring units as sysfs describes them.
 * Spec: Documentation/ABI/testing/sysfs-bus-event_source-devices{,-format,-events,-caps}.
 */

/** A field of the attr that an event spells by name: "config1:0-7,32-35". */
struct os_pmu_format {
	const char *name;
	uint8_t config; /* 0-4: which of attr.config, config1, ... */
	uint64_t mask;  /* the bits, lowest first, that the value is spread over */
};

/** A named event: "event=0x3c,umask=0x01". */
struct os_pmu_event {
	const char *name, *terms;
};

struct os_pmu {
	const char *name; /* as sysfs spells it: "cpu", "intel_pt", "uncore_imc_0" */
	const char *dir;  /* its directory in sysfs */
	uint32_t type;    /* attr.type */
	bool is_core;     /* counts instructions of a CPU: knows the generic hardware events */
	const char *cpus; /* cpumask or cpus file; NULL: any CPU */
	bool is_loaded;   /* the tables below are read */
	struct {
		VEC(struct os_pmu_format);
	} formats;
	struct {
		VEC(struct os_pmu_event); /* sorted by name */
	} events;
};

struct os_pmus {
	struct arena memory;
	const char *sysfs; /* "/sys", or a test's */
	struct {
		VEC(struct os_pmu); /* sorted by name */
	} pmus;
};

/**
 * Names, types and CPUs of all PMUs. Three small reads each.
 * @param sysfs where sysfs is mounted; NULL: /sys. Copied.
 * @return CLEW_OK; CLEW_OS: no bus/event_source/devices; CLEW_NO_MEMORY. On failure @p ret is
 *         empty.
 */
enum clew_err os_pmus_read(const char *sysfs, struct os_pmus *ret, struct clew_diag *diag);

/** Read the formats and events of @p pmu, once. A line the ABI does not allow is omitted. */
enum clew_err os_pmu_load(struct os_pmus *pmus, struct os_pmu *pmu);

/** NULL: none of that name. */
struct os_pmu *os_pmus_find(struct os_pmus *pmus, const char *name, size_t name_len);

/** A number in a file below the PMU's directory, such as "caps/max_precise" or
 * "nr_addr_filters". @return false: no such file or not a number. */
bool os_pmu_number(const struct os_pmu *pmu, const char *file, uint64_t *ret);

/** The same, written in hexadecimal, with 0x (registers of a trace unit) or without (bit sets in
 * caps/). */
bool os_pmu_hex(const struct os_pmu *pmu, const char *file, uint64_t *ret);

/** The text of such a file. @return false: no such file, or it does not fit. */
bool os_pmu_text(const struct os_pmu *pmu, const char *file, char *ret, size_t size);

/** A decimal number with a sign. */
bool os_pmu_signed(const struct os_pmu *pmu, const char *file, int64_t *ret);

bool os_pmu_has(const struct os_pmu *pmu, const char *file);

/** Of a loaded PMU. NULL: none of that name. */
const struct os_pmu_format *os_pmu_format_find(const struct os_pmu *pmu, const char *name,
					       size_t name_len);

/** The first line of a file below devices/system/cpu, such as "online"; valid as long as @p pmus.
 * NULL: it cannot be read. */
const char *os_pmus_cpu_line(struct os_pmus *pmus, const char *file);

/** A hexadecimal number there, such as "cpu0/regs/identification/midr_el1". */
bool os_pmus_cpu_hex(struct os_pmus *pmus, const char *file, uint64_t *ret);

/** Parse a format file's text. @return false where it breaks the ABI. @p ret->name stays. */
bool os_pmu_format_parse(const char *text, struct os_pmu_format *ret);

void os_pmus_done(struct os_pmus *pmus);

#endif
