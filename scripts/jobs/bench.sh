# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# Guest job: the benchmark. In-tree zsmalloc and zsx are loaded, measured and unloaded in
# turn, ROUNDS times after a warm-up (round 0); who is first alternates.
#
# Arguments: ROUNDS, SCALE (full or quick), SEED, THREADS (numbers), GROUPS (see group_*),
# and zsx's parameter "hardened".
# Output: "bench ROUND ALLOCATOR ROW THREADS METRIC VALUE", and "progress ..." for people.

rounds=$1 scale=$2 seed=$3 threads=$4 groups=$5 hardened=$6
dir=/sys/kernel/debug/zsx_bench
page_size=4096 # of the kernels that the lab has

case $scale in
full)	cold_bytes=200000000 hot_passes=60 latency_ms=200 latency_bytes=100000000 counted_bytes=20000000 density_bytes=200000000
	compaction_bytes=100000000 pools_bytes=64000000 munmap_mb=256
	threads_bytes=32000000 most_objects=10000000 ;;
quick)	cold_bytes=10000000 hot_passes=4 latency_ms=20 latency_bytes=16000000 counted_bytes=2000000 density_bytes=10000000
	compaction_bytes=10000000 pools_bytes=8000000 munmap_mb=16
	threads_bytes=2000000 most_objects=100000 ;;
*)	echo "no scale '$scale'"; exit 1 ;;
esac
hot_bytes=2000000

tell() {
	echo "$*" >$dir/do || { echo "FAIL: $allocator: $*"; exit 1; }
}

measure() {
	tell "$@"
	sed "s/^/bench $round $allocator /" $dir/results
}

# --- groups ---

group_hot() {
	for n in $threads; do
		for mix in mixed one page; do
			measure micro hot $mix $hot_bytes $hot_passes 3 "$n" 1 "$seed"
		done
	done
}

group_cold() {
	for n in $threads; do
		for mix in mixed one page; do
			measure micro cold $mix $cold_bytes 1 3 "$n" 1 "$seed"
		done
	done
}

# More threads than CPUs, too: who holds a lock may not be running.
group_threads() {
	measure line
	for n in 1 2 4 8 16; do
		for mix in mixed one; do
			measure micro threads $mix $threads_bytes 2 1 "$n" 1 "$seed"
		done
	done
}

# Objects of 32 bytes in the mean. The last is what memory has room for, twice.
group_objects() {
	for objects in 10000 100000 1000000 10000000; do
		[ $objects -le $most_objects ] || continue
		case $objects:$round in
		10000000:[12]) ;;
		10000000:*) continue ;;
		esac
		passes=$((300000 / objects))
		measure micro $objects tiny $((objects * 32)) $((passes > 1 ? passes : 1)) 1 1 1 \
			"$seed"
	done
}

# Where the clock counts instructions; caches don't matter there.
group_instructions() {
	for mix in mixed one page; do
		measure micro counted $mix $counted_bytes 1 1 1 1 "$seed"
	done
}

group_latency() {
	for mover in nobody compact migrate; do
		measure latency read mixed $mover $latency_bytes $latency_ms "$seed"
		measure latency malloc mixed $mover $latency_bytes $latency_ms "$seed"
	done
	# Nowhere to go but to the one class that is being compacted.
	measure latency malloc one compact $latency_bytes $latency_ms "$seed"
}

group_compaction() {
	for mix in mixed one; do
		measure compaction $mix $compaction_bytes 50 "$seed"
		measure compaction $mix $compaction_bytes 25 "$seed"
	done
}

# The memory of handles and descriptors: of slabinfo's columns, slabs (15th) times pages
# a slab (6th). What the slab allocator keeps unused is counted where it can't be given back.
slab_bytes() {
	for cache in $caches; do
		echo 1 >"/sys/kernel/slab/$cache/shrink"
	done
	awk -v page=$page_size -v caches=" $caches " '
		index(caches, " " $1 " ") { bytes += $15 * $6 * page }
		END { printf "%.0f\n", bytes }' /proc/slabinfo
}

result() {
	awk -v name="$1" '$3 == name { printf "%.0f\n", $4 }' $dir/results
}

# state ROW POOLS: all that is held for what is stored
state() {
	tell state
	stored=$(result stored)
	pages=$(($(result pages) * page_size))
	slabs=$(slab_bytes)
	pool=$(($2 * empty_pool))
	held=$((pages + slabs + pool))
	for line in "stored $stored" "pages $pages" "slabs $slabs" "pool $pool" \
		"held $held" "held-of-10000 $((held * 10000 / stored))"; do
		echo "bench $round $allocator density/$1 1 $line"
	done
}

# In-tree zsmalloc doesn't measure its own.
longest_hold() {
	sed -n "s|^longest_hold_ns[: ]*\([0-9]*\)\$|bench $round zsx longest-hold/$1/compacted 1 ns \1|p" \
		/sys/kernel/debug/zsx/zsx_bench.0/stats
}

# Slabs remember who was there before: each count begins with new ones.
group_density() {
	for mix in lzo-rle uniform recorded; do
		reload
		measure empty-pools
		empty_pool=$(result bytes)
		tell fill $mix $density_bytes 1 "$seed"
		state $mix/full 1
		tell churn 50 "$seed"
		state $mix/half-replaced 1
		tell thin 50 "$seed"
		state $mix/half-freed 1
		tell thin 50 "$seed"
		state $mix/quarter-left 1
		tell compact
		state $mix/compacted 1
		[ "$allocator" = zsmalloc ] || longest_hold $mix
		tell reset
	done
}

# One pool, and as much in 32.
group_pools() {
	for pools in 1 32; do
		measure micro $pools-pools mixed $pools_bytes 2 2 2 $pools "$seed"
		reload
		measure empty-pools
		empty_pool=$(result bytes)
		tell fill mixed $pools_bytes $pools "$seed"
		state mixed/$pools-pools $pools
		tell reset
	done
}

# munmap_one WHO: swapped memory is given back, with zram WHO as swap
munmap_one() {
	insmod "/zsx/zram-$1.ko" || exit
	echo lzo-rle >/sys/block/zram0/comp_algorithm || exit
	echo 4G >/sys/block/zram0/disksize || exit
	{ mkswap /dev/zram0 >/dev/null && swapon /dev/zram0; } || exit
	for n in 1 2 4; do
		/zsx/munmap_stress --processes $n --mb "$munmap_mb" --seed "$seed" >/tmp/munmap || exit
		sed -n 's/^munmap_stress:.* wall_ns=\([0-9]*\) .*/\1/p' /tmp/munmap |
			awk -v head="bench $round $1 munmap/lzo-rle/whole $n ms" \
				'{ printf "%s %.3f\n", head, $1 / 1e6 }'
	done
	{ swapoff /dev/zram0 && echo 1 >/sys/block/zram0/reset && rmmod zram; } || exit
}

# The floor is zram on zsx with frees that do nothing.
group_munmap() {
	munmap_one "$allocator"
	if [ "$allocator" = zsx ]; then
		insmod /zsx/zsx_ledger.ko || exit
		munmap_one floor
		rmmod zsx_ledger || exit
	fi
}

# --- rounds ---

load() {
	case $allocator in
	zsmalloc) insmod /zsx/zsmalloc.ko || exit ;;
	zsx) insmod /zsx/zsxmalloc.ko "hardened=$hardened" || exit ;;
	esac
	insmod "/zsx/zsx_bench_$allocator.ko" || exit
}

unload() {
	rmmod "zsx_bench_$allocator" || exit
	case $allocator in
	zsmalloc) rmmod zsmalloc || exit ;;
	zsx) rmmod zsxmalloc || exit ;;
	esac
}

reload() {
	unload
	load
}

one_allocator() {
	load
	case $allocator in
	zsmalloc) caches="zs_handle zspage" ;;
	zsx) caches=$(cd /sys/kernel/slab && echo zsx_*) ;;
	esac
	for group in $groups; do
		# What is counted, not timed, is the same each time.
		case $group:$round in
		density:0|density:[3-9]|density:??) continue ;;
		esac
		echo "progress $round $allocator $group"
		"group_$group"
	done
	unload
}

# Memory is the host's only from when it was touched.
touch_memory() {
	mkdir -p /fill
	mount -t tmpfs -o size=95% tmpfs /fill
	dd if=/dev/zero of=/fill/x bs=1M 2>/dev/null count=$((
		$(awk '/^MemFree:/ { print $2 }' /proc/meminfo) * 9 / 10240))
	umount /fill
}

echo "bench-system $(uname -r) $(nproc)"
[ "$groups" = instructions ] || touch_memory
round=0
while [ "$round" -le "$rounds" ]; do
	case $((round % 2)) in
	0) order="zsmalloc zsx" ;;
	1) order="zsx zsmalloc" ;;
	esac
	for allocator in $order; do
		one_allocator
	done
	round=$((round + 1))
done
