# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# Guest job: how much memory a pool holds for what it stores, when it is full, half
# replaced, half freed and three quarters freed. Arguments: objects, mix, seed.

objects=$1 mix=$2 seed=$3
dir=/sys/kernel/debug/zsx_density
page_size=4096 # of the kernels that the lab has

# Bytes of all slabs of zsx's caches, with what is unused in them: of slabinfo's
# columns, slabs (15th) times pages a slab (6th).
slab_bytes() {
	awk -v page=$page_size '$1 ~ /^zsx_/ { bytes += $15 * $6 * page }
		END { printf "%d\n", bytes }' /proc/slabinfo
}

value() {
	awk -v name="$1" '$1 == name { print $2 }' "$dir/report"
}

row() {
	pages=$(($(value pages) * page_size))
	own=$(value pool_bytes)
	stored=$(value bytes_stored)
	# Slabs empty out when RCU and the slab allocator come to it.
	sleep 1
	echo 1 >/sys/kernel/slab/zsx_handle/shrink
	for cache in /sys/kernel/slab/zsx_zspage_*; do
		echo 1 >"$cache/shrink"
	done
	slabs=$(slab_bytes)
	held=$((pages + slabs + own))
	printf '%-24s %9d %11d %11d %10d %11d %9d\n' "$1" "$(value objects)" \
		"$stored" "$pages" "$slabs" "$held" $((held * 10000 / stored))
	[ "$(value mismatches)" = 0 ]
}

insmod /zsx/zsxmalloc.ko && insmod /zsx/zsx_density.ko || exit
printf '%-24s %9s %11s %11s %10s %11s %9s\n' "$mix, seed $seed" objects stored pages \
	slabs held /10000
echo "fill $objects $mix $seed" >$dir/do || exit
row full || exit
echo "churn $((objects / 2)) $((seed + 1))" >$dir/do || exit
row "half replaced" || exit
echo "thin $((objects / 2)) $((seed + 2))" >$dir/do || exit
row "half freed" || exit
echo "thin $((objects / 4)) $((seed + 3))" >$dir/do || exit
row "three quarters freed" || exit
echo compact >$dir/do || exit
row "the last, compacted" || exit
cat /sys/kernel/debug/zsx/zsx_density/stats
awk 'NF && $NF != 0 && $1 != "Total" && NR > 1 { print "not compact: " $0 }' \
	/sys/kernel/debug/zsx/zsx_density/classes
echo reset >$dir/do || exit
[ "$(value objects) $(value pages) $(value mismatches)" = "0 0 0" ] || exit
rmmod zsx_density && rmmod zsxmalloc
