# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# Guest job: zsx_torture's threads beside all that moves pages, then what must be
# so at rest, when all is freed, and after zsx is gone; then zsx beside in-tree
# zsmalloc. Arguments: seconds, threads, seed, cycles of pools. The last line
# counts.

seconds=$1 threads=$2 seed=$3 cycles=$4
dir=/sys/kernel/debug/zsx_torture
pool=/sys/kernel/debug/zsx/zsx_torture
parameter=/sys/module/zsxmalloc/parameters/movable
kmemleak=/sys/kernel/debug/kmemleak
watermarks=/proc/sys/vm/watermark_scale_factor
stop=/tmp/stop

fail() {
	echo "FAILED: $*"
	: >$stop
	cat $dir/report $pool/stats 2>/dev/null
	exit 1
}

# get NAME FILE: sets $got; empty if it isn't there. By the shell alone, here and
# below, and tried again: in UML 1 of 1000 new processes doesn't survive that memory is
# compacted, and at times one reads nothing, with or without zsx.
get() {
	for _ in 1 2 3; do
		while read -r word got _; do
			[ "$word" != "$1" ] || return 0
		done <"$2"
	done
	got=''
}

# first_line FILE: sets $got
first_line() {
	read -r got <"$1"
}

same() { # A B WHAT
	[ "$1" = "$2" ] || fail "$3: $1, not $2"
}

# Sets free_mb.
free_mb() {
	get MemFree: /proc/meminfo
	free_mb=$((${got:-0} / 1024))
}

# vmstat NAME: sets $got. It lags behind the CPUs' own counts, if they aren't asked.
vmstat() {
	read -r _ </proc/sys/vm/stat_refresh
	get "$1" /proc/vmstat
}

# Whether a zone has pages of zspages.
zones_are_empty() {
	while read -r word got _; do
		[ "$word" != nr_zspages ] || [ "$got" = 0 ] || return
	done </proc/zoneinfo
}

# --- what runs beside ---

# Numbers are kept in files, /tmp/n.NAME. Each has one writer at a time.
number() { # NAME
	cat "/tmp/n.$1" 2>/dev/null || echo 0
}

add() { # NAME NUMBER
	sum=0
	[ ! -e "/tmp/n.$1" ] || read -r sum <"/tmp/n.$1"
	echo $((sum + $2)) >"/tmp/n.$1"
}

# loop COMMAND: until $stop exists; counts.
loop() {
	(
		while [ ! -e $stop ]; do
			"$1"
			add "$1" 1
		done
	) &
}

# That something went wrong in a loop is told, and seen when the loops are over.
fail_later() {
	echo "FAILED: $*"
	: >/tmp/failed
}

compact_memory() {
	echo 1 >/proc/sys/vm/compact_memory
	usleep 20000
}

drop_caches() {
	echo 3 >/proc/sys/vm/drop_caches
	usleep 300000
}

read_debugfs() {
	cat $pool/classes $pool/stats $dir/report >/dev/null
	cat /sys/kernel/debug/zsx/zsx_torture_cycle*/classes >/dev/null 2>&1
	get in_frames $dir/where
	[ "${got:-0}" -le "$(number most_in_cma)" ] || echo "$got" >/tmp/n.most_in_cma
	usleep 200000
}

# Far more huge pages than there is memory for; they compact it all for them.
huge_pages() {
	file=/proc/sys/vm/nr_hugepages
	[ -e $file ] || return
	echo 100000 >$file
	add huge_pages "$(cat $file)" # a sysctl can't be read by bytes, as the shell does
	echo 0 >$file
}

# Process memory in transparent huge pages.
process_memory() {
	[ -e /sys/kernel/mm/transparent_hugepage ] || return
	free_mb
	[ "$free_mb" -lt 200 ] || dd if=/dev/zero of=/dev/null bs=64M count=1 2>/dev/null
}

# fill MB: take memory until so much is free. In steps, as zsx_torture's threads take
# some too.
fill() {
	n=0
	free_mb
	while [ "$free_mb" -ge "$1" ] && [ $((n += 1)) -le 100 ]; do
		dd if=/dev/zero of=/pressure/$n bs=1M count=16 2>/dev/null
		free_mb
	done
}

# unfill MB: after fill, give back until so much is free.
unfill() {
	free_mb
	while [ "$free_mb" -lt "$1" ] && [ "$n" -gt 0 ]; do
		rm -f "/pressure/$n"
		n=$((n - 1))
		free_mb
	done
}

# Until kswapd calls the shrinkers, and somewhat further.
pressure() {
	echo 1000 >$watermarks # reclaim begins when a tenth is left
	fill 100
	usleep 500000
	rm -f /pressure/*
	echo 200 >$watermarks
}

# Blocks of memory of the movable zone.
movable_blocks() {
	grep -l '^Movable' /sys/devices/system/memory/memory*/valid_zones 2>/dev/null
}

# The zone is filled first, so that pages go to another zone.
offline_blocks() {
	[ -z "$(movable_blocks)" ] || fill 320
	for block in $(movable_blocks); do
		block=${block%/valid_zones}
		free_mb
		[ "$free_mb" -ge 250 ] || continue
		# Until it succeeds, or a signal.
		if timeout 30 sh -c "echo offline >$block/state" 2>/dev/null; then
			add offlined 1
			usleep 100000
			echo online_movable >"$block/state" || fail_later "$block stays offline"
		else
			add refused_offline 1
		fi
	done
	rm -f /pressure/*
}

# Quarters of the area, until all is taken or a page in it can't be moved just now.
take_contiguous() {
	first_line "$cma/count"
	quarter=$((got / 4)) taken=0
	for _ in 1 2 3 4; do
		if echo $quarter >"$cma/alloc"; then
			add cma_allocated 1
			taken=$((taken + quarter))
		else
			add cma_refused 1
		fi 2>/dev/null
	done
	usleep 20000
	echo $taken >"$cma/free"
}

# Pages get into the area when memory is short elsewhere; out of it they can go when
# there is room again.
contiguous_memory() {
	[ -n "$cma" ] || return
	fill 100
	sleep 1
	unfill 250
	for _ in 1 2 3 4 5; do
		take_contiguous
		usleep 100000
	done
	rm -f /pressure/*
}

# One after the other: together they would ask for the OOM killer. Later rounds are cut
# short by the end.
hog() {
	for what in huge_pages pressure process_memory offline_blocks contiguous_memory; do
		[ ! -e $stop ] || [ "$(number hog)" = 0 ] || return
		$what
	done
}

start_loops() {
	rm -f $stop
	for name in $loops; do
		loop "$name"
	done
}

stop_loops() {
	: >$stop
	wait
	[ ! -e /tmp/failed ] || fail "see above"
}

# --- what must be so ---

is_sound() { # WHAT
	first_line $pool/check
	same "$got" ok "$1: check"
}

at_rest() {
	is_sound "at rest"
	get pages $pool/stats
	pages=$got
	get pages $dir/where
	same "$pages" "$got" "pages, and their recount"
	get source_steps $pool/stats
	steps=$got
	get objects_copied $pool/stats
	same "$steps" "$got" "objects looked for, and those copied"
	echo 1 >$dir/verify || fail "not all objects are what was stored"
}

# When pages can't be moved: none is where all must be, and none was.
stays_out() { # WHAT
	get in_movable_zone $dir/where
	same "$got" 0 "$1: pages in a movable zone"
	get in_frames $dir/where
	same "$got" 0 "$1: pages in CMA"
	get pages_migrated $pool/stats
	same "$got" 0 "$1: pages migrated"
	get pages $dir/where
	[ "$got" != 0 ] || fail "$1: no page was there to look at"
}

says_why() { # TEXT: why pages can't be migrated, once
	same "$(dmesg | grep -c "zsx: pages can't be migrated: $1")" 1 "lines in the log: $1"
}

# With no further call of zsx's.
is_empty_soon() { # WHAT
	tries=0
	while
		get pages $pool/stats
		left=$got
		get zspages $pool/stats
		left="$left $got"
		vmstat nr_zspages
		left="$left $got"
		[ "$left" != "0 0 0" ] && [ $((tries += 1)) -le 10 ]
	do
		usleep 500000
	done
	same "$left" "0 0 0" "$1: pages, zspages, nr_zspages"
	zones_are_empty || fail "$1: nr_zspages of a zone is $got"
	is_sound "$1"
}

zsx_slabs() {
	awk '$1 ~ /^zsx_/ { n += $2 } END { print n + 0 }' /proc/slabinfo
}

has_no_slab_objects() {
	for _ in 1 2 3 4 5; do
		for cache in /sys/kernel/slab/zsx_*; do
			echo 1 >"$cache/shrink"
		done
		[ "$(zsx_slabs)" != 0 ] || return 0
		sleep 1
	done
	grep '^zsx_' /proc/slabinfo | awk '$2 > 0'
	fail "$(zsx_slabs) slab objects are left"
}

# --- runs ---

run() { # SECONDS CYCLES
	echo "$1 $threads $seed $2" >$dir/run || fail "the run of $1 s, seed $seed"
	get mismatches $dir/report
	same "$got" 0 mismatches
}

drain() {
	echo 1 >$dir/drain || fail "not all objects were what was stored"
}

# Add what zsx_torture and its pool counted to the numbers.
take_counts() {
	for name in mallocs mallocs_in_bulk no_memory frees frees_in_bulk writes writes_by_map reads reads_held reads_by_sg \
		reads_by_map compactions pool_cycles mismatches pages_compacted objects_copied \
		pages_migrated migrations_refused pins_retried skipped_busy; do
		get $name $dir/report
		add $name "$got"
	done
}

# --- modules ---

load_torture() { # [PARAMETER=VALUE]...
	insmod /zsx/zsx_torture.ko "frames=$cma_frames" "$@" || fail "loading zsx_torture"
}

load_zsx() { # [PARAMETER=VALUE]...
	insmod /zsx/zsxmalloc.ko "$@" || fail "loading zsx"
	load_torture
}

unload_torture() {
	rmmod zsx_torture || fail "unloading zsx_torture"
}

unload_zsx() {
	unload_torture
	rmmod zsxmalloc || fail "unloading zsx"
}

# --- leaks ---

scan_for_leaks() {
	echo scan >$kmemleak || fail "kmemleak has turned itself off"
}

# What kmemleak names of zsx's, or of modules that are gone, which have no names any
# more. By two scans, as what is younger than 5 s isn't named.
leaks() {
	scan_for_leaks
	sleep 6
	scan_for_leaks
	grep -E 'zsx|^ +0x' $kmemleak
}

has_no_leaks() { # WHEN
	! leaks || fail "$1: leaks"
	echo "$1: kmemleak names nothing of zsx's; of others $(grep -c ^unref $kmemleak)"
}

finds_leaks() {
	load_torture lose=1
	[ "$(leaks | grep -c lose_some)" -gt 0 ] || fail "kmemleak doesn't find what was lost"
	unload_torture
	echo clear >$kmemleak
}

# A run before all others, as kmemleak makes all slow, and can be turned off only.
look_for_leaks() {
	echo "--- with kmemleak"
	insmod /zsx/zsxmalloc.ko || fail "loading zsx"
	finds_leaks
	load_torture
	start_loops
	run $((seconds / 8 + 2)) $((cycles / 8))
	stop_loops
	at_rest
	has_no_leaks "at rest"
	drain
	is_empty_soon "freed with kmemleak"
	has_no_leaks "all freed"
	take_counts
	unload_zsx
	has_no_leaks "zsx is gone"
	echo off >$kmemleak
	leaks="none that kmemleak sees"
}

# --- beside zsmalloc ---

load_zsmalloc() {
	insmod /lib/zsmalloc.ko 2>/dev/null
}

unload_zsmalloc() {
	! grep -q '^zsmalloc ' /proc/modules || rmmod zsmalloc
}

# works_as STATE WHAT: "movable" reads STATE, and zsx works.
works_as() {
	first_line $parameter
	same "$got" "$1" "$2: what movable reads"
	start_loops
	run 3 0
	stop_loops
	[ "$1" = on ] || stays_out "$2"
	at_rest
	drain
	is_empty_soon "$2"
}

beside_zsmalloc() {
	echo "--- zsmalloc first, then zsx"
	load_zsmalloc || fail "loading zsmalloc"
	dmesg -c >/dev/null
	load_zsx
	if [ -n "$one_owner" ]; then
		says_why "the page type is in-tree zsmalloc's"
		works_as off "zsmalloc first"
	else
		works_as "$movable" "zsmalloc first"
	fi
	unload_zsx
	unload_zsmalloc || fail "unloading zsmalloc"

	echo "--- zsx first, then zsmalloc"
	load_zsx
	if load_zsmalloc; then
		[ -z "$one_owner" ] || fail "zsmalloc took the page type that zsx has"
	else
		[ -n "$one_owner" ] || fail "zsmalloc can't be loaded after zsx"
	fi
	works_as "$movable" "zsx first"
	unload_zsmalloc || fail "unloading zsmalloc"
	unload_zsx

	echo "--- zsx with movable=off, then zsmalloc"
	load_zsx movable=off
	load_zsmalloc || fail "loading zsmalloc beside movable=off"
	works_as off "movable=off"
	unload_zsx
	unload_zsmalloc || fail "unloading zsmalloc"
}

# --- the job ---

for thp in enabled defrag; do
	[ ! -e /sys/kernel/mm/transparent_hugepage/$thp ] ||
		echo always >/sys/kernel/mm/transparent_hugepage/$thp
done
[ ! -e /sys/kernel/mm/transparent_hugepage/khugepaged ] ||
	echo 100 >/sys/kernel/mm/transparent_hugepage/khugepaged/scan_sleep_millisecs
mkdir /pressure || exit
mount -t tmpfs -o size=100% tmpfs /pressure || fail "mounting a tmpfs"
# Reclaim begins long before somebody must be killed.
echo 16384 >/proc/sys/vm/min_free_kbytes
echo 200 >$watermarks
# What CPUs keep for themselves would be as much, and isn't free for others.
echo 1000 >/proc/sys/vm/percpu_pagelist_high_fraction
echo 4 >/proc/sys/vm/drop_caches # not a word about each

# The area of CMA that cma= on the command line made, if the kernel has such.
cma='' cma_frames=0,0
for area in /sys/kernel/debug/cma/*; do
	[ ! -e "$area/alloc" ] || cma=$area
done
if [ -n "$cma" ]; then
	first_line "$cma/base_pfn"
	cma_frames=$got
	first_line "$cma/count"
	cma_frames=$cma_frames,$got
fi

loops="drop_caches read_debugfs hog"
[ ! -e /proc/sys/vm/compact_memory ] || loops="$loops compact_memory"

# Whether the kernel can migrate pages, and, from Linux 6.17 on, has one owner of
# their type.
movable=off one_owner=''
vmstat pgmigrate_success
pgmigrate=$got
if [ -n "$pgmigrate" ]; then
	movable=on
	case $(uname -r) in
	6.1.* | 6.12.*) ;;
	*) one_owner=1 ;;
	esac
fi

unload_zsmalloc
leaks="kmemleak is off"
if [ -e $kmemleak ] && grep -q kmemleak=on /proc/cmdline; then
	look_for_leaks
fi

dmesg -c >/dev/null
load_zsx
[ $movable = on ] || says_why "the kernel is built without it"
first_line $parameter
same "$got" $movable "what movable reads"

echo "--- $threads threads, $seconds s, $cycles pools"
start_loops
run "$seconds" "$cycles"
stop_loops
get pages $dir/where
pages=$got
get in_movable_zone $dir/where
echo "--- at rest: $pages pages, $got of them in the movable zone"
[ $movable = on ] || stays_out "at rest"
for name in $loops; do
	[ "$(number "$name")" -gt 0 ] || fail "nothing ran beside: $name"
done
at_rest
drain
is_empty_soon "freed at rest"

echo "--- freed while memory is compacted"
start_loops
run 3 0
drain
is_empty_soon "freed while memory is compacted"
stop_loops
at_rest
if [ $movable = on ]; then
	get pages_migrated $pool/stats
	[ "$got" -gt 0 ] || fail "no page was migrated"
fi
if [ -n "$(movable_blocks)" ]; then
	[ "$(number offlined)" -gt 0 ] || [ "$seconds" -lt 60 ] || fail "no block of memory went offline in $(number refused_offline) tries"
fi
if [ -n "$cma" ]; then
	[ "$(number cma_allocated)" -gt 0 ] || fail "no contiguous memory could be had"
	# That takes others to fill the movable zone first.
	[ "$(number most_in_cma)" -gt 0 ] || [ "$seconds" -lt 60 ] || fail "no page was ever in CMA"
fi
has_no_slab_objects

take_counts
unload_torture
echo "--- few objects, of few sizes, moved all the time; handles are checked"
echo 1 >/sys/module/zsxmalloc/parameters/hardened || fail "hardened=1"
load_torture slots=512 sizes=3 compact=16
start_loops
run $((seconds / 4 + 1)) 0
stop_loops
at_rest
drain
is_empty_soon "few objects, freed at rest"
take_counts
vmstat pgmigrate_success
pgmigrate=$((got - pgmigrate))

counts="$(uname -r): $(number mallocs) mallocs, $(number mallocs_in_bulk) in bulk, \
$(number no_memory) without memory, \
$(number frees) frees, $(number frees_in_bulk) in bulk, $(number writes) writes and $(number writes_by_map) by map, \
$(number reads) reads, $(number reads_held) held, $(number reads_by_sg) by sg, \
$(number reads_by_map) by map; \
migrations: $pgmigrate of all pages, $(number pages_migrated) of zsx's, \
$(number migrations_refused) refused; $(number compactions) compactions, \
$(number pages_compacted) pages compacted, $(number objects_copied) objects copied; \
$(number pins_retried) retries, $(number skipped_busy) zspages skipped; \
$(number pool_cycles) pool cycles; \
beside: $(number compact_memory) compact_memory, $(number drop_caches) drop_caches, \
$(number huge_pages) huge pages, $(number offlined) blocks offlined, $(number refused_offline) not, \
$(number cma_allocated) CMA allocations, $(number cma_refused) not, \
at most $(number most_in_cma) pages in CMA; leaks: $leaks; \
$(number mismatches) mismatches"

echo "--- zsx goes"
unload_zsx
for _ in 1 2 3 4 5; do
	[ $movable = off ] || echo 1 >/proc/sys/vm/compact_memory
done
echo 3 >/proc/sys/vm/drop_caches
vmstat nr_zspages
same "$got" 0 "nr_zspages without zsx"
for cache in /sys/kernel/slab/zsx_*; do
	[ ! -e "$cache" ] || fail "a slab cache is left: $cache"
done

beside_zsmalloc
[ $movable = off ] || echo 1 >/proc/sys/vm/compact_memory
echo "$counts"
