/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What holds on every machine: each capability has its row, each "no" its reason. And BTF, built
 * here byte by byte. */
#include "doctor/doctor.h"

#include "base/buf.h"
#include "record/plan/btf.h"
#include "unit/tap.h"

static const struct doctor_row *find(const struct doctor_report *r, const char *id)
{
	for (size_t i = 0; i < r->rows.nr; i++) {
		if (!strcmp(r->rows.data[i].id, id))
			return &r->rows.data[i];
	}
	return NULL;
}

static void check_report(void)
{
	static const char *const ids[] = {
		"kernel",
		"perf-events",
		"host",
		"pid-namespace",
		"seccomp",
		"cgroup2",
		"paranoid",
		"capabilities",
		"user-space",
		"kernel-space",
		"system-wide",
		"buffers",
		"sample-rate",
		"files",
		"pmus",
		"hardware-counters",
		"tracefs",
		"uprobes",
		"kprobes",
		"breakpoints",
		"build-ids",
		"namespaces",
		"intel-pt",
		"deferred-callchains",
		"coresight",
		"arm-spe",
		"hardware-trace",
		"aux-pause",
		"bpf",
		"btf",
		"task-work",
		"kallsyms",
		"vmlinux",
		"debuginfo",
		"perf",
		"stacks-bpf-deferred",
		"stacks-kernel-deferred",
		"stacks-bpf-immediate",
		"stacks-copy",
	};
	struct doctor_report r;

	CHECK_EQ(rec_doctor_run(&r), CLEW_OK, "the doctor looks");
	for (size_t i = 0; i < sizeof(ids) / sizeof(*ids); i++)
		CHECK(find(&r, ids[i]), "row '%s' is there", ids[i]);
	for (size_t i = 0; i < r.rows.nr; i++) {
		const struct doctor_row *row = &r.rows.data[i];

		CHECK(find(&r, row->id) == row, "id '%s' is there once", row->id);
		CHECK(row->state != DOCTOR_NO || *row->detail, "'%s': no has its reason", row->id);
		CHECK(row->state == DOCTOR_NO || !*row->fix, "'%s': only a no has a fix", row->id);
	}
	CHECK(r.can_record == (find(&r, "user-space")->state == DOCTOR_YES ||
			       find(&r, "kernel-space")->state == DOCTOR_YES),
	      "the verdict follows from the rows");
	rec_doctor_done(&r);
}

static void check_memory(void)
{
	for (uint64_t n = 0; n < 2000; n += n < 10 ? 1 : 211) {
		struct doctor_report r;
		enum clew_err err;

		mem_fail_after(n);
		err = rec_doctor_run(&r);
		mem_fail_after(UINT64_MAX);
		rec_doctor_done(&r);
		if (err && err != CLEW_NO_MEMORY) {
			CHECK(false, "allocation %llu refused", (unsigned long long)n);
			return;
		}
	}
	CHECK(true, "any allocation may fail");
}

static void put_u32(struct buf *b, uint32_t v)
{
	buf_add(b, &v, sizeof(v));
}

/* int "x"; struct "y" of 2; func "x"-typed proto; func "wanted"; then what @tail_kind says */
static void make_btf(struct buf *b, uint32_t tail_kind)
{
	static const char strings[] = "\0x\0y\0wanted\0wanted_not";
	uint32_t head[] = {0x0001eb9f, 24, 0, 0, 0, sizeof(strings)};
	struct buf types = {0};

	put_u32(&types, 1), put_u32(&types, 1u << 24), put_u32(&types, 4), put_u32(&types, 32);
	put_u32(&types, 3), put_u32(&types, 4u << 24 | 2), put_u32(&types, 8);
	for (int i = 0; i < 6; i++)
		put_u32(&types, 5); /* members, named "wanted": no functions */
	put_u32(&types, 0), put_u32(&types, 13u << 24 | 1), put_u32(&types, 0);
	put_u32(&types, 1), put_u32(&types, 1);
	put_u32(&types, 12), put_u32(&types, 12u << 24), put_u32(&types, 3);
	put_u32(&types, 5), put_u32(&types, tail_kind << 24), put_u32(&types, 3);
	head[3] = head[4] = (uint32_t)types.nr;
	buf_add(b, head, sizeof(head));
	buf_add(b, types.data, types.nr);
	buf_add(b, strings, sizeof(strings));
	buf_done(&types);
}

/* Types count from 1: int, struct, proto, the two functions. */
static void check_btf_names(void)
{
	const uint32_t ids[] = {5, 0, 1, 4, 2, 6, UINT32_MAX, 5};
	const char *names[8];
	struct buf b = {0};
	bool found = false;

	make_btf(&b, 12);
	btf_function_names(bytes_of(b.data, b.nr), ids, 8, names);
	CHECK(names[0] && names[7] && !strcmp(names[0], "wanted") && names[0] == names[7],
	      "the name of a function, asked for twice");
	CHECK(names[3] && !strcmp(names[3], "wanted_not"), "and of another");
	CHECK(!names[1] && !names[2] && !names[4] && !names[5] && !names[6],
	      "void, an int, a struct, and types that are not there have none");
	for (size_t n = 0; n < b.nr; n++) {
		btf_function_names(bytes_of(b.data, n), ids, 8, names);
		found |= names[0] != NULL;
	}
	CHECK(!found, "no cut of it has a name");
	for (size_t i = 0; i < b.nr; i++) {
		b.data[i] ^= (char)0xff;
		btf_function_names(bytes_of(b.data, b.nr), ids, 8, names);
		b.data[i] ^= (char)0xff;
	}
	CHECK(true, "no damaged byte harms");
	buf_done(&b);
}

static void check_btf(void)
{
	struct buf b = {0}, typedefs = {0};
	bool found = false;

	make_btf(&b, 12);
	make_btf(&typedefs, 8);
	CHECK(btf_has_function(bytes_of(b.data, b.nr), "wanted"), "a function is found");
	CHECK(btf_has_function(bytes_of(b.data, b.nr), "wanted_not"), "another too");
	CHECK(!btf_has_function(bytes_of(b.data, b.nr), "want"), "not by its start");
	CHECK(!btf_has_function(bytes_of(b.data, b.nr), "x"), "an int is no function");
	CHECK(!btf_has_function(bytes_of(typedefs.data, typedefs.nr), "wanted"),
	      "a typedef is no function");
	for (size_t n = 0; n < b.nr; n++)
		found |= btf_has_function(bytes_of(b.data, n), "wanted_not");
	CHECK(!found, "no cut of it holds the last string");
	for (size_t i = 0; i < b.nr; i++) {
		b.data[i] ^= (char)0xff;
		btf_has_function(bytes_of(b.data, b.nr), "wanted");
		b.data[i] ^= (char)0xff;
	}
	CHECK(true, "no damaged byte harms");
	buf_done(&b);
	buf_done(&typedefs);
}

int main(void)
{
	check_report();
	check_memory();
	check_btf();
	check_btf_names();
	return tap_done();
}
