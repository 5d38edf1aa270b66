# SPDX-License-Identifier: GPL-2.0-only
#
# What people call; what the kernel's build reads is in Kbuild.

KDIR ?= /lib/modules/$(shell uname -r)/build

.DEFAULT_GOAL := modules

modules: | $(KDIR)/Makefile
	$(MAKE) -C $(KDIR) M=$(CURDIR) $@

# The version has one source; the module has it from there too.
VERSION := $(shell sed -n 's/^\#define ZSX_VERSION[^"]*"\(.*\)"/\1/p' zsx.h)
DKMS_SOURCE = $(DESTDIR)/usr/src/zsx-$(VERSION)

# Debian's make kernelrelease says another one.
RELEASE = $(shell sed -n 's/.*UTS_RELEASE "\(.*\)"/\1/p' $(KDIR)/include/generated/utsrelease.h)

# Debian's headers ask for a signature and have no key. A packager's DESTDIR gets no lists:
# they would be of this module alone.
install: | $(KDIR)/Makefile
	$(MAKE) -C $(KDIR) M=$(CURDIR) ZSX_TESTS=n modules
	$(MAKE) -C $(KDIR) M=$(CURDIR) ZSX_TESTS=n modules_install INSTALL_MOD_DIR=updates \
		$(if $(wildcard $(KDIR)/certs/signing_key.x509),,CONFIG_MODULE_SIG_ALL=) \
		$(if $(DESTDIR),INSTALL_MOD_PATH=$(abspath $(DESTDIR)))
	[ ! -e $(DESTDIR)/lib/modules/$(RELEASE)/modules.order ] || \
		depmod $(if $(DESTDIR),-b $(DESTDIR)) $(RELEASE)

# What a build of zsxmalloc.ko, or of a caller of it, reads.
dkms-source:
	install -d $(DKMS_SOURCE)/zsmalloc/linux
	install -m 644 COPYING Kbuild Kconfig Makefile compat.h \
		$(filter-out %.mod.c,$(wildcard zsx*.[ch])) $(DKMS_SOURCE)
	install -m 644 zsmalloc/Kconfig zsmalloc/*.Kbuild $(DKMS_SOURCE)/zsmalloc
	install -m 644 zsmalloc/linux/*.h $(DKMS_SOURCE)/zsmalloc/linux
	sed 's/#MODULE_VERSION#/$(VERSION)/' dkms.conf.in >$(DKMS_SOURCE)/dkms.conf

dkms-install: dkms-source | $(KDIR)/Makefile
	dkms add zsx/$(VERSION)
	dkms install zsx/$(VERSION) -k $(RELEASE)

dkms-remove:
	dkms remove zsx/$(VERSION) --all
	rm -rf $(DKMS_SOURCE)

deb:
	@scripts/setup deb
	@scripts/build-deb

version:
	@echo $(VERSION)

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
	@echo 'In brackets: X=VALUE, the default; X=... where it is all of them, or has none.'
	@echo 'KERNEL is 6.1, 6.12, 7.3, uml or a variant: Documentation/testing.rst.'
	@echo
	@echo 'make [KDIR=...]           build zsxmalloc.ko (and test modules, in tests/) for the'
	@echo '                          running kernel, or the one whose headers KDIR has'
	@echo 'make install [KDIR=...] [DESTDIR=/]  zsxmalloc.ko where modprobe finds it'
	@echo 'make dkms-install [KDIR=...]  the same by DKMS, which then builds it for each new'
	@echo '                          kernel; make dkms-remove undoes it'
	@echo 'make deb                  a Debian package, zsx-dkms, that does the same'
	@echo 'make zram [KDIR=...] [ZRAM_SOURCE=...]  the zram driver of that kernel, as it is, on zsx'
	@echo 'make clean                remove what a build here left'
	@echo 'make demo [KERNEL=6.1]    store real files through zsx'
	@echo 'make check [SUITES=...]   all tests (see scripts/check --list)'
	@echo 'make style                checkpatch, kernel-doc, shellcheck and the like'
	@echo 'make sparse               sparse over all modules, for 6.12 and 7.3'
	@echo 'make coccicheck           the kernel'\''s semantic patches'
	@echo 'make htmldocs [OUT=...]   the documentation, with that of zsx.h'
	@echo 'scripts/graft --patch     zsx as a patch to Linux 7.3'
	@echo 'make matrix [SUITES=...] [MINUTES=3]  tests on kernels built to catch something, and'
	@echo '                          on other machines: hours (see scripts/check --matrix --list)'
	@echo 'make kunit [ARCH=um]      the KUnit tests, in UML or in QEMU (x86_64, and what make matrix has)'
	@echo 'make selftests [KERNEL=6.1]  the kselftests'
	@echo 'make density [KERNEL=uml]  bytes held per 10,000 stored, full to thinned out'
	@echo 'make bench [ROUNDS=5] [ROWS=...] [OUT=DIR]  measured against in-tree zsmalloc,'
	@echo '                          36 minutes: a table, bench.json, plots'
	@echo 'make torture [MINUTES=20] [KERNEL=...] [SEED=...]  checked objects while everything'
	@echo '                          moves, then zram-torture: 20 minutes of each on each kernel'
	@echo 'make zram-torture         the same options: zram on zsx as swap, as a disk, and more'
	@echo 'make munmap-stress [KERNEL=uml]  1 to 16 processes give back their swapped memory'
	@echo 'make zswap [KERNEL=uml] [ROUNDS=5]  a compilation that lacks memory, with zswap on'
	@echo '                          zsx and on zsmalloc in turn'
	@echo 'make fuzz [SECONDS=60]    the pure parts against a plain model, by libFuzzer'
	@echo 'make setup                install through apt what these need (they call it)'

.PHONY: modules install dkms-source dkms-install dkms-remove deb version zram clean setup demo \
	check style sparse coccicheck htmldocs matrix kunit selftests density bench torture \
	zram-torture munmap-stress zswap fuzz help
