# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# Guest job: munmap_stress, with zram as swap. Arguments: algorithm, numbers of processes,
# options of munmap_stress. zram is on zsx, unless the kernel's own was loaded before.

algorithm=$1 processes=$2
shift 2
sysfs=/sys/block/zram0
before=/tmp/before after=/tmp/after

fail() {
	echo "FAILED: $*"
	exit 1
}

if [ ! -d /sys/module/zram ]; then
	insmod /zsx/zsxmalloc.ko || exit
	if [ -e /zsx/zram-multi.ko ]; then
		insmod /zsx/zram-multi.ko || exit
	else
		insmod /zsx/zram.ko || exit
	fi
fi

# Names and values. In-tree zsmalloc has only classes, if those: of them the total.
counters() {
	if [ -d /sys/kernel/debug/zsx ]; then
		cat /sys/kernel/debug/zsx/zram0/stats
	else
		awk '$1 == "Total" { print "objects " $(NF - 3); print "pages " $(NF - 2) }' \
			/sys/kernel/debug/zsmalloc/zram0/classes 2>/dev/null
	fi
	awk '{ print "orig_data_size " $1; print "compr_data_size " $2; print "mem_used_total " $3 }' \
		$sysfs/mm_stat
}

# What changed.
show() {
	awk '
	NR == FNR { before[$1] = $2; next }
	before[$1] != $2 && !n++ { printf "    %-20s %15s %15s\n", "counters", "before", "after" }
	before[$1] != $2 { printf "    %-20s %15.0f %15.0f\n", $1, before[$1], $2 }' $before $after
}

swap_mb=$(($(awk '$1 == "MemTotal:" { print int($2 / 1024) }' /proc/meminfo) * 4))
echo "$algorithm" >$sysfs/comp_algorithm || fail "this zram has: $(cat $sysfs/comp_algorithm)"
echo "${swap_mb}M" >$sysfs/disksize && mkswap /dev/zram0 >/dev/null && swapon /dev/zram0 || exit

echo "Linux $(uname -r), $(nproc) CPUs, zram with $algorithm on $([ -d /sys/kernel/debug/zsx ] && echo zsx || echo zsmalloc)"
for n in $(echo "$processes" | tr , ' '); do
	counters >$before
	/zsx/munmap_stress --processes "$n" "$@" || fail "munmap_stress, exit $?"
	counters >$after
	show
	left=$(awk '{ print $1 / 4096 }' $sysfs/mm_stat)
	# Of others, some pages may be in swap.
	[ "$left" -lt 256 ] || fail "$left pages are still in zram"
done
{ swapoff /dev/zram0 && echo 1 >$sysfs/reset && rmmod zram; } || fail "resetting and unloading zram"
if [ -d /sys/kernel/debug/zsx ]; then
	[ -z "$(ls /sys/kernel/debug/zsx)" ] || fail "a pool is left"
	rmmod zsxmalloc || exit
fi
