/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * eh_frame_diff FILE...: compare the rules compiled from .eh_frame with what libdw makes of it, at
 * every address where either changes. TAP, one check a file, and what kinds of rules there were.
 * libdw's answer is turned into a rule from its operations, with no code of src/unwind.
 * eh_frame_diff --classes: only count, without libdw, in the files named a line on standard input,
 * as far as CLASSES_SECONDS of CPU time go.
 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <time.h>

#include "base/mem.h"
#include "image/code_file.h"
#include "unit/tap.h"
#include "unwind/eh_frame_impl.h"

enum { MAX_SHOWN = 10, GAP_STEP = 16, CLASSES_SECONDS = 60 };

struct peer_value {
	bool is_known;
	uint8_t loc, reg;
	int64_t off;
	bool is_cfa_plus; /* the value CFA + off */
};

struct peer {
	bool is_eh_return;   /* saves rax and rdx: its end may have no rule */
	bool is_column_only; /* RA: a column other than the ABI's, without a rule */
	bool has_cfa, has_ra, has_own_sp, is_signal;
	uint8_t cfa, cfa_reg;
	int64_t cfa_off, cfa_off2;
	struct peer_value ra, fp;
};

struct file {
	const char *path;
	struct code_file code;
	struct elf_file elf;
	struct unw_image image;
	struct eh_frame_counts counts;
	struct eh_frame_hdr_counts hdr;
	void *block;
	struct unw_table table;
	uint64_t *rows; /* rel of each */
	uint64_t nr_compared, nr_none, nr_diff, nr_explained;
};

/** Kinds of rows, by what is special in them first. */
enum kind {
	GAP,
	NO_EXPRESSION,
	NO_REGISTER,
	NO_OPCODE,
	NO_BAD,
	NO_EH_RETURN,
	PLT,
	SIGNAL_FRAME,
	OUTERMOST,
	CFA_DEREF,
	CFA_DEREF_ADD,
	CFA_INDEX,
	CFA_OTHER_REGISTER,
	RA_OTHER,
	FP_AT_REGISTER,
	FP_IN_REGISTER,
	FP_UNKNOWN,
	PLAIN,
	NR_CLASSES
};

static const char *const class_names[NR_CLASSES] = {
	[GAP] = "no function",
	[NO_EXPRESSION] = "none: expression",
	[NO_REGISTER] = "none: register form",
	[NO_OPCODE] = "none: unknown instruction",
	[NO_BAD] = "none: damaged",
	[NO_EH_RETURN] = "none: entering an exception handler",
	[PLT] = "PLT",
	[SIGNAL_FRAME] = "signal frame",
	[OUTERMOST] = "outermost (RA undefined)",
	[CFA_DEREF] = "CFA *(reg+off)",
	[CFA_DEREF_ADD] = "CFA *(reg+off)+off",
	[CFA_INDEX] = "CFA *(reg+off+8*reg)+off",
	[CFA_OTHER_REGISTER] = "CFA of another register than SP and FP",
	[RA_OTHER] = "RA at or in another register",
	[FP_AT_REGISTER] = "FP at *(reg+off)",
	[FP_IN_REGISTER] = "FP in another register",
	[FP_UNKNOWN] = "FP undefined or lost",
	[PLAIN] = "CFA SP or FP + off, RA and FP at the CFA or in their registers",
};

static struct totals {
	uint64_t files, functions, rows, addresses, bad, dropped, explained;
	uint64_t hdr_files, hdr_entries, hdr_unordered, hdr_foreign;
	uint64_t class_rows[NR_CLASSES], class_bytes[NR_CLASSES], class_files[NR_CLASSES];
} totals;

static enum kind class_of(const struct unw_rule *r, enum unw_arch arch)
{
	static const uint8_t fp_of[] = {0, 6, 29, 11}, sp_of[] = {0, 7, 31, 15};

	if (r->cfa == UNW_CFA_NONE)
		return r->why == UNW_WHY_EH_RETURN ? NO_EH_RETURN
		     : r->why <= NO_BAD            ? (enum kind)(GAP + r->why)
						   : NO_BAD;
	if (r->cfa == UNW_CFA_PLT)
		return PLT;
	if (r->flags & UNW_SIGNAL)
		return SIGNAL_FRAME;
	if (r->ra == UNW_UNDEFINED)
		return OUTERMOST;
	if (r->cfa == UNW_CFA_DEREF)
		return r->cfa_off2 ? CFA_DEREF_ADD : CFA_DEREF;
	if (r->cfa == UNW_CFA_INDEX)
		return CFA_INDEX;
	if (r->cfa_reg != fp_of[arch] && r->cfa_reg != sp_of[arch])
		return CFA_OTHER_REGISTER;
	if (r->ra == UNW_AT_REG || r->ra == UNW_IN_REG)
		return RA_OTHER;
	if (r->fp == UNW_AT_REG)
		return FP_AT_REGISTER;
	if (r->fp == UNW_IN_REG)
		return FP_IN_REGISTER;
	return r->fp == UNW_UNDEFINED ? FP_UNKNOWN : PLAIN;
}

static void count_classes(const struct file *f)
{
	uint64_t rows[NR_CLASSES] = {0};
	uint32_t nr = f->table.head->nr_rows;

	for (uint32_t i = 0; i < nr; i++) {
		const struct unw_rule *r = &f->table.rule[f->table.row[i] & 0xffff];
		uint64_t end = i + 1 < nr ? f->rows[i + 1] : f->table.head->end;
		enum kind kind = class_of(r, f->image.arch);

		rows[kind]++;
		totals.class_bytes[kind] += end - f->rows[i];
	}
	for (size_t c = 0; c < NR_CLASSES; c++) {
		totals.class_rows[c] += rows[c];
		totals.class_files[c] += rows[c] > 0;
	}
	totals.files++;
	totals.functions += f->counts.nr_functions;
	totals.rows += nr;
	totals.addresses += f->nr_compared;
	totals.bad += f->counts.nr_bad;
	totals.dropped += f->counts.nr_dropped;
	totals.explained += f->nr_explained;
	totals.hdr_files += f->hdr.nr_entries > 0;
	totals.hdr_entries += f->hdr.nr_entries;
	totals.hdr_unordered += f->hdr.nr_unordered;
	totals.hdr_foreign += f->hdr.nr_foreign;
}

static void print_totals(void)
{
	printf("# %llu files, %llu functions, %llu rows, %llu addresses compared, %llu explained "
	       "differences, %llu damaged records, %llu dropped\n",
	       (unsigned long long)totals.files, (unsigned long long)totals.functions,
	       (unsigned long long)totals.rows, (unsigned long long)totals.addresses,
	       (unsigned long long)totals.explained, (unsigned long long)totals.bad,
	       (unsigned long long)totals.dropped);
	printf("# .eh_frame_hdr of %llu files: %llu entries, %llu out of order, %llu of no such "
	       "function\n",
	       (unsigned long long)totals.hdr_files, (unsigned long long)totals.hdr_entries,
	       (unsigned long long)totals.hdr_unordered, (unsigned long long)totals.hdr_foreign);
	printf("# %10s %12s %6s\n", "rows", "bytes", "files");
	for (size_t c = 0; c < NR_CLASSES; c++)
		printf("# %10llu %12llu %6llu  %s\n", (unsigned long long)totals.class_rows[c],
		       (unsigned long long)totals.class_bytes[c],
		       (unsigned long long)totals.class_files[c], class_names[c]);
}

static const int ra_of[] = {0, 16, 30, 14};

static bool reg_and_off(const Dwarf_Op *op, uint8_t *reg, int64_t *off)
{
	if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31) {
		*reg = (uint8_t)(op->atom - DW_OP_breg0);
		*off = (int64_t)op->number;
	} else if (op->atom == DW_OP_bregx && op->number < UNW_MAX_REGS) {
		*reg = (uint8_t)op->number;
		*off = (int64_t)op->number2;
	} else {
		return false;
	}
	return true;
}

static bool is_plt(const Dwarf_Op *o, size_t nr)
{
	return nr == 9 && o[0].atom == DW_OP_breg7 && o[0].number == 8 &&
	       o[1].atom == DW_OP_breg16 && o[2].atom == DW_OP_lit15 && o[3].atom == DW_OP_and &&
	       o[4].atom >= DW_OP_lit0 && o[4].atom <= DW_OP_lit15 && o[5].atom == DW_OP_ge &&
	       o[6].atom == DW_OP_lit3 && o[7].atom == DW_OP_shl && o[8].atom == DW_OP_plus;
}

static void read_cfa(struct peer *p, const Dwarf_Op *o, size_t nr)
{
	if (is_plt(o, nr)) {
		p->has_cfa = true;
		p->cfa = UNW_CFA_PLT;
		p->cfa_off = o[4].atom - DW_OP_lit0;
		return;
	}
	if (!nr || nr > 3 || !reg_and_off(o, &p->cfa_reg, &p->cfa_off))
		return;
	p->has_cfa = nr == 1 ||
		     (o[1].atom == DW_OP_deref && (nr == 2 || o[2].atom == DW_OP_plus_uconst));
	p->cfa = nr == 1 ? UNW_CFA_REG : UNW_CFA_DEREF;
	p->cfa_off2 = nr == 3 ? (int64_t)o[2].number : 0;
}

static struct peer_value read_value(const Dwarf_Op *o, size_t nr, const Dwarf_Op *mem)
{
	struct peer_value v = {.is_known = true, .loc = o == mem ? UNW_UNDEFINED : UNW_SAME};
	bool is_value;

	if (!nr)
		return v;
	v.loc = UNW_IN_REG;
	if (nr == 1 && o[0].atom >= DW_OP_reg0 && o[0].atom <= DW_OP_reg31) {
		v.reg = (uint8_t)(o[0].atom - DW_OP_reg0);
		return v;
	}
	if (nr == 1 && o[0].atom == DW_OP_regx && o[0].number < UNW_MAX_REGS) {
		v.reg = (uint8_t)o[0].number;
		return v;
	}
	is_value = o[nr - 1].atom == DW_OP_stack_value;
	nr -= is_value;
	v.loc = UNW_AT_CFA;
	v.is_cfa_plus = is_value;
	if (nr == 1 && o[0].atom == DW_OP_call_frame_cfa)
		return v;
	if (nr == 2 && o[0].atom == DW_OP_call_frame_cfa && o[1].atom == DW_OP_plus_uconst) {
		v.off = (int64_t)o[1].number;
		return v;
	}
	v.is_cfa_plus = false;
	v.loc = is_value ? UNW_IN_REG : UNW_AT_REG;
	if (nr == 2 && o[0].atom == DW_OP_call_frame_cfa && reg_and_off(&o[1], &v.reg, &v.off))
		return v;
	v.is_known = false;
	return v;
}

/** The value CFA + off is that of a register, where the CFA is. */
static void resolve_value(const struct peer *p, struct peer_value *v)
{
	if (!v->is_cfa_plus)
		return;
	v->is_known = p->cfa == UNW_CFA_REG;
	v->loc = UNW_IN_REG;
	v->reg = p->cfa_reg;
	v->off += p->cfa_off;
}

/** Is libdw's SP the CFA, as it is by default? */
static bool is_default_sp(const struct file *f, const Dwarf_Op *o, size_t nr)
{
	if (f->image.arch == UNW_S390X)
		return true;
	return !nr ||
	       (nr == 2 && o[0].atom == DW_OP_call_frame_cfa && o[1].atom == DW_OP_stack_value);
}

static bool is_saved(Dwarf_Frame *frame, int reg)
{
	Dwarf_Op mem[3], *o;
	size_t nr;

	return !dwarf_frame_register(frame, reg, mem, &o, &nr) && nr == 2 &&
	       o[1].atom == DW_OP_plus_uconst;
}

/** @return false: libdw knows no function there. */
static bool ask_peer(const struct file *f, Dwarf_CFI *cfi, uint64_t pc, struct peer *ret,
		     uint64_t *ret_end)
{
	static const int fp_of[] = {0, 6, 29, 11}, sp_of[] = {0, 7, 31, 15};
	Dwarf_Op mem[3], *o;
	Dwarf_Frame *frame;
	Dwarf_Addr start, end;
	size_t nr;
	int ra;

	*ret = (struct peer){0};
	if (dwarf_cfi_addrframe(cfi, pc, &frame))
		return false;
	ra = dwarf_frame_info(frame, &start, &end, &ret->is_signal);
	*ret_end = end;
	if (!dwarf_frame_cfa(frame, &o, &nr))
		read_cfa(ret, o, nr);
	if (ra >= 0 && !dwarf_frame_register(frame, ra, mem, &o, &nr)) {
		ret->ra = read_value(o, nr, mem);
		resolve_value(ret, &ret->ra);
		if (ra != ra_of[f->image.arch] && !nr && o == mem) {
			/* libdw: not a register that a callee saves, so undefined. */
			ret->is_column_only = true;
			ret->ra = (struct peer_value){true, UNW_IN_REG, (uint8_t)ra, 0, false};
		}
		ret->has_ra = ret->ra.is_known &&
			      !(f->image.arch == UNW_X86_64 && ret->ra.loc == UNW_SAME);
	}
	ret->is_eh_return = f->image.arch == UNW_X86_64 && is_saved(frame, 0) && is_saved(frame, 1);
	if (!dwarf_frame_register(frame, fp_of[f->image.arch], mem, &o, &nr)) {
		ret->fp = read_value(o, nr, mem);
		resolve_value(ret, &ret->fp);
	}
	if (!dwarf_frame_register(frame, sp_of[f->image.arch], mem, &o, &nr))
		ret->has_own_sp = !is_default_sp(f, o, nr);
	if (ret->has_own_sp && ret->cfa == UNW_CFA_DEREF && !ret->cfa_off2 && nr == 2) {
		struct peer_value v = read_value(o, nr, mem);

		if (v.loc == UNW_AT_REG && v.reg == ret->cfa_reg && v.off == ret->cfa_off)
			ret->has_own_sp = false; /* the place where the CFA is read from */
	}
	free(frame);
	return true;
}

static bool same_value(const struct peer_value *p, uint8_t loc, uint8_t reg, int32_t off,
		       uint8_t own)
{
	if (p->loc == UNW_IN_REG && p->reg == own && !p->off && loc == UNW_SAME)
		return true;
	return p->loc == loc && (loc == UNW_SAME || loc == UNW_UNDEFINED ||
				 (p->off == off && (loc == UNW_AT_CFA || p->reg == reg)));
}

static const char *compare(const struct file *f, const struct peer *p, const struct unw_rule *r)
{
	static const uint8_t fp_of[] = {0, 6, 29, 11};
	bool is_ours = p->has_cfa && p->has_ra && (!p->has_own_sp || p->ra.loc == UNW_UNDEFINED);

	if (r->cfa == UNW_CFA_INDEX) /* checked by its bytes in eh_frame_test */
		return NULL;
	if (!is_ours)
		return r->cfa == UNW_CFA_NONE ? NULL : "a rule where the peer's is none of ours";
	if (r->cfa == UNW_CFA_NONE)
		return "no rule where the peer's is one of ours";
	if (r->cfa != p->cfa || r->cfa_off != p->cfa_off ||
	    (r->cfa != UNW_CFA_PLT && r->cfa_reg != p->cfa_reg) ||
	    (r->cfa == UNW_CFA_DEREF && r->cfa_off2 != p->cfa_off2))
		return "CFA";
	if (!same_value(&p->ra, r->ra, r->ra_reg, r->ra_off, (uint8_t)ra_of[f->image.arch]))
		return "RA";
	if (!p->fp.is_known
		    ? r->fp != UNW_UNDEFINED
		    : !same_value(&p->fp, r->fp, r->fp_reg, r->fp_off, fp_of[f->image.arch]))
		return "FP";
	return !!(r->flags & UNW_SIGNAL) == p->is_signal ? NULL : "signal";
}

/** aarch64's x30 above the CFA, of _dl_runtime_resolve: docs/decisions/unwinding.md. */
static bool is_low_cfa(const struct file *f, const struct peer *p)
{
	return f->image.arch == UNW_AARCH64 && p->cfa == UNW_CFA_REG && p->cfa_reg == 31 &&
	       p->ra.loc == UNW_AT_CFA && p->ra.off == 8;
}

/** Where a rule says more than the source, on purpose: *p becomes what it should be. */
static void explain(struct file *f, uint64_t pc, const struct unw_rule *r, struct peer *p)
{
	uint64_t popped_from;

	if (is_low_cfa(f, p)) {
		p->cfa_off += 16;
		p->ra.off -= 16;
		p->fp.off -= p->fp.loc == UNW_AT_CFA ? 16 : 0;
		f->nr_explained++;
	}
	if (p->is_eh_return && r->cfa == p->cfa && r->flags & UNW_SIGNAL) {
		p->is_signal = true; /* the call of the handler: its address is exact */
		f->nr_explained++;
	}
	if (p->is_eh_return && r->cfa == UNW_CFA_NONE && r->why == UNW_WHY_EH_RETURN) {
		p->has_cfa = false;
		f->nr_explained++;
	} else if (p->is_eh_return && r->ra == UNW_AT_REG && r->cfa == p->cfa &&
		   r->fp == UNW_UNDEFINED) {
		/* The saved ones are overwritten there; eh_frame_test checks where RA is. */
		p->ra = (struct peer_value){true, UNW_AT_REG, r->ra_reg, r->ra_off, false};
		p->fp.is_known = false;
		f->nr_explained++;
	} else if (f->image.arch == UNW_X86_64 && r->fp == UNW_SAME && p->fp.is_known &&
		   p->fp.loc == UNW_AT_REG && p->fp.reg == 6 && !p->fp.off &&
		   eh_fp_is_popped(&f->image, pc, &popped_from) && popped_from == pc) {
		p->fp.loc = UNW_SAME;
		f->nr_explained++;
	}
}

static void compare_at(struct file *f, Dwarf_CFI *cfi, uint64_t pc, uint64_t rel, uint64_t *ret_end)
{
	const struct unw_rule *r = unw_table_find(&f->table, rel);
	struct peer p;
	const char *what;

	if (ask_peer(f, cfi, pc, &p, ret_end)) {
		explain(f, pc, r, &p);
		what = compare(f, &p, r);
		f->nr_explained += p.is_column_only && !what;
	} else {
		*ret_end = pc + GAP_STEP;
		what = r->cfa == UNW_CFA_NONE ? NULL : "a rule where the peer knows no function";
	}
	f->nr_compared++;
	f->nr_none += r->cfa == UNW_CFA_NONE && r->why != UNW_WHY_GAP;
	if (!what || f->nr_diff++ >= MAX_SHOWN)
		return;
	printf("# %s: %#llx: %s\n", f->path, (unsigned long long)pc, what);
	printf("#   ours: cfa %u r%u%+d%+d ra %u r%u%+d fp %u r%u%+d flags %u why %u\n", r->cfa,
	       r->cfa_reg, r->cfa_off, r->cfa_off2, r->ra, r->ra_reg, r->ra_off, r->fp, r->fp_reg,
	       r->fp_off, r->flags, r->why);
	printf("#   peer: cfa %d: %u r%u%+lld%+lld ra %d: %u r%u%+lld fp %d: %u r%u%+lld own sp %d "
	       "signal %d\n",
	       p.has_cfa, p.cfa, p.cfa_reg, (long long)p.cfa_off, (long long)p.cfa_off2, p.has_ra,
	       p.ra.loc, p.ra.reg, (long long)p.ra.off, p.fp.is_known, p.fp.loc, p.fp.reg,
	       (long long)p.fp.off, p.has_own_sp, p.is_signal);
}

static bool list_rows(struct file *f)
{
	const struct unw_table *t = &f->table;
	const struct unw_table_head *h = t->head;

	f->rows = mem_calloc((size_t)h->nr_rows + 1, sizeof(*f->rows));
	for (uint32_t b = 0; f->rows && b < h->nr_buckets; b++) {
		uint64_t base = h->start + ((uint64_t)b << h->shift);

		for (uint32_t i = t->bucket[b]; i < t->bucket[b + 1]; i++)
			f->rows[i] = (base & ~(uint64_t)0xffff) | t->row[i] >> 16;
	}
	return f->rows;
}

static void compare_segment(struct file *f, Dwarf_CFI *cfi, const struct unw_segment *s)
{
	uint32_t next = 0, nr = f->table.head->nr_rows;
	uint64_t end = s->offset + s->size, bias = s->vaddr - s->offset, until;

	for (uint64_t rel = s->offset; rel < end; rel = until) {
		uint64_t peer_end = 0;

		compare_at(f, cfi, rel + bias, rel, &peer_end);
		until = peer_end - bias;
		while (next < nr && f->rows[next] <= rel)
			next++;
		if (next < nr && f->rows[next] < until)
			until = f->rows[next];
		if (until <= rel)
			until = rel + 1;
	}
}

static const char *compile(struct file *f)
{
	struct unw_list *l = unw_list_new();
	enum clew_err err;
	size_t size;

	if (!l || code_file_open(&f->code, f->path) ||
	    elf_file_open(&f->elf, f->code.map.data, f->code.map.size, NULL) ||
	    unw_image_of_elf(&f->image, &f->elf)) {
		unw_list_free(l);
		return "not a binary of ours";
	}
	err = eh_frame_rows(&f->image, false, l, &f->counts);
	eh_frame_hdr_check(&f->image, &f->hdr);
	if (!err)
		err = unw_table_build(l, NULL, f->image.arch, &f->block, &size);
	if (!err)
		err = unw_table_of_block(&f->table, f->block, size);
	unw_list_free(l);
	return err ? clew_err_name(err) : NULL;
}

static void compare_file(const char *path, bool is_counted_only)
{
	struct file f = {.path = path};
	const char *why = compile(&f);
	Dwarf_CFI *cfi = why || is_counted_only ? NULL : dwarf_getcfi_elf(f.elf.elf);

	if (!why && !cfi && !is_counted_only)
		why = dwarf_errmsg(-1);
	if (why || !list_rows(&f)) {
		if (!is_counted_only)
			printf("ok %d # SKIP %s: %s\n", ++tap_count, path,
			       why ? why : "out of memory");
	} else if (is_counted_only) {
		for (uint32_t i = 0; i < f.table.head->nr_rules; i++) {
			if (f.table.rule[i].cfa == UNW_CFA_NONE &&
			    f.table.rule[i].why == UNW_WHY_BAD)
				printf("# damaged instructions in %s\n", path);
		}
		count_classes(&f);
	} else {
		for (size_t i = 0; i < f.image.nr_segments; i++)
			compare_segment(&f, cfi, &f.image.segments[i]);
		CHECK(!f.nr_diff && !f.counts.nr_bad,
		      "%s: %llu functions, %u rows, %llu addresses, %llu differences, "
		      "%llu without a rule, %llu with FP lost, %llu dropped, %llu damaged",
		      path, (unsigned long long)f.counts.nr_functions, f.table.head->nr_rows,
		      (unsigned long long)f.nr_compared, (unsigned long long)f.nr_diff,
		      (unsigned long long)f.nr_none, (unsigned long long)f.counts.nr_fp_lost,
		      (unsigned long long)f.counts.nr_dropped, (unsigned long long)f.counts.nr_bad);
		count_classes(&f);
	}
	mem_free(f.rows);
	mem_free(f.block);
	dwarf_cfi_end(cfi);
	elf_file_done(&f.elf);
	code_file_done(&f.code);
}

static void count_files(void)
{
	unsigned long long nr_left = 0;
	char path[4096];

	while (fgets(path, sizeof(path), stdin)) {
		path[strcspn(path, "\n")] = '\0';
		if (clock() / CLOCKS_PER_SEC < CLASSES_SECONDS)
			compare_file(path, true);
		else
			nr_left++;
	}
	if (nr_left)
		printf("# time is up: %llu files remain\n", nr_left);
	CHECK(totals.files > 0, "%llu files compiled", (unsigned long long)totals.files);
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "--classes")) {
		count_files();
	} else {
		for (int i = 1; i < argc; i++)
			compare_file(argv[i], false);
	}
	print_totals();
	return tap_done();
}
