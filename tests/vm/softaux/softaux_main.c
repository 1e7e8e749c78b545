/* SPDX-License-Identifier: GPL-2.0-only */
/* softaux: AUX-capable software PMU without hardware, to test users of the perf AUX ABI. */
#include <linux/hrtimer.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/sched/clock.h>
#include <linux/slab.h>
#include <linux/version.h>
#include <linux/vmalloc.h>

#include "softaux.h"
#ifndef PERF_PMU_CAP_AUX_PAUSE
# error this kernel has no AUX pause/resume
#endif

static uint head_mode = 1, period_us = 1000, burst = 4, pause_sync, shared, sink_kb = 64, skip_tail,
	    stride = 64;
static uint end_flags, hook_on, itrace_once, pt;
/* overwrite mode: 0 offset in buffer (PT, SPE), 1 monotonic (CoreSight) */
module_param(head_mode, uint, 0644);
/* default tick */
module_param(period_us, uint, 0644);
/* default records per tick */
module_param(burst, uint, 0644);
/* 1: end+begin the AUX transaction on each pause (ETR) */
module_param(pause_sync, uint, 0644);
/* 1: one sink for all CPUs; last tracer to stop copies all (N:1) */
module_param(shared, uint, 0644);
/* size of that sink, power of two */
module_param(sink_kb, uint, 0444);
/* 1: give up a tail too small for a record with perf_aux_output_skip() */
module_param(skip_tail, uint, 0644);
/* bytes per record, 64..256; not a power of two: records straddle the end of the buffer */
module_param(stride, uint, 0444);
/* PERF_AUX_FLAG_* added to every transaction */
module_param(end_flags, uint, 0644);
/* 1: PAUSE writes the word at hook_addr, 2: RESUME does (a data breakpoint there fires inside the
 * callback) */
module_param(hook_on, uint, 0644);
/* 1: one PERF_RECORD_ITRACE_START per event, as intel_pt; 0: one per schedule-in */
module_param(itrace_once, uint, 0644);
/* 1: the records are Intel PT packets, sysfs looks like intel_pt */
module_param(pt, uint, 0444);
static ulong hook_addr, sync_n, flt_n, flt[4];
module_param(hook_addr, ulong, 0444);
/* calls of addr_filters_sync() */
module_param(sync_n, ulong, 0444);
/* address filters at the last one */
module_param(flt_n, ulong, 0444);
/* start, size, start, size */
module_param_array(flt, ulong, NULL, 0444);
static char *name = "softaux";
module_param(name, charp, 0444);
static u32 hook;

struct sa_buf {
	void **pages;
	unsigned long len;
	bool overwrite;
	u64 seq;
};
struct sa_ctx {
	struct perf_event *event;
	struct perf_output_handle h;
	struct hrtimer timer;
	unsigned long written;
	u32 starts, stops, pauses, resumes, id, skipped, period, burst;
	bool running, hwid_done, in_sink;
};
static struct {
	raw_spinlock_t lock;
	void *buf;
	unsigned long len;
	u64 head, seq;
	int ref;
	pid_t owner;
} sink;
static atomic_t next_id;
static long (*copy_aux)(struct perf_output_handle *aux, struct perf_output_handle *to,
			unsigned long from, unsigned long end);

static void sa_fill(struct sa_ctx *c, void *p, u8 type, u64 seq)
{
	struct sa_rec *r = p, v;
	u32 i, x = 0;

	v = (struct sa_rec){.magic = SA_MAGIC,
			    .type = type,
			    .paused = READ_ONCE(c->event->hw.aux_paused),
			    .cpu = raw_smp_processor_id(),
			    .seq = seq,
			    .time = local_clock(),
			    .pid = current->tgid,
			    .tid = current->pid,
			    .starts = c->starts,
			    .stops = c->stops,
			    .pauses = c->pauses,
			    .resumes = c->resumes,
			    .id = c->id,
			    .skipped = c->skipped};
	if (pt) {
		sa_pt_fill(&v, p);
		return;
	}
	for (i = 0; i < 15; i++)
		x ^= ((u32 *)&v)[i];
	v.check = x;
	*r = v;
}

/* false: no room (never in overwrite mode) */
static bool sa_put(struct sa_ctx *c, u8 type)
{
	struct sa_buf *b = perf_get_aux(&c->h);
	u8 tmp[256];
	unsigned long at, n, done;

	if (!b)
		return false;
	if (c->in_sink) {
		raw_spin_lock(&sink.lock);
		sa_fill(c, sink.buf + (sink.head & (sink.len - 1)), type, sink.seq++);
		sink.head += 64;
		raw_spin_unlock(&sink.lock);
		return true;
	}
	if (!b->overwrite && c->h.size - c->written < stride)
		return false;
	sa_fill(c, tmp, type, b->seq++);
	memset(tmp + 64, 0xee, stride - 64);
	for (done = 0; done < stride; done += n) {
		at = (c->h.head + c->written + done) & (b->len - 1);
		n = min(stride - done, PAGE_SIZE - offset_in_page(at));
		memcpy(b->pages[at >> PAGE_SHIFT] + offset_in_page(at), tmp + done, n);
	}
	c->written += stride;
	return true;
}

/* Move the newest part of the shared sink into the AUX buffer; only when the last tracer stops. */
static void sa_sink_copy(struct sa_ctx *c, struct sa_buf *b)
{
	u64 n = min_t(u64, sink.head, sink.len), room = b->overwrite ? b->len : c->h.size & ~63ul,
	    from;

	if (n > room) {
		if (!b->overwrite)
			perf_aux_output_flag(&c->h, PERF_AUX_FLAG_TRUNCATED);
		n = room;
	}
	for (from = sink.head - n; from != sink.head; from += 64, c->written += 64) {
		unsigned long at = (c->h.head + c->written) & (b->len - 1);

		memcpy(b->pages[at >> PAGE_SHIFT] + offset_in_page(at),
		       sink.buf + (from & (sink.len - 1)), 64);
	}
	sink.head = 0;
}

static void sa_end(struct sa_ctx *c)
{
	struct sa_buf *b = perf_get_aux(&c->h);
	unsigned long size = c->written;

	if (!b)
		return;
	if (b->overwrite) {
		if (head_mode) {
			c->h.head += size;
			size = min(size, b->len);
		} else {
			c->h.head = (c->h.head + size) & (b->len - 1);
			size = b->len;
		}
	}
	if (end_flags)
		perf_aux_output_flag(&c->h, end_flags);
	smp_wmb(); /* data before aux_head */
	c->written = 0;
	perf_aux_output_end(&c->h, size);
}

static bool sa_begin(struct sa_ctx *c)
{
	struct sa_buf *b = perf_aux_output_begin(&c->h, c->event);

	c->written = 0;
	if (b && skip_tail && !b->overwrite && c->h.size < stride) {
		perf_aux_output_skip(&c->h, c->h.size);
		perf_aux_output_end(&c->h, 0);
		b = perf_aux_output_begin(&c->h, c->event); /* fails: no record */
	}
	return b;
}

static enum hrtimer_restart sa_tick(struct hrtimer *t)
{
	struct sa_ctx *c = container_of(t, struct sa_ctx, timer);
	struct sa_buf *b;
	u32 i;

	if (!c->running)
		return HRTIMER_NORESTART;
	if (READ_ONCE(c->event->hw.aux_paused)) {
		c->skipped += c->burst;
		goto again;
	}
	for (i = 0; i < c->burst; i++)
		if (!sa_put(c, SA_TICK)) {
			c->skipped += c->burst - i;
			c->running = false;
			c->event->hw.state |= PERF_HES_STOPPED;
			perf_aux_output_flag(&c->h, PERF_AUX_FLAG_TRUNCATED);
			sa_end(c);
			return HRTIMER_NORESTART;
		}
	b = perf_get_aux(&c->h);
	if (!b->overwrite && !c->in_sink && c->h.head + c->written >= c->h.wakeup) {
		sa_end(c);
		if (!sa_begin(c)) {
			c->running = false;
			c->event->hw.state |= PERF_HES_STOPPED;
			return HRTIMER_NORESTART;
		}
	}
again:
	hrtimer_forward_now(t, ns_to_ktime(c->period * 1000ull));
	return HRTIMER_RESTART;
}

static void sa_start(struct perf_event *event, int mode)
{
	struct sa_ctx *c = event->pmu_private;

	if (mode & PERF_EF_RESUME) { /* may come from NMI: flags and counters only, then a marker if
					safe */
		c->resumes++;
		if (hook_on & 2)
			WRITE_ONCE(hook, 1);
		if (c->running && !in_nmi())
			sa_put(c, SA_RESUME);
		return;
	}
	perf_event_addr_filters_sync(event);
	if (!sa_begin(c))
		goto stopped;
	if (shared) {
		pid_t owner = event->owner ? task_pid_nr(event->owner) : -1;
		bool busy;

		raw_spin_lock(&sink.lock);
		busy = sink.ref && sink.owner != owner;
		if (!busy && !sink.ref++) {
			sink.owner = owner;
			sink.head = 0;
		}
		raw_spin_unlock(&sink.lock);
		if (busy) {
			perf_aux_output_flag(&c->h, PERF_AUX_FLAG_TRUNCATED);
			perf_aux_output_end(&c->h, 0);
			goto stopped;
		}
		c->in_sink = true;
	}
	if (!c->hwid_done) {
		c->hwid_done = true;
		perf_report_aux_output_id(event, c->id);
	}
	if (itrace_once)
		(event->parent ?: event)->attach_state |= PERF_ATTACH_ITRACE;
	c->starts++;
	c->running = true;
	event->hw.state = 0;
	sa_put(c, SA_START);
	hrtimer_start(&c->timer, ns_to_ktime(c->period * 1000ull), HRTIMER_MODE_REL_PINNED_HARD);
	return;
stopped:
	event->hw.state = PERF_HES_STOPPED;
}

static void sa_stop(struct perf_event *event, int mode)
{
	struct sa_ctx *c = event->pmu_private;
	struct sa_buf *b = perf_get_aux(&c->h);

	if (mode & PERF_EF_PAUSE) {
		c->pauses++;
		if (hook_on & 1)
			WRITE_ONCE(hook, 1);
		if (!c->running || in_nmi())
			return;
		sa_put(c, SA_PAUSE);
		if (pause_sync && !c->in_sink) {
			sa_end(c);
			if (!sa_begin(c))
				c->running = false;
		}
		return;
	}
	if (c->running) {
		c->running = false;
		hrtimer_cancel(&c->timer);
		c->stops++;
		sa_put(c, SA_STOP);
	}
	if (c->in_sink) {
		raw_spin_lock(&sink.lock);
		if (sink.ref == 1 && b)
			sa_sink_copy(c, b);
		sink.ref--;
		c->in_sink = false;
		raw_spin_unlock(&sink.lock);
	}
	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
	sa_end(c);
}

static int sa_add(struct perf_event *event, int mode)
{
	event->hw.state = PERF_HES_STOPPED;
	if (mode & PERF_EF_START) {
		sa_start(event, 0);
		if (event->hw.state & PERF_HES_STOPPED)
			return -EINVAL;
	}
	return 0;
}

static void sa_del(struct perf_event *event, int mode)
{
	sa_stop(event, PERF_EF_UPDATE);
}
static void sa_read(struct perf_event *event)
{
}

/* The newest size bytes into a sample (attr.aux_sample_size of an event in this one's group). */
static long sa_snapshot(struct perf_event *event, struct perf_output_handle *to, unsigned long size)
{
	struct sa_ctx *c = event->pmu_private;
	struct sa_buf *b = perf_get_aux(&c->h);
	u64 head = c->h.head + c->written;

	if (!b || !copy_aux)
		return 0;
	return copy_aux(&c->h, to, head - size, head);
}

static void sa_destroy(struct perf_event *event)
{
	struct sa_ctx *c = event->pmu_private;

	hrtimer_cancel(&c->timer);
	kfree(c);
}

static int sa_event_init(struct perf_event *event)
{
	struct sa_ctx *c;
	u64 f = pt ? 0 : event->attr.config;

	if (event->attr.type != event->pmu->type)
		return -ENOENT;
	if (f >> 32)
		return -EINVAL;
	c = kzalloc(sizeof(*c), GFP_KERNEL);
	if (!c)
		return -ENOMEM;
	c->event = event;
	c->id = atomic_inc_return(&next_id);
	c->burst = (f & 0xff) ?: burst;
	c->period = ((f >> 8) & 0xffffff) ?: period_us;
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	hrtimer_setup(&c->timer, sa_tick, CLOCK_MONOTONIC, HRTIMER_MODE_REL_HARD);
#else
	hrtimer_init(&c->timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_HARD);
	c->timer.function = sa_tick;
#endif
	event->pmu_private = c;
	event->destroy = sa_destroy;
	return 0;
}

static void *sa_setup_aux(struct perf_event *event, void **pages, int nr, bool overwrite)
{
	struct sa_buf *b = kzalloc(sizeof(*b), GFP_KERNEL);

	if (b) {
		b->pages = pages;
		b->len = (unsigned long)nr << PAGE_SHIFT;
		b->overwrite = overwrite;
	}
	return b;
}

static void sa_free_aux(void *b)
{
	kfree(b);
}

static int sa_flt_validate(struct list_head *l) /* the core does not count: the driver must */
{
	struct list_head *p;
	int n = 0;

	list_for_each (p, l)
		n++;
	return n > 2 ? -EOPNOTSUPP : 0;
}

static void sa_flt_sync(struct perf_event *event)
{
	struct perf_addr_filters_head *head = perf_event_addr_filters(event);
	struct perf_addr_filter *f;
	int n = 0;

	list_for_each_entry(f, &head->list, entry)
	{
		if (n < 2) {
			flt[2 * n] = event->addr_filter_ranges[n].start;
			flt[2 * n + 1] = event->addr_filter_ranges[n].size;
		}
		n++;
	}
	flt_n = n;
	sync_n++;
}

PMU_FORMAT_ATTR(burst, "config:0-7");
PMU_FORMAT_ATTR(period_us, "config:8-31");
static struct attribute *sa_fmt[] = {&format_attr_burst.attr, &format_attr_period_us.attr, NULL};
static const struct attribute_group sa_fmt_group = {.name = "format", .attrs = sa_fmt};
static const struct attribute_group *sa_groups[] = {&sa_fmt_group, NULL};

static struct pmu sa_pmu[2]; /* [0] can pause, sample and filter; [1] "<name>_np" cannot */
static char np_name[48];

static int __init sa_init(void)
{
	struct kprobe kp = {.symbol_name = "perf_output_copy_aux"};
	int i, err;

	if (!is_power_of_2(sink_kb) || stride < 64 || stride > 256)
		return -EINVAL;
	if (!register_kprobe(&kp)) { /* the symbol is not exported */
		copy_aux = (void *)kp.addr;
		unregister_kprobe(&kp);
	}
	hook_addr = (ulong)&hook;
	raw_spin_lock_init(&sink.lock);
	sink.len = sink_kb * 1024ul;
	sink.buf = vzalloc(sink.len);
	if (!sink.buf)
		return -ENOMEM;
	snprintf(np_name, sizeof(np_name), "%s_np", name);
	for (i = 0; i < 2; i++) {
		sa_pmu[i] =
			(struct pmu){.module = THIS_MODULE,
				     .task_ctx_nr = perf_sw_context,
				     .capabilities = PERF_PMU_CAP_EXCLUSIVE | PERF_PMU_CAP_ITRACE |
						     (i ? 0 : PERF_PMU_CAP_AUX_PAUSE),
				     .attr_groups = pt ? sa_pt_groups : sa_groups,
				     .event_init = sa_event_init,
				     .add = sa_add,
				     .del = sa_del,
				     .start = sa_start,
				     .stop = sa_stop,
				     .read = sa_read,
				     .setup_aux = sa_setup_aux,
				     .free_aux = sa_free_aux};
		if (!i) {
			sa_pmu[i].snapshot_aux = sa_snapshot;
			sa_pmu[i].nr_addr_filters = 2;
			sa_pmu[i].addr_filters_validate = sa_flt_validate;
			sa_pmu[i].addr_filters_sync = sa_flt_sync;
		}
		err = perf_pmu_register(&sa_pmu[i], i ? np_name : name, -1);
		if (err) {
			if (i)
				perf_pmu_unregister(&sa_pmu[0]);
			vfree(sink.buf);
			return err;
		}
	}
	return 0;
}

static void __exit sa_exit(void)
{
	perf_pmu_unregister(&sa_pmu[1]);
	perf_pmu_unregister(&sa_pmu[0]);
	vfree(sink.buf);
}
module_init(sa_init);
module_exit(sa_exit);
MODULE_DESCRIPTION("software AUX PMU for tests");
MODULE_LICENSE("GPL");
