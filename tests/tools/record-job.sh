# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# Guest job: the pools' files, each after a line "@ NAME". Argument: bytes to store.

bytes=$1

# dump NAME DIRECTORY
dump() {
	for file in "$2"/*/*; do
		[ "${file##*/}" != check ] || continue
		echo "@ $1/${file#"$2"/}"
		cat "$file"
	done
}

tell() {
	echo "$*" >/sys/kernel/debug/zsx_bench/do || exit
}

# record ALLOCATOR: the sum of the objects' lengths is known to the bench alone.
record() {
	debugfs=/sys/kernel/debug/$1
	insmod "/zsx/zsx_bench_$1.ko" && tell fill lzo-rle "$bytes" 1 1 && tell thin 50 2 || exit
	tell state
	echo "@ $1/stored"
	awk '$3 == "stored" { printf "%d\n", $4 }' /sys/kernel/debug/zsx_bench/results
	dump "$1/thinned" "$debugfs"
	tell compact
	[ "$1" = zsmalloc ] || rmmod zsx_consumer || exit
	dump "$1/compacted" "$debugfs"
	tell reset
	rmmod "zsx_bench_$1"
}

insmod /zsx/zsmalloc.ko || exit
record zsmalloc
rmmod zsmalloc || exit
insmod /zsx/zsxmalloc.ko && insmod /zsx/zsx_consumer.ko || exit
head -c 300000 /bin/busybox >/sys/kernel/debug/zsx_consumer/store || exit
record zsx
rmmod zsxmalloc
