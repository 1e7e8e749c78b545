/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TESTS_GOLDEN_TRACE_GOLDEN_H
#define TESTS_GOLDEN_TRACE_GOLDEN_H

#include "base/buf.h"
#include "base/vec.h"
#include "flow/flow.h"

/*
 * Each DIR/NAME.trace is rewritten from its facts about the trace unit, code and packets, with the
 * bytes and the flow that the encoder and the decoder say. It has to be what was read. With
 * UPDATE=1 the files are replaced instead. Format: etm/README.md.
 */
struct golden;

/** Instructions without a gap, seen in one address space, or, of GOLDEN_ANY_SPACE, in all. */
struct golden_run {
	uint32_t space;
	uint64_t start;
	struct buf bytes;
};
enum { GOLDEN_ANY_SPACE = 0 };

/** How the trace is decoded: that must not change what comes of it. */
struct golden_way {
	const char *name;
	size_t piece;
	unsigned int nr_threads;
	bool goes_plain;
};

/** A kind of trace unit. Functions that return bool: false: golden_wrong() says why. */
struct golden_unit {
	const char *title; /* of the section with facts about it */
	size_t bytes;      /* of what begins with a struct golden */
	char taken;        /* how [edges] mark a branch that was taken */
	bool (*read_fact)(struct golden *g, const char *line);
	bool (*read_code)(struct golden *g, const char *line);
	bool (*encode)(struct golden *g, char *words); /* into g->trace */
	/** Without a consumer, or one that writes lines to @p out. The flow is freed before @p g.
	 */
	struct flow *(*flow)(struct golden *g, const struct golden_way *w, struct buf *out);
	void (*done)(struct golden *g); /* NULL: has nothing of its own */
};

struct golden {
	const struct golden_unit *unit;
	uint32_t space; /* of the instructions that follow */
	struct {
		VEC(struct golden_run);
	} runs;
	struct buf trace, title, out;
	bool has_spec;
	const char *wrong; /* of the line that could not be read */
	unsigned int line;
};

/** @return false */
bool golden_wrong(struct golden *g, const char *what);
bool golden_add_insn(struct golden *g, uint64_t address, const uint8_t *bytes, size_t nr);
/** code_source.find; ctx: the struct golden. */
bool golden_find_code(void *ctx, uint32_t space, uint64_t address, struct code_region *ret);

/** Read the file. @p g: zeroed, but for its unit. */
bool golden_read(struct golden *g, const char *path);
void golden_done(struct golden *g);
/** Check, or write, all files of a folder. @return the program's exit status. */
int golden_check_all(const struct golden_unit *unit, const char *dir);
/** For each file, in order. @return how many there are; -1: no such folder. */
int golden_for_each(const char *dir, void (*visit)(void *ctx, const char *dir, const char *name),
		    void *ctx);

#endif
