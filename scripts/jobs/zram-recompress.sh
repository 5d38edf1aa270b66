# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# A part of the zram job: what zram does with pages that it has: idle marking,
# recompression, writing back, compaction.

# shellcheck source=scripts/jobs/zram-lib.sh
. /zram/zram-lib.sh

begin 18

sysfs=/sys/block/zram0
n=8192
kept=35

block_state() { # FLAG: how many pages have it
	awk -v flag="$1" 'index($NF, flag) { n++ } END { print n + 0 }' /sys/kernel/debug/zram/zram0/block_state
}

# if_has FILE WHAT COMMAND...: a case for a zram that has it.
if_has() {
	file=$1
	shift
	if [ -e "$file" ]; then check "$@"; else ktap_test_skip "$1: this zram has no ${file##*/}"; fi
}

writes() {
	# Before its size, and of a higher priority than the first one's.
	[ ! -e $sysfs/recomp_algorithm ] || echo "algo=zstd priority=1" >$sysfs/recomp_algorithm || return
	disk zram0 64 "$(fast_algorithm zram0)" && pages write zram0 $n "$seed" &&
		same "$(mm zram0 compacted)" 0 "pages_compacted, before any compaction"
}

reads_back() { # [SEED [PERCENT [KEPT]]]
	pages check zram0 $n "$@"
}

marks_idle() {
	echo all >$sysfs/idle && same "$(block_state i)" $((n - $(mm zram0 same))) "idle pages"
}

# 7.3 marks no page of one word, older ones do.
marks_idle_or_more() {
	echo all >$sysfs/idle && between "$(block_state i)" $((n - $(mm zram0 same))) $n "idle pages"
}

reading_ends_idle() {
	idle=$(block_state i)
	pages check zram0 $((n / 4)) "$seed" || return
	between $((idle - $(block_state i))) $((n / 5)) $((n / 4)) "pages that are no longer idle"
}

recompresses() { # ARGUMENTS LEAST: bytes won
	compr=$(mm zram0 compr)
	echo "$1" >$sysfs/recompress && at_least $((compr - $(mm zram0 compr))) "$2" "bytes won"
}

# A quarter of a page's random bytes is all that there is to win, and 7.3 and 6.12 pass
# over pages that would stay in their class.
recompresses_idle() {
	recompresses "type=idle" $(($(mm zram0 compr) / 20))
}

# What is read meanwhile, newer zram leaves as it is: so it is asked some times.
recompresses_all() {
	pages write zram0 $n "$((seed + 1))" && holds zram0 $n "$((seed + 1))" || return
	(
		while [ ! -e $stop ]; do
			reads_back "$((seed + 1))" || { : >$tmp/bad; return; }
		done
	) &
	reader=$!
	compr=$(mm zram0 compr)
	rc=0
	for _ in 1 2 3 4; do
		echo "algo=zstd" >$sysfs/recompress || rc=1
	done
	: >$stop
	wait $reader
	rm $stop
	[ ! -e $tmp/bad ] && [ $rc = 0 ] && at_least $((compr - $(mm zram0 compr))) $((compr / 50)) "bytes won"
}

# To another zram: that is a block device, too.
writes_back() {
	# A device takes its backing device before its size.
	spare=$(cat $control/hot_add) && disk "zram$spare" 80 && other=$(cat $control/hot_add) &&
		echo "/dev/zram$spare" >"/sys/block/zram$other/backing_dev" && disk "zram$other" 64 &&
		pages write "zram$other" $n "$seed" && echo all >"/sys/block/zram$other/idle" || return
	before=$(stat_of "zram$other" objects)
	echo idle >"/sys/block/zram$other/writeback" || return
	gone=$((before - $(stat_of "zram$other" objects)))
	at_least $gone $((before * 9 / 10)) "objects that went" && agrees "zram$spare" &&
		pages check "zram$other" $n "$seed" && echo 1 >"/sys/block/zram$other/reset" &&
		echo "$other" >$control/hot_remove && echo "$spare" >$control/hot_remove
}

discards() {
	pages write zram0 $n "$seed" && pages discard zram0 $n "$seed" 33 $kept &&
		between "$(mm zram0 orig)" $((n * 4096 * (kept - 3) / 100)) $((n * 4096 * (kept + 3) / 100)) orig_data_size
}

compacts() {
	used=$(mm zram0 used) compacted=$(mm zram0 compacted)
	fails is_compact zram0 >/dev/null && echo 1 >$sysfs/compact && is_compact zram0 || return
	won=$(((used - $(mm zram0 used)) / 4096))
	same $(($(mm zram0 compacted) - compacted)) $won "pages_compacted" && at_least $won 100 "pages given back"
}

compacts_beside_readers() {
	pages write zram0 $n "$seed" && pages discard zram0 $n "$seed" 33 $kept || return
	compacted=$(mm zram0 compacted)
	loop sh -c "echo 1 >$sysfs/compact"
	reads_back "$seed" 33 $kept && reads_back "$seed" 33 $kept
	rc=$?
	stop_loops
	[ $rc = 0 ] && at_least "$(mm zram0 compacted)" $((compacted + 100)) pages_compacted
}

check "pages are written" writes
migrate_beside
check "mm_stat is what was written" holds zram0 $n "$seed"
migrate_at_rest
check "every byte is intact" reads_back "$seed"
case $(uname -r) in
6.*) if_has /sys/kernel/debug/zram/zram0/block_state "pages are marked idle" marks_idle_or_more ;;
*) if_has /sys/kernel/debug/zram/zram0/block_state "pages are marked idle" marks_idle ;;
esac
if_has /sys/kernel/debug/zram/zram0/block_state "pages that are read are not idle" reading_ends_idle
if_has $sysfs/recompress "idle pages are recompressed" recompresses_idle
if_has $sysfs/recompress "every byte is intact then" reads_back "$seed"
stop_loops
if_has $sysfs/recompress "mm_stat is what zsx says then" agrees zram0
migrate_beside
if_has $sysfs/recompress "pages are recompressed while they are read" recompresses_all
if_has $sysfs/recompress "every byte is intact after that" reads_back "$((seed + 1))"
stop_loops
if_has $sysfs/recompress "mm_stat is what zsx says after that" agrees zram0
if_has $sysfs/writeback "idle pages are written back, and read from there" writes_back
check "pages are discarded at random" discards
check "mm_stat is what zsx says with holes" agrees zram0
check "compact gives pages back, and all that it can" compacts
migrate_at_rest
check "what was kept is intact, the rest is zeroes" reads_back "$seed" 33 $kept
check "compact beside readers" compacts_beside_readers
check "mm_stat is what zsx says in the end" agrees zram0
ktap_print_msg "$(tr -s ' ' <$sysfs/mm_stat)"
finish
