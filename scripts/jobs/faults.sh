# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# Guest job: each allocation fails in turn, by the kernel's fault injection. First while
# zsx is loaded, until nothing is left to fail; then in each of its calls: KUnit, suite
# zsx_fault.
#
# Of an allocation that fails the kernel says a line, unless it was made with __GFP_NOWARN. So
# that nothing is said once is not the end of a load; that it is so many times in a row is.

enough=60

debug=/sys/kernel/debug

fail() {
	echo "FAILED: $*"
	exit 1
}

# Allocations of any kind, and a line of each that may be told of.
for attr in failslab fail_page_alloc; do
	echo N >$debug/$attr/ignore-gfp-wait || fail "no fault injection"
	echo 1 >$debug/$attr/verbose
	echo 0 >$debug/$attr/verbose_ratelimit_interval_ms
done
echo N >$debug/fail_page_alloc/ignore-gfp-highmem
echo 0 >$debug/fail_page_alloc/min-order

# load NTH: insmod, whose NTH allocation fails. What comes before it, an exec, fails first.
# By kmod: busybox's insmod tries again by another system call, and succeeds.
ln -s /bin/kmod /tmp/insmod
load() {
	sh -c "echo $1 >/proc/self/fail-nth; exec /tmp/insmod /zsx/zsxmalloc.ko" 2>/dev/null
}

fail_each_load() {
	dmesg -c >/dev/null
	nth=0 failed=0 silent=0
	while [ $silent -lt $enough ]; do
		nth=$((nth + 1))
		[ $nth -lt 3000 ] || fail "loading zsx has no end"
		silent=$((silent + 1))
		if load $nth; then
			rmmod zsxmalloc || fail "unloading zsx after failure $nth"
		else
			failed=$((failed + 1)) silent=0
			[ ! -d /sys/module/zsxmalloc ] || fail "zsx is half there after failure $nth"
			[ ! -d $debug/zsx ] || fail "zsx's directory is left after failure $nth"
		fi
		! dmesg -c | grep -q FAULT_INJECTION || silent=0
	done
	# slab_common.c dumps the stack of who wanted a cache that it couldn't make.
	echo "EXPECT-STACKS: kmem_cache_create(_args)?[(]zsx_[a-z0-9_]+[)] failed with error -(12|22)$"
	echo "insmod: $nth times with one allocation failing: $failed failed"
	# At least a page, a name and a directory of each of its caches.
	[ $failed -ge 100 ] || fail "only $failed failures"
	for cache in /sys/kernel/slab/zsx_*; do
		[ ! -e "$cache" ] || fail "a slab cache is left: $cache"
	done
}

[ ! -d /sys/module/zsmalloc ] || rmmod zsmalloc || exit
if grep -q 'User Mode Linux' /proc/cpuinfo; then
	echo "loads that fail are left out: UML's exec doesn't survive an allocation that fails"
else
	fail_each_load
fi

for attr in failslab fail_page_alloc; do
	echo 0 >$debug/$attr/verbose
done
insmod /zsx/zsxmalloc.ko || fail "loading zsx"
insmod /zsx/zsx_kunit.ko "$@" || fail "loading the cases"
cat $debug/kunit/zsx_*/results || fail "no results"
rmmod zsx_kunit || fail "unloading the cases"
rmmod zsxmalloc || fail "unloading zsx"
