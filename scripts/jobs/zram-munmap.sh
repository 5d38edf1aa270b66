# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# A part of the zram job: munmap_stress in small. Timings mean nothing here.

# shellcheck source=scripts/jobs/zram-lib.sh
. /zram/zram-lib.sh

begin 6

stress() {
	/zsx/munmap_stress --seed "$seed" "$@"
}

swaps_on() {
	disk zram0 256 "$(fast_algorithm zram0)" && mkswap /dev/zram0 >/dev/null && swapon /dev/zram0
}

# Of 6.1 and 6.12 each CPU frees slots by the 64.
unmaps_at_once() {
	frees=$(stat_of zram0 frees)
	stress --processes 1,2,4 --mb 24 --chunk 4 >$tmp/said || return
	same "$(sed -n 's/.* pages=\([0-9]*\) .*/\1/p' $tmp/said | tr '\n' ' ')" "6144 12288 24576 " \
		"pages that were in swap" &&
		at_least $(($(stat_of zram0 frees) - frees)) $((43008 - 256)) "objects that zsx freed"
}

# Of other programs, some pages may be in swap.
has_freed_them() {
	between $(($(mm zram0 orig) / 4096)) 0 256 "pages that are left"
}

# refuses MESSAGE OPTION...
refuses() {
	message=$1
	shift
	stress "$@" 2>$tmp/said
	same $? 2 "exit code" && { grep "$message" $tmp/said || { cat $tmp/said; return 1; }; }
}

swaps_off() {
	swapoff /dev/zram0 && between $(($(mm zram0 orig) / 4096)) 0 1 "pages that are left: the header"
}

check "zram is swap" swaps_on
check "processes unmap swapped memory at once" unmaps_at_once
check "zsx has freed it" has_freed_them
check "mm_stat is what zsx says" soon agrees zram0
check "more than there is room for is refused" refuses "64 processes of 1024 MiB need" --processes 64 --mb 1024
check "after swapoff all is freed" swaps_off
finish
