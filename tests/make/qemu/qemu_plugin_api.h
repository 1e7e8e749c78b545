/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TESTS_MAKE_QEMU_PLUGIN_API_H
#define TESTS_MAKE_QEMU_PLUGIN_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What exec_plugin.c calls of QEMU's TCG plugin interface, version 1 (QEMU 4.2 to 8.2). Debian 12
 * ships the interface in the program and no header: these are its names and types.
 */
typedef uint64_t qemu_plugin_id_t;

struct qemu_plugin_tb;
struct qemu_plugin_insn;

typedef struct {
	const char *target_name;
	struct {
		int min, cur;
	} version;
	bool system_emulation;
	union {
		struct {
			int smp_vcpus, max_vcpus;
		} system;
	};
} qemu_info_t;

enum { QEMU_CB_NO_REGS = 0, QEMU_MEM_RW = 3 };

void qemu_plugin_register_vcpu_init_cb(qemu_plugin_id_t id,
				       void (*cb)(qemu_plugin_id_t id, unsigned int vcpu));
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id,
					   void (*cb)(qemu_plugin_id_t id,
						      struct qemu_plugin_tb *tb));
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn,
					    void (*cb)(unsigned int vcpu, void *user), int flags,
					    void *user);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn,
				      void (*cb)(unsigned int vcpu, uint32_t info, uint64_t address,
						 void *user),
				      int flags, int rw, void *user);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id,
				    void (*cb)(qemu_plugin_id_t id, void *user), void *user);

size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t i);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);

#endif
