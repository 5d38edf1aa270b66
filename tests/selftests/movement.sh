#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Objects and pages move: zsx_compact() leaves each class as few pages as its objects
# need, the kernel's page migration replaces pages, and each byte stays what it was.
# And the parameter "movable".

# shellcheck source=tests/selftests/lib.sh
. "$(dirname "$0")/lib.sh"

begin 16 zsx_density zsx_consumer

# The page type of movable pages has one owner from Linux 6.17 on: in-tree zsmalloc,
# if it is loaded.
unload zsmalloc 2>/dev/null

parameter=/sys/module/zsxmalloc/parameters/movable
pool=/sys/kernel/debug/zsx/zsx_density

is_sound() {
	same "$(cat "$pool/check")" ok check
}

nothing_freeable() {
	awk 'NF == 18 && $18 != 0 && $1 != "class" { print; bad = 1 } END { exit bad }' "$pool/classes"
}

# --- compaction ---

thinned_pool() {
	do_density "fill 20000 uniform 7" && do_density "thin 14000 8" && is_sound &&
		[ "$(stat_of pages_compacted)" = 0 ] && fails nothing_freeable >/dev/null
}

# zsx_density sees to it that a second zsx_compact() finds nothing.
compacts() {
	before=$(stat_of pages)
	do_density compact && is_sound || return
	same "$((before - $(stat_of pages)))" "$(stat_of pages_compacted)" "pages given back" &&
		[ "$(stat_of pages_compacted)" -gt 0 ]
}

compacts_again() {
	do_density "churn 3000 9" && do_density "thin 3000 10" && compacted=$(stat_of pages_compacted) &&
		before=$(stat_of pages) && do_density compact && is_sound && nothing_freeable &&
		same "$((before - $(stat_of pages)))" "$(($(stat_of pages_compacted) - compacted))" \
			"pages given back"
}

counters_agree() {
	same "$(stat_of source_steps)" "$(stat_of objects_copied)" "objects looked for" &&
		[ "$(stat_of objects_copied)" -gt 0 ] &&
		[ "$(stat_of source_pages_emptied)" -ge "$(stat_of pages_compacted)" ] &&
		[ "$(stat_of zspages_freed)" -gt 0 ] && same "$(stat_of skipped_busy)" 0 skipped_busy &&
		same "$(stat_of pins_retried)" 0 pins_retried
}

# The shrinker: what drop_caches calls, too.
shrinks() {
	do_density reset && do_density "fill 20000 uniform 11" && do_density "thin 14000 12" || return
	before=$(stat_of pages) compacted=$(stat_of pages_compacted) n=0
	while [ "$(stat_of pages_compacted)" = "$compacted" ] && [ $((n += 1)) -le 20 ]; do
		echo 2 >/proc/sys/vm/drop_caches
	done
	is_sound && [ "$(stat_of pages_compacted)" -gt "$compacted" ] &&
		same "$((before - $(stat_of pages)))" "$(($(stat_of pages_compacted) - compacted))" \
			"pages given back"
}

# Each object is looked at when it is freed.
is_empty() {
	do_density reset && is_sound && same "$(stat_of objects) $(stat_of pages) $(stat_of zspages)" \
		"0 0 0" "what is left"
}

# --- page migration ---

migrates() {
	until_migrated zsx_density refill && is_sound
}

# While pages are migrated, objects come, go and are moved.
migrates_beside_others() {
	(
		while [ ! -e "$tmp/stop" ]; do
			echo 1 >/proc/sys/vm/compact_memory
		done
	) &
	rc=0 n=0
	while [ "$rc" = 0 ] && [ $((n += 1)) -le 10 ]; do
		do_density "churn 1000 $n" && do_density "thin 100 $n" || rc=1
	done
	: >"$tmp/stop"
	wait
	[ "$rc" = 0 ] && is_sound && do_density compact && nothing_freeable
}

# Every byte of real files, with holes of freed objects between them.
store_files() {
	n=$((n + 1))
	cat "$program" >"$consumer/store" && echo "half-random $n" >"$consumer/free" &&
		echo 2 >/proc/sys/vm/drop_caches
}

files_stay_intact() {
	files=/sys/kernel/debug/zsx/zsx_consumer n=0
	load zsx_consumer && until_migrated zsx_consumer store_files &&
		echo 1 >"$consumer/verify" && same "$(cat "$files/check")" ok check &&
		same "$(report mismatches)" 0 mismatches && [ "$(report verified_by_sg)" -gt 0 ] &&
		rmmod zsx_consumer
}

# Of all zones; not exact until CPUs have been asked. Others may have some.
nr_zspages() {
	cat /proc/sys/vm/stat_refresh >/dev/null 2>&1
	awk '$1 == "nr_zspages" { n += $2 } END { print n + 0 }' /proc/zoneinfo
}

zspages_counted() {
	same $(($(nr_zspages) - others_zspages)) "$(stat_of pages)" nr_zspages
}

# As the last page may be isolated, for a moment.
is_empty_soon() {
	do_density reset || return
	n=0
	while [ "$(stat_of pages) $(stat_of zspages)" != "0 0" ] && [ $((n += 1)) -le 50 ]; do
		sleep 0.1
	done
	is_empty && zspages_counted
}

# --- the parameter ---

movable_reads() { # STATE
	same "$(cat "$parameter")" "$1" movable &&
		same "$(stat_of movable)" "$([ "$1" = off ] || echo 1; [ "$1" = on ] || echo 0)" "movable in stats"
}

is_off() {
	unload_zsx && load zsxmalloc movable=off && load zsx_density &&
		movable_reads off || return
	# A kernel without migration may have no such file.
	do_density "fill 5000 uniform 3" && do_density "thin 2500 4" &&
		{ [ ! -e /proc/sys/vm/compact_memory ] || echo 1 >/proc/sys/vm/compact_memory; } &&
		same "$(stat_of pages_migrated)" 0 pages_migrated &&
		do_density compact && nothing_freeable && is_empty
}

is_auto() {
	unload_zsx && load zsxmalloc movable=auto && load zsx_density &&
		movable_reads on
}

is_refused() {
	unload_zsx && for value in on 1 maybe ""; do
		fails load zsxmalloc "movable=$value" && fails is_loaded zsxmalloc || return
	done
}

is_constant() {
	load zsxmalloc && fails sh -c "echo off >$parameter" && same "$(cat "$parameter")" on movable
}

others_zspages=$(nr_zspages)
load zsxmalloc && load zsx_density || exit 1
if [ "$(cat "$parameter")" = on ]; then can_migrate=1; else can_migrate=''; fi

# if_can_migrate WHAT COMMAND...: a case for kernels with page migration.
if_can_migrate() {
	if [ -n "$can_migrate" ]; then check "$@"; else ktap_test_skip "$1"; fi
}

check "a thinned pool has pages to give back" thinned_pool
check "zsx_compact() gives them back, and then finds nothing" compacts
check "each class has as few pages as it needs" nothing_freeable
check "and again, after objects came and went" compacts_again
check "the counters agree" counters_agree
check "the shrinker gives pages back" shrinks
check "all objects are what was stored" is_empty
if_can_migrate "memory compaction migrates pages" migrates
if_can_migrate "while objects come, go and are moved" migrates_beside_others
if_can_migrate "files stay intact meanwhile" files_stay_intact
if_can_migrate "the kernel counts as many pages" zspages_counted
if_can_migrate "all objects are what was stored, and all pages go" is_empty_soon
check "movable=off: no page is migrated" is_off
if_can_migrate "movable=auto" is_auto
check "other values of movable are refused" is_refused
if_can_migrate "movable can't be changed" is_constant
ktap_finished
