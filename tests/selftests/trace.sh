#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# The tracepoints: what they tell is what the pool's own counters say.

# shellcheck source=tests/selftests/lib.sh
. "$(dirname "$0")/lib.sh"

tracing=/sys/kernel/tracing
pool=/sys/kernel/debug/zsx/zsx_density

[ -d "$tracing/events" ] || mount -t tracefs tracefs "$tracing" 2>/dev/null
[ -d "$tracing/events" ] || skip_all "this kernel has no tracefs"

begin 6 zsx_density
unload zsmalloc 2>/dev/null

trap 'stop_tracing; cleanup' EXIT

stop_tracing() {
	[ ! -d "$tracing/events/zsx" ] || echo 0 >"$tracing/events/zsx/enable"
	echo >"$tracing/trace"
}

trace() { # EVENT...: from now on, and nothing else
	stop_tracing
	for event; do
		echo 1 >"$tracing/events/zsx/$event/enable" || return
	done
}

# told EVENT [FIELD=VALUE]: how many
told() {
	grep -F ": $1: " "$tracing/trace" | grep -cE "${2:-.}( |$)"
}

# sum_told EVENT FIELD
sum_told() {
	grep -F ": $1: " "$tracing/trace" | sed "s/.* $2=\(-*[0-9]*\).*/\1/" |
		awk '{ n += $1 } END { printf "%d\n", n }'
}

# What fits into the buffers is all that there was.
all_is_there() {
	awk '/entries-in-buffer/ { split($3, n, "/"); bad = n[1] != n[2] } END { exit bad }' "$tracing/trace" ||
		{ echo "events were lost"; return 1; }
}

# --- cases ---

has_events() {
	same "$(cd "$tracing/events/zsx" && echo ./*/)" \
		"./zsx_compact/ ./zsx_compact_class/ ./zsx_migrate_page/ ./zsx_pool_create/ ./zsx_pool_destroy/ ./zsx_zspage_build/ ./zsx_zspage_free/"
}

tells_of_pools() {
	trace zsx_pool_create zsx_pool_destroy && load zsx_density &&
		same "$(told zsx_pool_create pool=zsx_density) $(told zsx_pool_destroy)" "1 0" &&
		unload zsx_density &&
		same "$(told zsx_pool_create) $(told zsx_pool_destroy pool=zsx_density)" "1 1"
}

tells_of_zspages() {
	load zsx_density && trace zsx_zspage_build zsx_zspage_free &&
		do_density "fill 20000 uniform 7" && do_density "thin 14000 8" || return
	same $(($(told zsx_zspage_build) - $(told zsx_zspage_free))) "$(stat_of zspages)" \
		"zspages built and not freed" && [ "$(told zsx_zspage_free)" -gt 0 ] &&
		do_density reset && all_is_there &&
		same "$(told zsx_zspage_build)" "$(told zsx_zspage_free)" "in the end"
}

tells_of_compaction() {
	do_density "fill 20000 uniform 7" && do_density "thin 14000 8" &&
		trace zsx_compact zsx_compact_class && before=$(stat_of pages) && do_density compact &&
		all_is_there || return
	same "$(sum_told zsx_compact pages_freed)" $((before - $(stat_of pages))) "pages freed" &&
		same "$(sum_told zsx_compact_class pages_freed)" $((before - $(stat_of pages))) \
			"pages freed, class by class" &&
		same "$(sum_told zsx_compact_class objects_copied)" "$(stat_of objects_copied)" copied &&
		[ "$(stat_of objects_copied)" -gt 0 ]
}

tells_of_migration() {
	trace zsx_migrate_page && until_migrated zsx_density refill && all_is_there &&
		same "$(told zsx_migrate_page err=0)" "$(stat_of pages_migrated)" "pages migrated"
}

hides_addresses() {
	trace zsx_zspage_build && do_density reset && do_density "fill 100 uniform 3" &&
		[ "$(told zsx_zspage_build)" -gt 0 ] && fails grep 'zspage=ffff' "$tracing/trace"
}

echo 8192 >"$tracing/buffer_size_kb"
load zsxmalloc || exit 1

check "the tracepoints are there" has_events
check "pools come and go" tells_of_pools
check "each zspage that is built is freed" tells_of_zspages
check "compaction, with its result" tells_of_compaction
if [ "$(cat /sys/module/zsxmalloc/parameters/movable)" = on ]; then
	check "pages that were migrated" tells_of_migration
else
	ktap_test_skip "pages that were migrated"
fi
check "no address as it is" hides_addresses
ktap_finished
