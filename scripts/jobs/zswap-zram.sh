# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# Guest job: zram that is built in, as a disk, on what this kernel gives
# it: zsmalloc or zsx, the argument. With zsmalloc, zsx is loaded beside it.

provider=$1
zram=/sys/block/zram0
stats=/sys/kernel/debug/zsx/zram0/stats
movable=/sys/module/zsxmalloc/parameters/movable

fail() {
	echo "FAIL: $*"
	exit 1
}

zspage_pages() {
	cat /proc/sys/vm/stat_refresh # what each CPU has counted comes together
	awk '$1 == "nr_zspages" { print $2 }' /proc/vmstat
}

value() { # NAME, of zsx's pool
	awk -v name="$1" '$1 == name { print $2 }' $stats
}

# mm_stat's third column: what the pool takes.
mem_used() {
	awk '{ print $3 }' $zram/mm_stat
}

has_call() {
	grep -q " $1\$" /proc/kallsyms
}

case $provider in
zsx) has_call zsx_malloc && ! has_call zs_malloc ;;
zsmalloc) has_call zs_malloc && ! has_call zsx_malloc ;;
*) false ;;
esac || fail "this kernel's zram does not store in $provider"

# --- a disk ---

# 24 MB: what compresses well, a little and not at all, and a hole.
mb=$((1 << 20))
make_data() {
	yes 'zsx stores compressed pages' | head -c $((8 * mb))
	head -c $((4 * mb)) /dev/urandom | od -v -x | head -c $((8 * mb))
	head -c $((4 * mb)) /dev/urandom
	head -c $((4 * mb)) /dev/zero
}
make_data >/tmp/data
size=$(wc -c </tmp/data)
[ "$size" = $((24 * mb)) ] || fail "$size bytes of data"

same() {
	head -c "$size" /dev/zram0 | cmp - /tmp/data || fail "other bytes came back after $1"
}

echo 64M >$zram/disksize || fail "no disk"
cat /tmp/data >/dev/zram0
sync
echo 3 >/proc/sys/vm/drop_caches
same "storing"
used=$(mem_used)
[ "$used" -gt $((4 * mb)) ] || fail "mm_stat: $used bytes"
[ "$used" -lt $((16 * mb)) ] || fail "mm_stat: $used bytes"
[ "$(zspage_pages)" = $((used / 4096)) ] || fail "nr_zspages is $(zspage_pages), mm_stat $used"

# Which pages move depends on where free memory is: it comes and goes. (Of in-tree
# zsmalloc nobody knows how many have moved.)
i=0
until [ $((i += 1)) -gt 10 ]; do
	head -c $((200 * mb)) /dev/zero >/tmp/ballast
	echo 1 >/proc/sys/vm/compact_memory
	rm /tmp/ballast
	echo 1 >/proc/sys/vm/compact_memory
	[ "$provider" = zsx ] || break
	[ "$(value pages_migrated)" = 0 ] || break
done
echo 3 >/proc/sys/vm/drop_caches
same "page migration"

# Of each 16 pages of the first 16 MB one is left: then there is something to compact.
i=0
while [ $i -lt 4096 ]; do
	dd if=/dev/zero of=/dev/zram0 bs=4k seek=$((i + 1)) count=15 conv=notrunc 2>/dev/null
	dd if=/dev/zero of=/tmp/data bs=4k seek=$((i + 1)) count=15 conv=notrunc 2>/dev/null
	i=$((i + 16))
done
sync
thinned=$(mem_used)
echo 1 >$zram/compact
compacted=$(mem_used)
[ "$compacted" -lt "$thinned" ] || fail "$compacted bytes after compaction, $thinned before"
echo 3 >/proc/sys/vm/drop_caches
same "compaction"
echo "zram: $size bytes in $used, thinned in $thinned, compacted in $compacted"

if [ "$provider" = zsx ]; then
	[ "$(cat $movable)" = on ] || fail "movable: $(cat $movable)"
	[ "$(value pages_migrated)" -gt 0 ] || fail "no page was migrated"
	[ "$(value pages_compacted)" = $(((thinned - compacted) / 4096)) ] ||
		fail "$(value pages_compacted) pages compacted, mm_stat says otherwise"
	[ "$(cat /sys/kernel/debug/zsx/zram0/check)" = ok ] || fail "the pool is broken"
	echo "$(value pages_compacted) pages compacted, $(value pages_migrated) migrated"
fi

echo 1 >$zram/reset
[ "$(zspage_pages)" = 0 ] || fail "$(zspage_pages) pages are left after reset"

# --- zsx beside in-tree zsmalloc ---

if [ "$provider" = zsmalloc ]; then
	insmod /zsxmalloc.ko || fail "zsx can't be loaded beside zsmalloc"
	[ "$(cat $movable)" = off ] || fail "zsx says that it owns zsmalloc's pages"
	rmmod zsxmalloc || fail "zsx can't be unloaded"
fi
