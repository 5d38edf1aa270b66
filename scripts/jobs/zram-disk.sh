# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# A part of the zram job: a disk with ext4, and fio on it.

# shellcheck source=scripts/jobs/zram-lib.sh
. /zram/zram-lib.sh

if ! grep -qw ext4 /proc/filesystems; then
	begin 1
	ktap_test_skip "a disk with ext4: this kernel has none"
	finish
	exit
fi
begin 15

mnt=$tmp/mnt
mb=${disk_mb:-64} # of the files of each kind

mounts() {
	mount -t ext4 -o nodiscard /dev/zram0 $mnt
}

makes_ext4() {
	mkdir $mnt && disk zram0 $((mb * 4)) && mkfs.ext4 -q /dev/zram0 && mounts
}

# The files of fio, each block of which says what it is and has its CRC32C. Of the same
# seed, "verify" knows what "write" wrote.
fio_files() { # write|verify NAME [OPTION]...
	verb=$1 name=$2
	shift 2
	[ "$verb" = write ] || set -- "$@" --verify_only
	fio --name="$name" --directory=$mnt --thread --numjobs=2 --size=$((mb / 2))M \
		--randseed="$seed" --verify=crc32c --verify_fatal=1 --buffer_compress_percentage=60 \
		--refill_buffers --fallocate=none --eta=never --minimal "$@" >$tmp/fio 2>&1 ||
		{ cat $tmp/fio; return 1; }
}

# random: written at random in blocks of a page, past the page cache; mixed: in larger ones of
# several sizes, through it.
random() { # write|verify
	fio_files "$1" random --rw=randwrite --bs=4k --direct=1 --ioengine=psync
}

mixed() { # write|verify
	fio_files "$1" mixed --rw=write --bssplit=4k/40:16k/30:64k/30 --ioengine=psync --end_fsync=1
}

# Written and read in turn, and read soon after it was written.
both_ways() {
	fio_files write turns --rw=randrw --bs=4k --direct=1 --ioengine=libaio --iodepth=8 \
		--verify_backlog=64 --io_size=$((mb / 2))M && rm $mnt/turns.*
}

drop_caches() {
	sync && echo 3 >/proc/sys/vm/drop_caches
}

reads_back() {
	drop_caches && migrate_at_rest && random verify && mixed verify
}

# fsck changes nothing, and finds nothing.
is_clean() {
	umount $mnt || return
	e2fsck -fn /dev/zram0 >$tmp/fsck 2>&1 || { cat $tmp/fsck; return 1; }
}

remounts() {
	mounts && reads_back
}

trims() {
	before=$(mm zram0 orig)
	rm $mnt/mixed.* && sync && fstrim $mnt &&
		at_least $(((before - $(mm zram0 orig)) / 4096)) $((mb * 256 * 9 / 10)) "pages that were freed"
}

# Half of what is there, in holes of a page: ext4 itself discards them.
leaves_holes() {
	umount $mnt && mount -t ext4 -o discard /dev/zram0 $mnt || return
	before=$(mm zram0 orig) n=0
	while [ $((n += 1)) -le 600 ]; do
		dd if=/bin/busybox of=$mnt/small.$n bs=8k count=2 skip=$((n % 50)) 2>/dev/null || return
	done
	sync
	n=0
	while [ $((n += 2)) -le 600 ]; do
		rm $mnt/small.$n || return
	done
	sync
}

small_files_are_intact() {
	drop_caches
	n=-1
	while [ $((n += 2)) -le 600 ]; do
		dd if=/bin/busybox bs=8k count=2 skip=$((n % 50)) 2>/dev/null | cmp - $mnt/small.$n || return
	done
}

compacts() {
	compacted=$(mm zram0 compacted)
	echo 1 >/sys/block/zram0/compact && is_compact zram0 &&
		at_least "$(mm zram0 compacted)" $((compacted + 1)) pages_compacted
}

check "zram has an ext4" makes_ext4
migrate_beside
check "fio writes at random" random write
check "fio writes blocks of several sizes" mixed write
check "fio writes and reads in turn" both_ways
check "each block reads back, while memory is compacted" reads_back
stop_loops
check "fsck finds nothing" is_clean
check "mounted again, each block reads back" remounts
check "fstrim frees what removed files held" trims
check "and the other file's blocks are intact" random verify
check "small files are removed from between others" leaves_holes
check "compact gives pages back" compacts
check "what lay between is intact" small_files_are_intact
sync
check "mm_stat is what zsx says" soon agrees zram0
ktap_print_msg "$(tr -s ' ' </sys/block/zram0/mm_stat)"
check "each block reads back" random verify
check "fsck finds nothing again" is_clean
finish
