# SPDX-License-Identifier: LGPL-2.1-or-later
# A thin front for meson. `make`, `make demo`, `make check`, `make quick`, `make fuzz`, `make check-vm`, `make bench`, `make bench-html`, `make deb`, `make install`, `make clean`.
# Set-up is part of each: tools/setup.sh installs what is missing (root) or names it and stops.

BUILD ?= build
PREFIX ?= /usr/local
DESTDIR ?=
JOBS ?= $(shell nproc)
export BUILD JOBS

all: $(BUILD)/build.ninja
	@quiet=; [ -t 1 ] || quiet=--quiet; ninja $$quiet -C $(BUILD) -j $(JOBS)

$(BUILD)/build.ninja: | setup
	@mkdir -p $(BUILD)
	@meson setup $(BUILD) --prefix $(PREFIX) -Dwerror=$(if $(filter true,$(CI)),true,false) > $(BUILD)/setup.log 2>&1 || \
		{ cat $(BUILD)/setup.log; exit 1; }

setup:
	@tools/setup.sh build

demo: all
	@tools/demo.sh

check:
	@tools/setup.sh build check
	@tools/check.sh

# The checks of the tree, unit and quick tests, of the plain build: under a minute on a quiet machine.
quick: all
	@meson test -C $(BUILD) --no-rebuild --num-processes $(JOBS) --timeout-multiplier 5 --print-errorlogs --suite tree --suite unit --suite quick

# Each fuzz target for ten minutes, or FUZZ_SECONDS.
fuzz:
	@tools/setup.sh build check
	@CHECK=fuzz FUZZ_SECONDS=$${FUZZ_SECONDS:-600} tools/check.sh

# Memory of `clew top` over a minute of new code and threads, with its default bound (make check: some seconds, with a small one).
check-top: all
	@tests/cli/top_test.py $(BUILD)/clew $(BUILD)/tests/top_spin $(BUILD)/tests/top_churn $(BUILD)/tests/libtop_library.so --minute

bench: all
	@bench/run.py

# The page of a recording with a million samples: size, time to open, time to filter. BENCH_SAMPLES=N: of another number.
bench-html: all
	@tests/page/page_bench.py $(BUILD)/clew $(BUILD)/tests/page_make $(BENCH_SAMPLES)

# Real AArch64 programs under qemu-aarch64, each instruction compared with what comes of its trace; and the sets of tests/data/etm.
# And truth-pt, truth-who.
truth: all truth-pt truth-who
	@tools/setup.sh build check truth
	@tests/make/qemu/truth.sh $(BUILD)/tests/etm_truth
truth-sets: all
	@tools/setup.sh build check truth
	@tests/make/qemu/truth.sh $(BUILD)/tests/etm_truth tests/data/etm

# Intel PT of 104 million instructions of random programs, in every configuration, and of real x86-64 programs under qemu-x86_64; both also
# with libipt, where it is installed.
truth-pt: all
	@tools/setup.sh build check truth
	@$(BUILD)/tests/ipt_random 1 $${PT_SEEDS:-260} 400000
	@$(BUILD)/tests/ipt_libipt 1 $${PT_PEER_SEEDS:-60} 400000
	@tests/make/qemu/ipt_truth.sh $(BUILD)/tests/ipt_truth
truth-pt-sets: all
	@tools/setup.sh build check truth
	@tests/make/qemu/ipt_truth.sh $(BUILD)/tests/ipt_truth tests/data/ipt

# Who ran, by clew, on the model of tests/make/who: 1,056 seeds, 10 million SPE records; changes of recordings; damaged sideband;
# offsets of guests' clocks, of 20 seeds of recordings and of 2,000 seeds of switches.
truth-who: all
	@tests/truth/who_truth.py $(BUILD)/clew sets tests/data/who ../shared/data/who-truth
	@tests/truth/who_truth.py $(BUILD)/clew model --cases one --seeds $${WHO_SEEDS:-1056} --step 14 --jobs $(JOBS)
	@tests/truth/who_truth.py $(BUILD)/clew changes --seeds 4 --jobs $(JOBS)
	@tests/truth/who_truth.py $(BUILD)/clew mutate --seeds 20 --jobs $(JOBS)
	@tests/truth/who_etm.py $(BUILD)/clew 20
	@tests/truth/who_guests.py $(BUILD)/clew 10
	@tests/truth/who_merge.py $(BUILD)/clew $${MERGE_SEEDS:-20} $(JOBS)
	@$(BUILD)/tests/guest_fit_seeds 1 $${FIT_SEEDS:-2000}

# Real x86 programs, X86_STEPS single steps of them in all, each instruction compared with what the flow engine says.
# A nested virtual machine makes 50 thousand steps a second.
truth-x86: all
	@tests/live/flow_x86.sh $(BUILD)/tests/flow_x86_test $${X86_STEPS:-20000000}

# Every cut of two stretches of 64 KiB, and 20,000 damaged windows, of each trace (make check: what there is time for).
damage: all
	@$(BUILD)/tests/etm_damage --full tests/data/etm ../shared/data/coresight-truth ../shared/data/coresight
# 20,000 random cuts and 20,000 random bits flipped, of each trace that was given.
damage-random: all
	@$(BUILD)/tests/etm_damage --random tests/data/etm ../shared/data/simpleperf-etm/*.data ../shared/data/coresight ../shared/data/coresight-truth

# AUX recording on the AUX code of a real kernel, in an emulated machine: tests/vm/README.md. Nothing is installed; packages are kept in VM_CACHE.
# ROWS="full killed": these rows only. KERNEL=7.3.4+deb13-cloud-amd64: another kernel of Debian, and its user stacks as well.
# ARCH=arm64: the cross build's clew records AUX areas and user stacks there, and its unit tests run there; ROWS=unit: only they.
VM_CACHE ?= /tmp/kernels
VM = CLEW_VM=1 CLEW_VM_CACHE=$(VM_CACHE) CLEW_VM_KERNEL=$(or $(KERNEL),6.12)
check-vm: check-vm-$(if $(filter arm64,$(ARCH)),arm64,own)

check-vm-own: all
	@$(VM) tests/vm/aux_vm.py $(BUILD)/clew $(ROWS)
	@[ -z "$(KERNEL)" ] || CLEW_VM=1 QEMU=$(VM_CACHE)/qemu tests/vm/vm_test.py $(BUILD)/clew $(VM_CACHE)/vmlinuz-$(KERNEL)

check-vm-arm64: all
	@tools/setup.sh build check
	@[ -f build-aarch64/build.ninja ] || meson setup build-aarch64 --cross-file tools/aarch64.ini > /dev/null
	@ninja --quiet -C build-aarch64 -j $(JOBS)
	@[ "$(ROWS)" = unit ] || $(VM) ARCH=arm64 CLEW_IN_VM=build-aarch64/clew tests/vm/aux_vm.py $(BUILD)/clew $(ROWS)
	@[ -n "$(ROWS)" ] || $(VM) ARCH=arm64 CLEW_IN_VM=build-aarch64/clew tests/vm/vm_test.py $(BUILD)/clew $(VM_CACHE)/vmlinuz-$(or $(KERNEL),6.12-arm64)
	@[ -n "$(ROWS)" ] || $(VM) tests/vm/programs_vm.py build-aarch64/clew
	@[ -n "$(filter-out unit,$(ROWS))" ] || $(VM) ARCH=arm64 tests/vm/unit_vm.py build-aarch64

# Debian packages, in build-deb; and whether they are right: built twice, lintian, a fresh root. The latter as root.
deb:
	@tools/setup.sh build deb
	@tools/deb.sh
check-deb:
	@tools/setup.sh build deb
	@tests/deb/check_deb.sh

install: all
	@meson configure $(BUILD) -Dprefix=$(PREFIX)
	@DESTDIR="$(if $(DESTDIR),$(abspath $(DESTDIR)))" meson install -C $(BUILD)

format:
	@clang-format-14 -i $$(git ls-files '*.[ch]')

clean:
	rm -rf $(BUILD) build-asan build-tsan build-aarch64 build-fuzz build-deb

.PHONY: all setup demo check check-top quick fuzz bench bench-html truth truth-sets truth-pt truth-pt-sets truth-who truth-x86 damage damage-random deb check-deb check-vm check-vm-own check-vm-arm64 install format clean
