# SPDX-License-Identifier: GPL-2.0-only
#
# What people call; what the kernel's build reads is in Kbuild.

KDIR ?= /lib/modules/$(shell uname -r)/build

.DEFAULT_GOAL := modules

modules: | $(KDIR)/Makefile
	$(MAKE) -C $(KDIR) M=$(CURDIR) $@

# The driver is the kernel's own, copied to the cache and built there.
zram: modules
	@dir=$$(scripts/build-zram --copy $(KDIR) $(ZRAM_SOURCE)) && \
	$(MAKE) -C $(KDIR) M=$$dir zsx=$(CURDIR) CONFIG_ZRAM=m \
		KBUILD_EXTRA_SYMBOLS=$(CURDIR)/Module.symvers modules && \
	echo "zram on zsx: insmod zsxmalloc.ko, then $$dir/zram.ko"

# For whatever kernel it was built.
clean:
	find . -name .git -prune -o \( -name '*.o' -o -name '*.ko' -o -name '*.mod' \
		-o -name '*.mod.c' -o -name '.*.cmd' -o -name '.*.d' -o -name modules.order \
		-o -name Module.symvers \) -type f -exec rm -f {} +
	$(MAKE) -sC tests/user $@

$(KDIR)/Makefile:
	@echo "No kernel headers in $(KDIR)."
	@echo "On Debian, install linux-headers-$(shell uname -r) or set KDIR=DIR."
	@exit 1

setup:
	@scripts/setup

demo: setup
	@scripts/demo --kernel $(or $(KERNEL),6.1)

check: setup
	@scripts/check $(SUITES)

style sparse: setup
	@scripts/check $@

coccicheck: setup
	@scripts/setup cocci
	@scripts/coccicheck

htmldocs: setup
	@scripts/setup docs
	@scripts/htmldocs $(if $(OUT),--out $(OUT))

matrix: setup
	@scripts/check --matrix $(if $(MINUTES),--minutes $(MINUTES)) $(SUITES)

kunit: setup
	@scripts/kunit --arch $(or $(ARCH),um)

selftests: setup
	@scripts/selftests --kernel $(or $(KERNEL),6.1)

density: setup
	@scripts/density --kernel $(or $(KERNEL),uml)

bench: setup
	@scripts/bench $(if $(ROUNDS),--rounds $(ROUNDS)) $(if $(ROWS),--rows $(ROWS)) \
		$(if $(OUT),--out $(OUT)) $(if $(QUICK),--quick)

torture: setup
	@scripts/torture --minutes $(or $(MINUTES),20) $(if $(KERNEL),--kernel $(KERNEL)) \
		$(if $(SEED),--seed $(SEED))
	@$(MAKE) --no-print-directory zram-torture

zram-torture: setup
	@for kernel in $(or $(KERNEL),6.1 6.12 7.3 uml); do \
		scripts/zram --kernel $$kernel --minutes $(or $(MINUTES),20) \
			$(if $(SEED),--seed $(SEED)) || exit; \
	done

fuzz:
	@$(MAKE) -sC tests/user fuzz $(if $(SECONDS),FUZZ_SECONDS=$(SECONDS))

munmap-stress: setup
	@scripts/munmap_stress --kernel $(or $(KERNEL),uml)

zswap: setup
	@scripts/zswap --kernel $(or $(KERNEL),uml) --rounds $(or $(ROUNDS),5)

help:
	@echo 'make [KDIR=DIR]           build zsxmalloc.ko (and test modules, in tests/) for the'
	@echo '                          running kernel, or that of DIR'
	@echo 'make zram [KDIR=DIR] [ZRAM_SOURCE=...]  the zram driver of that kernel, as it is, on zsx'
	@echo 'make clean                remove what a build here left'
	@echo 'make demo [KERNEL=6.12]   store real files through zsx, on 6.1, 6.12, 7.3 or uml'
	@echo 'make check [SUITES=...]   all tests, or these (see scripts/check --list)'
	@echo 'make style                checkpatch, kernel-doc, shellcheck and the like'
	@echo 'make sparse               sparse over all modules, for 6.12 and 7.3'
	@echo 'make coccicheck           the kernel'\''s semantic patches'
	@echo 'make htmldocs [OUT=DIR]   the documentation, with that of zsx.h'
	@echo 'scripts/graft --patch     zsx as a patch to Linux 7.3'
	@echo 'make matrix [SUITES=...] [MINUTES=3]  tests on kernels built to catch something, and'
	@echo '                          on other machines: hours (see scripts/check --matrix --list)'
	@echo 'make kunit [ARCH=x86_64]  the KUnit tests, in UML or in QEMU'
	@echo 'make selftests [KERNEL=6.12]  the kselftests on 6.1, 6.12, 7.3, uml or a variant'
	@echo 'make density [KERNEL=6.1]  bytes held per 10,000 stored, full to thinned out'
	@echo 'make bench [ROUNDS=5] [ROWS=hot,cold] [OUT=DIR]  measured against in-tree zsmalloc,'
	@echo '                          36 minutes: a table, bench.json, plots'
	@echo 'make torture [MINUTES=20] [KERNEL=6.12] [SEED=1]  checked objects while everything'
	@echo '                          moves, then zram-torture; on each kernel unless told'
	@echo 'make zram-torture         the same options: zram on zsx as swap, as a disk, and more'
	@echo 'make munmap-stress [KERNEL=6.12]  1 to 16 processes give back their swapped memory'
	@echo 'make zswap [KERNEL=7.3] [ROUNDS=2]  a compilation that lacks memory, with zswap on'
	@echo '                          zsx and on zsmalloc in turn'
	@echo 'make fuzz [SECONDS=60]    the pure parts against a plain model, by libFuzzer'
	@echo 'make setup                install through apt what these need (they call it)'

.PHONY: modules zram clean setup demo check style sparse coccicheck htmldocs matrix kunit \
	selftests density bench torture zram-torture munmap-stress zswap fuzz help
