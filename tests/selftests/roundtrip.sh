#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# What is stored comes back: files of all kinds through the consumer.

# shellcheck source=tests/selftests/lib.sh
. "$(dirname "$0")/lib.sh"

begin 17 zsx_consumer

load zsxmalloc && load zsx_consumer || exit 1
# The last class is for whole pages.
page=$(awk 'NR > 1 && NF == 18 { size = $2 } END { print size }' $pool/classes)

bytes() { # N SOURCE
	dd if="$2" bs="$page" count=$(($1 / page + 1)) 2>/dev/null | head -c "$1"
}

# stores FILE [BLOCK-SIZE]: into the empty pool, and looks at what is said of it.
stores() {
	size=$(wc -c <"$1") pages=$((($(wc -c <"$1") + page - 1) / page))
	echo 1 >"$consumer/reset" &&
		dd if="$1" of="$consumer/store" bs="${2:-$page}" 2>/dev/null || return
	same "$(report objects)" "$pages" objects &&
		same "$(report bytes_in)" "$size" bytes_in &&
		same "$(report verified_by_read)" "$pages" verified_by_read &&
		same "$(report verified_by_sg)" "$pages" verified_by_sg &&
		same "$(report verified_by_map)" "$pages" verified_by_map &&
		same "$(report mismatches)" 0 mismatches &&
		echo 1 >"$consumer/verify" &&
		same "$(report verified_by_map)" $((2 * pages)) "verified_by_map, then"
}

stores_raw() { # FILE
	stores "$1" &&
		same "$(report raw_objects)" "$(report objects)" raw_objects &&
		same "$(report pages_used)" "$(report objects)" pages_used
}

stores_dense() { # FILE
	stores "$1" && [ $(($(report bytes_stored) * 20)) -lt "$(report bytes_in)" ] &&
		[ $(($(report pages_used) * 20)) -lt "$(report objects)" ]
}

# The consumer, the pool's counters and the arithmetic must say the same.
counters_agree() {
	same "$(value objects "$pool/stats")" "$(report objects)" objects &&
		same "$(value pages "$pool/stats")" "$(report pages_used)" pages &&
		same "$(report bytes_held)" \
			$(($(report pages_used) * page + $(report handle_bytes) + \
			$(report descriptor_bytes) + $(report pool_bytes))) bytes_held &&
		same $(($(value mallocs "$pool/stats") - $(value frees "$pool/stats"))) \
			"$(report objects)" "mallocs - frees" &&
		same $(($(value pages_brought "$pool/stats") - \
			$(value pages_given_back "$pool/stats"))) \
			"$(report pages_used)" "pages_brought - pages_given_back" &&
		[ "$(value bytes_in_classes "$pool/stats")" -ge "$(report bytes_stored)" ]
}

stores_at_once() {
	echo 1 >"$consumer/reset"
	for _ in 1 2 3 4; do
		cat "$tmp/real" >"$consumer/store" &
	done
	wait
	pages=$((($(wc -c <"$tmp/real") + page - 1) / page))
	same "$(report objects)" $((4 * pages)) objects &&
		same "$(report verified_by_read)" $((4 * pages)) verified_by_read &&
		echo 1 >"$consumer/verify" && same "$(report mismatches)" 0 mismatches
}

frees_half() {
	n=$(report objects)
	echo half >"$consumer/free" && echo 1 >"$consumer/verify" &&
		same "$(report objects)" $(((n + 1) / 2)) objects && counters_agree
}

frees_at_random() {
	n=$(report objects)
	echo half-random 42 >"$consumer/free" && echo 1 >"$consumer/verify" &&
		[ "$(report objects)" -gt $((n / 4)) ] &&
		[ "$(report objects)" -lt $((n * 3 / 4)) ] && counters_agree
}

refuses() {
	fails sh -c "echo nonsense >$consumer/free" &&
		fails sh -c "echo half-random >$consumer/free" &&
		fails sh -c "echo 2 >$consumer/verify" &&
		fails sh -c "echo 0 >$consumer/reset" &&
		[ "$(report objects)" -gt 0 ]
}

nothing_is_left() {
	for name in objects pages zspages handle_bytes descriptor_bytes bytes_in_classes; do
		same "$(value "$name" "$pool/stats")" 0 "$name" || return
	done
	same "$(report pages_used)" 0 pages_used &&
		same "$(value frees "$pool/stats")" "$(value mallocs "$pool/stats")" frees
}

frees_all() {
	echo all >"$consumer/free" && nothing_is_left
}

resets() {
	cat "$tmp/real" >"$consumer/store" && [ "$(report objects)" -gt 0 ] &&
		echo 1 >"$consumer/reset" && nothing_is_left && same "$(report files)" 0 files
}

: >"$tmp/empty"
printf x >"$tmp/byte"
bytes "$page" "$(module_file zsxmalloc)" >"$tmp/page"
bytes $((page + 1)) "$(module_file zsxmalloc)" >"$tmp/page+1"
bytes $((64 * page)) /dev/urandom >"$tmp/random"
bytes $((256 * page)) /dev/zero >"$tmp/zeroes"
cat "$here"/*.sh >"$tmp/text"
# A program, and text beside it.
cat $program "$tmp/text" >"$tmp/real"

check "the pool is empty at first" nothing_is_left
check "an empty file" stores "$tmp/empty"
check "one byte" stores "$tmp/byte"
check "one page" stores "$tmp/page"
check "one page and a byte" stores "$tmp/page+1"
check "random bytes are stored as they are" stores_raw "$tmp/random"
check "zeroes are stored densely" stores_dense "$tmp/zeroes"
check "text" stores "$tmp/text"
check "a program" stores "$tmp/real"
check "written in blocks that are no pages" stores "$tmp/real" 1789
check "the counters agree" counters_agree
check "four writers at once" stores_at_once
check "every other object freed, the rest verified" frees_half
check "half of these freed at random, the rest verified" frees_at_random
check "the consumer refuses what it doesn't know" refuses
check "all freed" frees_all
check "reset" resets
ktap_finished
