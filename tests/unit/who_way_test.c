/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "who/who_way.h"

#include "unit/tap.h"
#include "who/vcpu_name.h"
#include "who/who_ran_impl.h"

enum { NONE = WHO_LEVEL_UNKNOWN };
enum { U = WHO_ENTRY_UNKNOWN, H = WHO_ENTRY_OF_HOST, G = WHO_ENTRY_OF_GUEST };
enum { HOST = WHO_WORLD_HOST, GUEST = WHO_WORLD_GUEST, UNKNOWN = WHO_WORLD_UNKNOWN };

/* Spec: ../shared/spec/attribution.md, sections 10.2 and 10.3. */
static const struct {
	const char *what;
	int kernel, level, upper, entry, start, vmid; /* vmid -1: none is traced */
	int world;
} rows[] = {
	{"VHE: EL2 is the host's",                     WHO_EL2, WHO_EL2, WHO_EL2, U, UNKNOWN, -1, HOST   },
	{"VHE: EL1 is a guest's",                      WHO_EL2, WHO_EL1, WHO_EL1, H, UNKNOWN, -1, GUEST  },
	{"VHE: EL0 from EL1",                          WHO_EL2, WHO_EL0, WHO_EL1, H, UNKNOWN, -1, GUEST  },
	{"VHE: EL0 from EL2, by kernel_exit",          WHO_EL2, WHO_EL0, WHO_EL2, H, UNKNOWN, -1, HOST   },
	{"VHE: EL0 from EL2, by __guest_enter",        WHO_EL2, WHO_EL0, WHO_EL2, G, UNKNOWN, -1, GUEST  },
	{"VHE: EL0 from EL2, by code without symbol",  WHO_EL2, WHO_EL0, WHO_EL2, U, UNKNOWN, -1,
	 UNKNOWN											 },
	{"VHE: a trace that begins at EL0",            WHO_EL2, WHO_EL0, WHO_EL0, U, UNKNOWN, -1, UNKNOWN},
	{"VHE: ... before an exception to EL1",        WHO_EL2, WHO_EL0, WHO_EL0, U, GUEST,   -1, GUEST  },
	{"VHE: what begins there, after that",         WHO_EL2, WHO_EL0, WHO_EL2, H, GUEST,   -1, HOST   },
	{"nVHE: EL2 is the hypervisor",                WHO_EL1, WHO_EL2, WHO_EL2, U, UNKNOWN, 5,  HOST   },
	{"nVHE: VMID 0",			       WHO_EL1, WHO_EL1, WHO_EL1, U, UNKNOWN, 0,  HOST   },
	{"nVHE: another VMID, at EL1",                 WHO_EL1, WHO_EL1, WHO_EL1, H, UNKNOWN, 5,  GUEST  },
	{"nVHE: another VMID, at EL0",                 WHO_EL1, WHO_EL0, WHO_EL1, H, UNKNOWN, 5,  GUEST  },
	{"nVHE: EL1 from EL2, by __host_enter",        WHO_EL1, WHO_EL1, WHO_EL1, H, UNKNOWN, -1, HOST   },
	{"nVHE: EL1 from EL2, by __guest_enter",       WHO_EL1, WHO_EL1, WHO_EL1, G, UNKNOWN, -1, GUEST  },
	{"nVHE: EL0 after that",                       WHO_EL1, WHO_EL0, WHO_EL1, G, UNKNOWN, -1, GUEST  },
	{"nVHE: EL2 is not in the trace",              WHO_EL1, WHO_EL0, WHO_EL1, U, UNKNOWN, -1, UNKNOWN},
	{"firmware",				   WHO_EL2, WHO_EL3, WHO_EL2, U, UNKNOWN, -1, HOST   },
	{"an unknown level of the kernel",             NONE,    WHO_EL1, WHO_EL1, U, UNKNOWN, -1, HOST   },
	{"an unknown level of the kernel, and a VMID", NONE,    WHO_EL1, WHO_EL1, U, UNKNOWN, 5,
	 GUEST											   },
};

/*
 * Where the way says nothing, the thread does: only one of a virtual CPU may run a guest. pKVM
 * hides EL2 and its guests: all that is traced is the host's, and unknown of such threads alone.
 * Samples: by level and context (10.1); CPU 3 has some of a guest without context.
 */
enum { WAY = WHO_WORLD_UNKNOWN, SPE = WHO_WORLD_OF_SPE, LEAKY = 3 };

static const struct {
	const char *what;
	int kernel, world, level;
	bool has_el1;
	uint32_t cpu;
	const char *comm;
	int answer;
} threads[] = {
	{"nVHE, pKVM: no way, a virtual CPU's thread", WHO_EL1, WAY,   WHO_EL1, false, 0,     "CPU 0/KVM",
	 UNKNOWN												},
	{"nVHE, pKVM: no way, another thread",         WHO_EL1, WAY,   WHO_EL1, false, 0,     "sshd",      HOST },
	{"nVHE, pKVM: no way, a thread without name",  WHO_EL1, WAY,   WHO_EL0, false, 0,     NULL,
	 UNKNOWN												},
	{"VHE: no way, another thread",                WHO_EL2, WAY,   WHO_EL0, false, 0,     "sshd",      HOST },
	{"the way is known",                           WHO_EL1, GUEST, WHO_EL1, false, 0,     "sshd",      GUEST},
	{"nVHE, pKVM: sampling stops in guests",       WHO_EL1, SPE,   WHO_EL1, true,  0,     "CPU 0/KVM", HOST },
	{"nVHE, pKVM: the same in user space",         WHO_EL1, SPE,   WHO_EL0, true,  LEAKY, "CPU 0/KVM",
	 HOST												   },
	{"VHE: a sample at EL2",                       WHO_EL2, SPE,   WHO_EL2, false, LEAKY, "CPU 0/KVM", HOST },
	{"VHE: a guest's branch to EL2",               WHO_EL2, SPE,   WHO_EL2, true,  0,     "CPU 0/KVM", HOST },
	{"VHE: a sample at EL1",                       WHO_EL2, SPE,   WHO_EL1, false, 0,     "CPU 0/KVM", GUEST},
	{"VHE: user space, CONTEXTIDR_EL1",            WHO_EL2, SPE,   WHO_EL0, true,  0,     "CPU 0/KVM", GUEST},
	{"VHE: user space without it",                 WHO_EL2, SPE,   WHO_EL0, false, 0,     "CPU 0/KVM", HOST },
	{"VHE: where guests' samples lack it",         WHO_EL2, SPE,   WHO_EL0, false, LEAKY, "CPU 0/KVM",
	 UNKNOWN												},
	{"VHE: the same, another thread",              WHO_EL2, SPE,   WHO_EL0, false, LEAKY, "sshd",      HOST },
	{"an unknown level of the kernel",             NONE,    SPE,   WHO_EL1, true,  0,     "CPU 0/KVM", HOST },
};

static bool may_be_vcpu(const char *comm)
{
	uint32_t vcpu;

	return !comm || who_vcpu_of_name(comm, &vcpu);
}

static void test_threads(void)
{
	struct who_ran w = {.notes = who_notes_new()};

	map_u64_put(&w.notes->leaks, LEAKY, 1);
	for (size_t i = 0; i < sizeof(threads) / sizeof(threads[0]); i++) {
		const struct who_question q = {
			.has = threads[i].has_el1 ? (uint32_t)WHO_Q_CONTEXT_EL1 : 0,
			.cpu = threads[i].cpu,
			.level = (enum who_level)threads[i].level,
			.world = (enum who_world)threads[i].world};

		w.facts.kernel_level = (enum who_level)threads[i].kernel;
		CHECK((int)who_world_of(&w, &q, may_be_vcpu(threads[i].comm)) == threads[i].answer,
		      "%s", threads[i].what);
	}
	who_notes_free(w.notes);
}

int main(void)
{
	test_threads();
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct who_way w = {.level = (enum who_level)rows[i].level,
					  .upper = (enum who_level)rows[i].upper,
					  .entry = (enum who_entry)rows[i].entry,
					  .start = (enum who_world)rows[i].start,
					  .has_vmid = rows[i].vmid >= 0,
					  .vmid = (uint32_t)rows[i].vmid};

		CHECK((int)who_world_of_way((enum who_level)rows[i].kernel, &w) == rows[i].world,
		      "%s", rows[i].what);
	}
	CHECK(who_enters_guest("__guest_enter"), "VHE enters a guest");
	CHECK(who_enters_guest("__kvm_nvhe___guest_enter"), "nVHE enters a guest");
	CHECK(!who_enters_guest("__kvm_nvhe___host_exit"), "nVHE goes back to the host");
	CHECK(!who_enters_guest("ret_to_user"), "the kernel goes back to user space");
	return tap_done();
}
