# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# A part of the zram job: devices come and go, are in use at the same time, and are
# reset under load.

# shellcheck source=scripts/jobs/zram-lib.sh
. /zram/zram-lib.sh

begin 13

devices="1 2 3 4 5 6"
n=1024
wanted=20 # resets under load

adds() {
	for i in $devices; do
		same "$(cat $control/hot_add)" "$i" "hot_add" && disk "zram$i" 8 || return
	done
	same "$(find $debugfs -name stats | wc -l)" "$(echo "$devices" | wc -w)" pools
}

# At the same time; and that they don't see each other's data.
all_work() {
	for i in $devices; do
		pages both "zram$i" $n "$((seed * 100 + i))" || : >$tmp/bad &
	done
	wait
	migrate_at_rest
	for i in $devices; do
		pages check "zram$i" $n "$((seed * 100 + i))" || : >$tmp/bad
	done
	[ ! -e $tmp/bad ]
}

all_agree() {
	for i in $devices; do
		holds "zram$i" $n "$((seed * 100 + i))" && agrees "zram$i" || return
	done
}

# refused FILE VALUE
refused() {
	! (echo "$2" >"$1") 2>/dev/null || { echo "$1 took $2"; return 1; }
}

is_busy() {
	exec 3<>/dev/zram1 || return
	refused $control/hot_remove 1 && refused /sys/block/zram1/reset 1 && pages check zram1 $n "$((seed * 100 + 1))"
	rc=$?
	exec 3<&-
	return $rc
}

one_reset() {
	echo 1 >/sys/block/zram2/reset && [ ! -e $debugfs/zram2 ] && same "$(mm zram2 orig)" 0 orig_data_size &&
		all_but_2_work
}

all_but_2_work() {
	for i in 1 3 4 5 6; do
		pages check "zram$i" $n "$((seed * 100 + i))" || return
	done
}

works_again() {
	disk zram2 8 && pages both zram2 $n "$seed" && holds zram2 $n "$seed"
}

removes() {
	for i in $devices; do
		echo "$i" >$control/hot_remove && [ ! -e "/sys/block/zram$i" ] || return
	done
	same "$(ls $debugfs)" "" "pools that are left"
}

come_and_go() {
	round=0
	while [ $((round += 1)) -le 15 ]; do
		a=$(cat $control/hot_add) && b=$(cat $control/hot_add) && disk "zram$a" 8 && disk "zram$b" 8 &&
			pages both "zram$a" 200 "$round" || return
		pages both "zram$b" 200 "$round" &
		# In any order, with data and without; when nobody has it open.
		echo "$a" >$control/hot_remove || return
		wait $! && echo "$b" >$control/hot_remove || return
	done
	same "$(ls $debugfs)" "" "pools that are left"
}

# More than it may hold: some writes fail, what was stored stays, and nothing else.
keeps_its_limit() {
	disk zram0 16 && echo 2M >/sys/block/zram0/mem_limit || return
	pages write zram0 4096 "$seed" 2>/dev/null
	same $? 3 "device_pages: an error from the device" && between "$(mm zram0 used)" 1000000 2097152 mem_used_total &&
		agrees zram0 && echo 0 >/sys/block/zram0/mem_limit && pages both zram0 4096 "$seed" &&
		holds zram0 4096 "$seed" && echo 1 >/sys/block/zram0/reset
}

# --- reset under load ---

# Each writes pages of its own and reads them, with the device open: until it is done nobody
# can reset it. After a reset the device has no size: an error.
writer() { # NUMBER
	ok=0 errors=0
	while [ ! -e $stop ]; do
		pages both zram0 "$(($1 * 500))+$((100 + $1 * 50))" "$1" 2>>$tmp/said
		case $? in
		0) ok=$((ok + 1)) ;;
		3) errors=$((errors + 1)) ;;
		*) echo "writer $1: device_pages ended with $?" >>$tmp/bad; return ;;
		esac
		usleep 3000
	done
	echo "$ok $errors" >"$tmp/writer.$1"
}

# disksize and reset in turn, until both have gone through often enough.
resets_under_load() {
	rm -f $stop
	disk zram0 16
	for i in 1 2 3; do
		writer $i &
	done
	resets=0 refusals=0 tries=0
	while [ $((tries += 1)) -le 20000 ] && [ $resets -lt $wanted ]; do
		if (echo 1 >/sys/block/zram0/reset) 2>/dev/null; then
			resets=$((resets + 1))
			disk zram0 16 || echo "no disksize after reset $resets" >>$tmp/bad
			usleep 5000
		else
			refusals=$((refusals + 1))
			usleep 500
		fi
	done
	: >$stop
	wait
	rm -f $stop
	[ ! -e $tmp/bad ] || { cat $tmp/bad $tmp/said; return 1; }
	ok=$(cat $tmp/writer.* | awk '{ n += $1 } END { print n }')
	errors=$(cat $tmp/writer.* | awk '{ n += $2 } END { print n }')
	echo "$resets resets, $refusals refused; $ok times written and read, $errors with an error" | tee $tmp/counts
	same $resets $wanted resets && at_least $refusals 5 refusals && at_least "$ok" 20 "times written and read"
}

idle_after_load() {
	echo 1 >/sys/block/zram0/reset && same "$(ls $debugfs)" "" "pools that are left"
}

works_after_load() {
	disk zram0 16 && pages both zram0 4096 "$seed" && holds zram0 4096 "$seed" && agrees zram0
}

check "6 devices are added, each with a pool" adds
migrate_beside
check "they work at the same time" all_work
stop_loops
check "the mm_stat of each is what was written, and what zsx says" all_agree
check "a device in use is neither reset nor removed" is_busy
check "one is reset, the others keep their data" one_reset
check "it works again" works_again
check "all are removed, and their pools" removes
check "devices come and go" come_and_go
check "mem_limit is kept" keeps_its_limit
migrate_beside
check "reset under load" resets_under_load
ktap_print_msg "$(cat $tmp/counts)"
stop_loops
check "then it can be reset" idle_after_load
check "and works" works_after_load
check "zsx's recount is right" same "$(cat $debugfs/zram0/check)" ok check
finish
