# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# A part of the zram job: swap under memory pressure.

# shellcheck source=scripts/jobs/zram-lib.sh
. /zram/zram-lib.sh

begin 9

free_mb() {
	awk '$1 == "MemAvailable:" { print int($2 / 1024) }' /proc/meminfo
}

held=$tmp/held

more=$(($(free_mb) * 3 / 2))

swaps_on() {
	disk zram0 $((more * 2)) && mkswap /dev/zram0 >/dev/null && swapon /dev/zram0
}

# More than is free, by three processes, while pages are migrated; then all rests, with
# the memory still held.
touches_more() {
	migrate_beside
	/zsx/touch_more --mb $more --processes 3 --rounds "$rounds" --seed "$seed" --hold $held >$tmp/log 2>&1 &
	toucher=$!
	while [ ! -e $held ] && kill -0 $toucher 2>/dev/null; do
		usleep 200000
	done
	: >$stop
}

# /proc/swaps counts slots in KiB; of each that was written zram holds a page, and the header.
swapped_pages() {
	awk 'NR == 2 { print $4 / 4 }' /proc/swaps
}

went_to_swap() {
	out=$(($(vmstat pswpout) - pswpout)) in=$(($(vmstat pswpin) - pswpin))
	echo "$out pages went out, $in came back"
	at_least $out $(((more - free) * 256)) pswpout && at_least $in $(((more - free) * 256)) pswpin
}

# It can be short of slots only where a page has one and was not written to it yet.
zram_has_them() {
	between $(($(mm zram0 orig) / 4096)) $(($(swapped_pages) * 9 / 10)) $(($(swapped_pages) + 1)) \
		"pages that zram holds" && at_least $(($(mm zram0 orig) / 4096)) $(((more - free) * 256)) \
		"pages that zram holds"
}

compresses() {
	between "$(mm zram0 compr)" $(($(mm zram0 orig) / 4)) $(($(mm zram0 orig) / 2)) compr_data_size
}

swaps_off() {
	swapoff /dev/zram0 && between $(($(mm zram0 orig) / 4096)) 0 1 "pages that are left: the header"
}

free=$(free_mb)
pswpout=$(vmstat pswpout) pswpin=$(vmstat pswpin)
check "zram is swap" swaps_on
touches_more
migrate_at_rest
check "pages went to swap, and came back" went_to_swap
check "zram holds them" zram_has_them
check "compressed as can be expected" compresses
check "mm_stat is what zsx says" soon agrees zram0
check "pages of zsx's were migrated" at_least "$(stat_of zram0 pages_migrated)" 1 pages_migrated
ktap_print_msg "$(tr -s ' ' </sys/block/zram0/mm_stat), $(went_to_swap), $(stat_of zram0 pages_migrated) of zsx's pages migrated"
rm -f $held
wait $toucher
touched=$?
ktap_print_msg "$(cat $tmp/log)"
check "every byte is intact" same "$touched $(grep -c ' 0 mismatches' $tmp/log)" "0 1" "touch_more"
check "and after swapoff all is freed" swaps_off
check "zsx's recount is right" same "$(cat $debugfs/zram0/check)" ok check
finish
