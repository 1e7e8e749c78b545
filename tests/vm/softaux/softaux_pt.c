/* SPDX-License-Identifier: GPL-2.0-only */
/* softaux under the name of intel_pt: packets that its decoders take, and what they look for in
 * sysfs. */
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/timex.h>
#include <linux/unaligned.h>

#include "softaux.h"

/* 64 bytes an Intel PT decoder takes: PSB+ with time, then two PTWRITE packets (sequence number;
 * type, paused, cpu, tid). */
void sa_pt_fill(const struct sa_rec *r, u8 *p)
{
	int i;
	u64 t = get_cycles();

	memset(p, 0, 64); /* PAD */
	for (i = 0; i < 16; i += 2)
		p[i] = 0x02, p[i + 1] = 0x82; /* PSB */
	p[16] = 0x19;                         /* TSC */
	for (i = 0; i < 7; i++)
		p[17 + i] = t >> (8 * i);
	p[24] = 0x02, p[25] = 0x03, p[26] = 0x20; /* CBR 32 */
	p[28] = 0x99, p[29] = 0x01;               /* MODE.Exec, 64 bit */
	p[30] = 0x02, p[31] = 0x23;               /* PSBEND */
	p[32] = 0x02, p[33] = 0x32;               /* PTWRITE, 8 bytes */
	put_unaligned_le64(r->seq, p + 34);
	p[42] = 0x02, p[43] = 0x32;
	put_unaligned_le64((u64)r->tid << 32 | r->cpu << 16 | r->paused << 8 | r->type, p + 44);
}

/* what perf and clew look for under intel_pt */
PMU_FORMAT_ATTR(pt, "config:0");
PMU_FORMAT_ATTR(cyc, "config:1");
PMU_FORMAT_ATTR(pwr_evt, "config:4");
PMU_FORMAT_ATTR(fup_on_ptw, "config:5");
PMU_FORMAT_ATTR(mtc, "config:9");
PMU_FORMAT_ATTR(tsc, "config:10");
PMU_FORMAT_ATTR(noretcomp, "config:11");
PMU_FORMAT_ATTR(ptw, "config:12");
PMU_FORMAT_ATTR(branch, "config:13");
PMU_FORMAT_ATTR(mtc_period, "config:14-17");
PMU_FORMAT_ATTR(cyc_thresh, "config:19-22");
PMU_FORMAT_ATTR(psb_period, "config:24-27");
static struct attribute *pt_fmt[] = {&format_attr_pt.attr,
				     &format_attr_cyc.attr,
				     &format_attr_pwr_evt.attr,
				     &format_attr_fup_on_ptw.attr,
				     &format_attr_mtc.attr,
				     &format_attr_tsc.attr,
				     &format_attr_noretcomp.attr,
				     &format_attr_ptw.attr,
				     &format_attr_branch.attr,
				     &format_attr_mtc_period.attr,
				     &format_attr_cyc_thresh.attr,
				     &format_attr_psb_period.attr,
				     NULL};
static const struct attribute_group pt_fmt_group = {.name = "format", .attrs = pt_fmt};
#define PT_CAP(n, v)                                                           \
 static ssize_t cap_##n(struct device *d, struct device_attribute *a, char *s) \
 {                                                                             \
  return sprintf(s, v "\n");                                                   \
 }                                                                             \
 static struct device_attribute at_##n = __ATTR(n, 0444, cap_##n, NULL)
PT_CAP(psb_cyc, "1");
PT_CAP(mtc, "1");
PT_CAP(ip_filtering, "1");
PT_CAP(ptwrite, "1");
PT_CAP(power_event_trace, "0");
PT_CAP(psb_periods, "003f");
PT_CAP(mtc_periods, "0249");
PT_CAP(cycle_thresholds, "3fff");
PT_CAP(num_address_ranges, "2");
PT_CAP(topa_output, "1");
PT_CAP(topa_multiple_entries, "1");
static struct attribute *pt_cap[] = {&at_psb_cyc.attr,
				     &at_mtc.attr,
				     &at_ip_filtering.attr,
				     &at_ptwrite.attr,
				     &at_power_event_trace.attr,
				     &at_psb_periods.attr,
				     &at_mtc_periods.attr,
				     &at_cycle_thresholds.attr,
				     &at_num_address_ranges.attr,
				     &at_topa_output.attr,
				     &at_topa_multiple_entries.attr,
				     NULL};
static const struct attribute_group pt_cap_group = {.name = "caps", .attrs = pt_cap};
const struct attribute_group *sa_pt_groups[] = {&pt_fmt_group, &pt_cap_group, NULL};
