/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "exec_plugin.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "qemu_plugin_api.h"

/*
 * qemu-aarch64, qemu-x86_64, qemu-i386 -plugin ./exec_plugin.so,out=PREFIX PROGRAM: writes
 * PREFIX.code and PREFIX.<vcpu>, as exec_plugin.h says.
 */
#define EXPORT __attribute__((visibility("default")))

enum { MAX_VCPUS = 64, BUFFER = 1 << 16 };

EXPORT extern int qemu_plugin_version;
int qemu_plugin_version = 1;
EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv);

static struct stream {
	FILE *file;
	size_t nr;
	uint32_t records[BUFFER];
} * streams[MAX_VCPUS];

static FILE *code;
static uint32_t nr_code;
static char prefix[256];
static bool is_x86;
static bool is_child; /* of fork(): one process writes these files */

static void flush(struct stream *s)
{
	fwrite(s->records, sizeof(s->records[0]), s->nr, s->file);
	s->nr = 0;
}

static void put(unsigned int vcpu, uint32_t record)
{
	struct stream *s = streams[vcpu];

	if (s->nr == BUFFER) /* the newest stays in reach of touched() */
		flush(s);
	s->records[s->nr++] = record;
}

static void executes(unsigned int vcpu, void *user)
{
	if (!is_child)
		put(vcpu, (uint32_t)(uintptr_t)user);
}

static void touched(unsigned int vcpu, uint32_t info, uint64_t address, void *user)
{
	struct stream *s = streams[vcpu];

	(void)info;
	(void)address;
	(void)user;
	if (!is_child && s->nr)
		s->records[s->nr - 1] |= EXEC_TOUCHED;
}

static void put_code(struct qemu_plugin_insn *insn)
{
	uint64_t address = qemu_plugin_insn_vaddr(insn);
	size_t bytes = is_x86 ? qemu_plugin_insn_size(insn) : 4;
	uint8_t x86[EXEC_X86_CODE_BYTES - 8] = {(uint8_t)bytes};

	fwrite(&address, 8, 1, code);
	if (is_x86 && bytes < sizeof(x86))
		memcpy(x86 + 1, qemu_plugin_insn_data(insn), bytes);
	fwrite(is_x86 ? x86 : qemu_plugin_insn_data(insn), is_x86 ? sizeof(x86) : 4, 1, code);
	nr_code++;
}

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	(void)id;
	flockfile(code);
	for (size_t i = 0; i < qemu_plugin_tb_n_insns(tb); i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		void *index = (void *)(uintptr_t)nr_code;

		if (!is_child)
			put_code(insn);
		qemu_plugin_register_vcpu_insn_exec_cb(insn, executes, QEMU_CB_NO_REGS, index);
		qemu_plugin_register_vcpu_mem_cb(insn, touched, QEMU_CB_NO_REGS, QEMU_MEM_RW, NULL);
	}
	funlockfile(code);
}

static FILE *create(const char *what)
{
	char name[300];
	FILE *f;

	snprintf(name, sizeof(name), "%s.%s", prefix, what);
	f = fopen(name, "wb");
	if (!f) {
		perror(name);
		exit(1);
	}
	return f;
}

/** A thread begins; the number may be that of an ended thread. */
static void begins(qemu_plugin_id_t id, unsigned int vcpu)
{
	char number[16];

	(void)id;
	if (is_child)
		return;
	if (vcpu >= MAX_VCPUS)
		abort();
	if (!streams[vcpu]) {
		streams[vcpu] = calloc(1, sizeof(**streams));
		snprintf(number, sizeof(number), "%u", vcpu);
		streams[vcpu]->file = create(number);
	}
	put(vcpu, EXEC_BEGIN);
}

static void flush_all(void)
{
	for (unsigned int i = 0; i < MAX_VCPUS && !is_child; i++) {
		if (!streams[i])
			continue;
		flush(streams[i]);
		fflush(streams[i]->file);
	}
	if (!is_child)
		fflush(code);
}

static void ends(qemu_plugin_id_t id, void *user)
{
	(void)id;
	(void)user;
	flush_all();
}

static void in_child(void)
{
	is_child = true;
}

int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
	for (int i = 0; i < argc; i++) {
		if (!strncmp(argv[i], "out=", 4))
			snprintf(prefix, sizeof(prefix), "%s", argv[i] + 4);
	}
	is_x86 = !strcmp(info->target_name, "x86_64") || !strcmp(info->target_name, "i386");
	if (info->system_emulation || (!is_x86 && strcmp(info->target_name, "aarch64") != 0) ||
	    !prefix[0]) {
		fprintf(stderr,
			"exec_plugin: for qemu-aarch64, qemu-x86_64 and qemu-i386, with out=PREFIX\n");
		return -1;
	}
	code = create("code");
	pthread_atfork(flush_all, NULL, in_child);
	qemu_plugin_register_vcpu_init_cb(id, begins);
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	qemu_plugin_register_atexit_cb(id, ends, NULL);
	return 0;
}
