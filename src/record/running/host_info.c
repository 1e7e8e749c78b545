/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/running/host_info.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <clew/version.h>

#include "os/clock.h"
#include "os/file.h"
#include "os/proc.h"
#include "perfdata/perf_features_write.h"
#include "record/running/host_topology.h"

enum { FILE_LIMIT = 16 * 1024 * 1024 };

static void put_words(struct buf *b, const char *text)
{
	perf_put_string(b, text);
}

/* "NAME<tab>: value" of /proc/cpuinfo's first processor. */
static bool cpuinfo_field(const char *cpuinfo, const char *name, char *ret, size_t size)
{
	const char *at = cpuinfo;
	size_t len = strlen(name);

	for (; *at && *at != '\n'; at += strcspn(at, "\n") + 1) {
		const char *value;

		if (strncmp(at, name, len) != 0 ||
		    (at[len] != '\t' && at[len] != ' ' && at[len] != ':'))
			continue;
		value = strchr(at, ':');
		if (!value)
			return false;
		value += 1 + strspn(value + 1, " \t");
		snprintf(ret, size, "%.*s", (int)strcspn(value, "\n"), value);
		return true;
	}
	return false;
}

static void put_cpudesc(struct buf *b, const char *cpuinfo)
{
	static const char *const names[] = {"model name", "Processor", "cpu model", "cpu"};
	char text[256];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (cpuinfo_field(cpuinfo, names[i], text, sizeof(text))) {
			put_words(b, text);
			return;
		}
	}
}

/* As perf spells it: on x86 vendor,family,model,stepping; on arm64 the MIDR register. */
static void put_cpuid(struct buf *b, const char *cpuinfo)
{
	char vendor[64], family[32], model[32], stepping[32], text[192];

	if (cpuinfo_field(cpuinfo, "vendor_id", vendor, sizeof(vendor)) &&
	    cpuinfo_field(cpuinfo, "cpu family", family, sizeof(family)) &&
	    cpuinfo_field(cpuinfo, "model", model, sizeof(model)) &&
	    cpuinfo_field(cpuinfo, "stepping", stepping, sizeof(stepping)))
		snprintf(text, sizeof(text), "%s,%s,%s,%s", vendor, family, model, stepping);
	else if (!os_read_first_line("/sys/devices/system/cpu/cpu0/regs/identification/midr_el1",
				     text, sizeof(text)))
		return;
	put_words(b, text);
}

static void put_total_mem(struct buf *b)
{
	struct buf text = {0};
	const char *at;

	if (os_read_into("/proc/meminfo", FILE_LIMIT, &text) > 0) {
		at = strstr(buf_cstr(&text), "MemTotal:");
		if (at)
			buf_u64(b, strtoull(at + 9, NULL, 10));
	}
	buf_done(&text);
}

static void put_pmus(struct buf *b)
{
	static const char devices[] = "/sys/bus/event_source/devices";
	struct os_dir *d = os_dir_open(devices, NULL);
	size_t at = b->nr;
	uint32_t nr = 0;
	const char *name;

	buf_u32(b, 0);
	while (d && (name = os_dir_next(d))) {
		unsigned long long type;
		char path[512];

		snprintf(path, sizeof(path), "%s/%s/type", devices, name);
		if (!os_read_number(path, &type))
			continue;
		buf_u32(b, (uint32_t)type);
		perf_put_string(b, name);
		nr++;
	}
	os_dir_close(d);
	if (!b->is_failed)
		memcpy(b->data + at, &nr, sizeof(nr));
}

static void put_pmu_caps(struct buf *b)
{
	static const char caps[] = "/sys/bus/event_source/devices/cpu/caps";
	struct os_dir *d = os_dir_open(caps, NULL);
	size_t at = b->nr;
	uint32_t nr = 0;
	const char *name;

	if (!d)
		return;
	buf_u32(b, 0);
	while ((name = os_dir_next(d))) {
		char path[512], value[256];

		snprintf(path, sizeof(path), "%s/%s", caps, name);
		if (!os_read_first_line(path, value, sizeof(value)))
			continue;
		perf_put_string(b, name);
		perf_put_string(b, value);
		nr++;
	}
	os_dir_close(d);
	if (!b->is_failed)
		memcpy(b->data + at, &nr, sizeof(nr));
}

static void put_cmdline(struct buf *b, const struct rec_options *o)
{
	char exe[4096];

	if (os_read_link("/proc/self/exe", exe, sizeof(exe)) < 0)
		snprintf(exe, sizeof(exe), "clew");
	perf_put_cmdline(b, exe, o->command_line, o->nr_command_line);
}

static enum clew_err give(struct perf_writer *w, enum perf_feature feature, struct buf *b)
{
	enum clew_err err = CLEW_OK;

	if (b->is_failed)
		err = CLEW_NO_MEMORY;
	else if (b->nr)
		err = perf_writer_feature(w, feature, b->data, b->nr);
	buf_clear(b);
	return err;
}

static enum clew_err give_clock(struct perf_writer *w, const struct rec_options *o, struct buf *b)
{
	uint64_t now, step;
	enum clew_err err;

	if (!o->has_clockid || !os_clock_read(o->clockid, &now, &step))
		return CLEW_OK;
	buf_u64(b, step);
	err = give(w, PERF_FEAT_CLOCKID, b);
	if (err != CLEW_OK)
		return err;
	os_clock_read(o->clockid, &now, &step);
	buf_u32(b, 1); /* version */
	buf_u32(b, (uint32_t)o->clockid);
	buf_u64(b, os_wall_ns());
	buf_u64(b, now);
	return give(w, PERF_FEAT_CLOCK_DATA, b);
}

static enum clew_err give_words(struct perf_writer *w, struct buf *b)
{
	struct os_uname u;
	const struct {
		enum perf_feature feature;
		const char *text;
	} rows[] = {
		{PERF_FEAT_HOSTNAME,  u.node              },
		{PERF_FEAT_OSRELEASE, u.release           },
		{PERF_FEAT_VERSION,   "clew " CLEW_VERSION},
		{PERF_FEAT_ARCH,      u.machine           },
	};
	enum clew_err err = CLEW_OK;

	os_uname(&u);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]) && err == CLEW_OK; i++) {
		put_words(b, rows[i].text);
		err = give(w, rows[i].feature, b);
	}
	return err;
}

enum clew_err rec_host_info(struct perf_writer *w, const struct rec_options *o)
{
	struct buf b = {0}, cpuinfo = {0};
	enum clew_err err = give_words(w, &b);
	const char *text;

	os_read_into("/proc/cpuinfo", FILE_LIMIT, &cpuinfo);
	text = buf_cstr(&cpuinfo);
#define GIVE(feature, ...)                 \
 do {                                      \
  if (err == CLEW_OK) {                    \
   __VA_ARGS__;                            \
   err = give(w, PERF_FEAT_##feature, &b); \
  }                                        \
 } while (0)
	GIVE(NRCPUS, rec_put_nr_cpus(&b));
	GIVE(CPUDESC, put_cpudesc(&b, text));
	GIVE(CPUID, put_cpuid(&b, text));
	GIVE(TOTAL_MEM, put_total_mem(&b));
	GIVE(CMDLINE, put_cmdline(&b, o));
	GIVE(CPU_TOPOLOGY, rec_put_cpu_topology(&b));
	GIVE(NUMA_TOPOLOGY, rec_put_numa_topology(&b));
	GIVE(PMU_MAPPINGS, put_pmus(&b));
	GIVE(CACHE, rec_put_cache(&b));
	GIVE(CPU_PMU_CAPS, put_pmu_caps(&b));
#undef GIVE
	if (err == CLEW_OK)
		err = give_clock(w, o, &b);
	buf_done(&cpuinfo);
	buf_done(&b);
	return err;
}
