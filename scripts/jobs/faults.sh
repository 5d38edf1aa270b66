# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# Guest job: each allocation fails in turn, by the kernel's fault injection. First while
# zsx is loaded, until it has been loaded many times in a row with nothing left to fail;
# then in each of its calls: KUnit, suite zsx_fault.

debug=/sys/kernel/debug
enough=40

fail() {
	echo "FAILED: $*"
	exit 1
}

# Allocations of any kind; what fails is told by who asked, not by the kernel.
for attr in failslab fail_page_alloc; do
	echo N >$debug/$attr/ignore-gfp-wait || fail "no fault injection"
	echo 0 >$debug/$attr/verbose
done
echo N >$debug/fail_page_alloc/ignore-gfp-highmem
echo 0 >$debug/fail_page_alloc/min-order

# load NTH: insmod, whose NTH allocation fails. What comes before it, an exec, fails first.
load() {
	sh -c "echo $1 >/proc/self/fail-nth; exec insmod /zsx/zsxmalloc.ko" 2>/dev/null
}

[ ! -d /sys/module/zsmalloc ] || rmmod zsmalloc || exit
nth=0 in_a_row=0 failed=0
while [ $in_a_row -lt $enough ]; do
	nth=$((nth + 1))
	[ $nth -lt 3000 ] || fail "loading zsx has no end"
	if load $nth; then
		in_a_row=$((in_a_row + 1))
		rmmod zsxmalloc || fail "unloading zsx after failure $nth"
	else
		failed=$((failed + 1)) in_a_row=0
		[ ! -d /sys/module/zsxmalloc ] || fail "zsx is half there after failure $nth"
		[ ! -d $debug/zsx ] || fail "zsx's directory is left after failure $nth"
	fi
done
echo "insmod: $nth times with one allocation failing: $failed failed"
for cache in /sys/kernel/slab/zsx_*; do
	[ ! -e "$cache" ] || fail "a slab cache is left: $cache"
done

insmod /zsx/zsxmalloc.ko || fail "loading zsx"
insmod /zsx/zsx_kunit.ko "$@" || fail "loading the cases"
cat $debug/kunit/zsx_*/results || fail "no results"
rmmod zsx_kunit || fail "unloading the cases"
rmmod zsxmalloc || fail "unloading zsx"
