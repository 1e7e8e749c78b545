/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Who ran, by a sample's own ids; and whether records of switches contradict them. */
#include "who/who_own.h"

#include <string.h>

#include "unit/tap.h"

enum { CPU = 3, MISC_OUT = 1 << 13 };

static struct who_own sample_of(int32_t pid, int32_t tid)
{
	return (struct who_own){.has_ids = true, .pid = {pid}, .tid = {tid}};
}

static void check_answer(const struct who_own *o, enum who_kind kind, enum who_reason reason,
			 uint32_t has, const char *what)
{
	struct who_answer a;

	who_answer_own(o, &a);
	CHECK(a.kind == kind && a.reason == reason && a.has == has &&
		      a.evidence == (kind == WHO_UNKNOWN ? WHO_BY_NOTHING : WHO_BY_SAMPLE),
	      "%s: %s", what, who_kind_name(a.kind));
}

static void test_host(void)
{
	struct who_own o = sample_of(7, 8);

	check_answer(&o, WHO_TASK, WHO_REASON_NONE, WHO_A_LOCAL, "a thread has its own id");
	o.is_root = WHO_FACT_YES;
	check_answer(&o, WHO_TASK, WHO_REASON_NONE, WHO_A_LOCAL | WHO_A_ROOT,
		     "which in the initial namespace is the root id");
	o.is_contradicted = true;
	check_answer(&o, WHO_UNKNOWN, WHO_CONFLICT, WHO_A_LOCAL | WHO_A_ROOT,
		     "unless another thread was on the CPU");
	o = sample_of(-1, -1);
	check_answer(&o, WHO_UNKNOWN, WHO_DEAD, 0, "-1 is a dead thread");
	o.has_ids = false;
	check_answer(&o, WHO_UNKNOWN, WHO_NO_EVIDENCE, 0, "without ids nothing is known");
}

static void test_zero(void)
{
	struct who_own o = sample_of(0, 0);

	check_answer(&o, WHO_IDLE_OR_OUTSIDE, WHO_REASON_NONE, 0, "0 may be both");
	o.is_user = true;
	check_answer(&o, WHO_OUTSIDE, WHO_REASON_NONE, 0, "user code of 0 is outside");
	o.is_root = WHO_FACT_YES;
	check_answer(&o, WHO_UNKNOWN, WHO_CONFLICT, 0, "where none is outside it cannot be");
	o.is_user = false;
	check_answer(&o, WHO_IDLE, WHO_REASON_NONE, 0, "and the kernel's 0 is the idle task");
}

static void test_guests(void)
{
	struct who_own o = sample_of(70, 71);
	struct who_answer a;

	o.world = WHO_WORLD_GUEST;
	o.comm = "CPU 2/KVM";
	who_answer_own(&o, &a);
	CHECK(a.has == (WHO_A_LOCAL | WHO_A_GUEST | WHO_A_VCPU) && a.machine.n == 70 &&
		      a.vcpu == 2 && a.reason == WHO_GUEST_THREAD,
	      "a guest is its host process, its virtual CPU is in the thread's name");
	o.comm = "qemu";
	who_answer_own(&o, &a);
	CHECK(!(a.has & WHO_A_VCPU), "or unknown");
	o = sample_of(5, 6);
	o.is_of_guest = o.has_vcpu = true;
	o.guest.n = 70;
	o.vcpu = 1;
	o.comm = "CPU 9/KVM";
	who_answer_own(&o, &a);
	CHECK(a.has == (WHO_A_GUEST | WHO_A_VCPU) && a.machine.n == 70 && a.vcpu == 1 &&
		      a.kind == WHO_TASK,
	      "a guest's own sample: its ids are none of the host");
}

static void take_switch(struct who_on *on, uint64_t ns, bool is_out, uint32_t tid, uint32_t other)
{
	const struct who_ran_stamp at = {.time = {ns}, .cpu = CPU, .pid = tid, .tid = tid};
	uint8_t data[16] = {0};
	const struct perf_record r = {.data = data,
				      .size = sizeof(data),
				      .type = PERF_RECORD_SWITCH_CPU_WIDE,
				      .misc = is_out ? MISC_OUT : 0};

	memcpy(data + 8, &other, 4);
	memcpy(data + 12, &other, 4);
	CHECK(who_on_take(on, &r, &at) == CLEW_OK, "a switch at %d", (int)ns);
}

static bool contradicts(const struct who_on *on, uint64_t ns, uint32_t cpu, uint32_t pid,
			uint32_t tid)
{
	const struct who_ran_stamp at = {.time = {ns}, .cpu = cpu, .pid = pid, .tid = tid};

	return who_on_contradicts(on, &at);
}

static void test_on_cpu(void)
{
	const struct who_ran_stamp lost = {.time = {40}, .cpu = CPU};
	const struct perf_record r = {.type = PERF_RECORD_LOST};
	struct who_on on = {.cpus = {0}};

	CHECK(!contradicts(&on, 5, CPU, 9, 9), "before the first record nothing does");
	take_switch(&on, 10, false, 7, 8);
	CHECK(contradicts(&on, 15, CPU, 9, 9) && !contradicts(&on, 15, CPU, 7, 7) &&
		      !contradicts(&on, 15, CPU + 1, 9, 9),
	      "who was switched to runs there, on that CPU");
	CHECK(!contradicts(&on, 10, CPU, 9, 9), "not yet at that time itself");
	CHECK(!contradicts(&on, 15, CPU, UINT32_MAX, UINT32_MAX), "a dead one has no id");
	CHECK(contradicts(&on, 15, CPU, 7, 6) && contradicts(&on, 15, CPU, 0, 0),
	      "other threads of its process, and the idle task, do not");
	take_switch(&on, 30, true, 7, 9);
	CHECK(!contradicts(&on, 31, CPU, 9, 9) && !contradicts(&on, 31, CPU, 7, 7) &&
		      contradicts(&on, 31, CPU, 8, 8),
	      "during a switch it is one of both");
	CHECK(who_on_take(&on, &r, &lost) == CLEW_OK && !contradicts(&on, 41, CPU, 8, 8),
	      "and where records were lost, anyone");
	who_on_done(&on);
}

int main(void)
{
	test_host();
	test_zero();
	test_guests();
	test_on_cpu();
	return tap_done();
}
