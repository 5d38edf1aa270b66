# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# Guest job: which lengths zram asks for. Its arguments are files, that are written to a zram
# disk, with lzo-rle, from a page's beginning each. Lines "length N OBJECTS".

insmod /zsx/zsxmalloc.ko && insmod /zsx/zsx_ledger.ko && insmod /zsx/zram.ko || exit
echo lzo-rle >/sys/block/zram0/comp_algorithm && echo 2G >/sys/block/zram0/disksize || exit
at=0
for file in "$@"; do
	dd if="$file" of=/dev/zram0 bs=4096 seek=$at conv=sync,notrunc 2>/dev/null || exit
	at=$((at + ($(wc -c <"$file") + 4095) / 4096))
done
sync
sed 's/^/length /' /sys/kernel/debug/zsx_ledger
awk -v pages=$at '{ printf "zram: %d pages written, %d of one word\n", pages, $6 }' \
	/sys/block/zram0/mm_stat
echo 1 >/sys/block/zram0/reset && rmmod zram && rmmod zsx_ledger && rmmod zsxmalloc
