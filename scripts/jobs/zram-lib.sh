# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# What the parts of the zram job share. Sourced by each; for busybox sh. It reads $seed,
# $rounds and $zram, the driver's file. Modules and programs are in /zsx, this and the parts in /zram.

# shellcheck source=tests/selftests/ktap.sh
. /zram/ktap.sh

# shellcheck disable=SC2034 # these are for the parts
{
	debugfs=/sys/kernel/debug/zsx
	control=/sys/class/zram-control
}
tmp=/tmp/zram-part
stop=$tmp/stop

# check WHAT COMMAND...: a case, in a subshell; its output is shown if it fails.
check() {
	what=$1
	shift
	if out=$("$@" 2>&1); then
		ktap_test_pass "$what"
	else
		ktap_print_msg "$out"
		ktap_test_fail "$what"
	fi
}

fails() {
	! "$@"
}

# same A B [WHAT]
same() {
	[ "$1" = "$2" ] || { echo "${3:+$3: }$1 is not $2"; return 1; }
}

# at_least A B WHAT
at_least() {
	[ "$1" -ge "$2" ] || { echo "$3: $1 is less than $2"; return 1; }
}

# between A LOW HIGH WHAT
between() {
	at_least "$1" "$2" "$4" && { [ "$1" -le "$3" ] || { echo "$4: $1 is more than $3"; return 1; }; }
}

# soon COMMAND...: within 10 s.
soon() {
	tries=0
	until out=$("$@" 2>&1); do
		[ $((tries += 1)) -lt 50 ] || { echo "$out"; return 1; }
		usleep 200000
	done
}

# --- a part ---

# begin CASES: loads zsx and zram; the cases of finish are not counted.
begin() {
	: "${seed:?}" "${rounds:?}" "${zram:?}"
	rm -rf $tmp
	mkdir $tmp || exit
	trap 'stop_loops' EXIT # also if it ends too soon
	ktap_print_header
	ktap_set_plan $(($1 + 3))
	insmod /zsx/zsxmalloc.ko && insmod "/zsx/$zram.ko" num_devices=1 || exit
}

# zram is gone, and so is all that it had of zsx.
unloads() {
	[ ! -d /sys/module/zram ] || rmmod zram || return
	same "$(ls $debugfs)" "" "pools that are left" && has_no_slab_objects && rmmod zsxmalloc &&
		[ ! -e $debugfs ] && same "$(nr_zspages)" 0 nr_zspages || return
	for cache in /sys/kernel/slab/zsx_*; do
		[ ! -e "$cache" ] || { echo "a slab cache is left: $cache"; return 1; }
	done
}

# All devices are reset, with zram still loaded.
nothing_is_left() {
	same "$(ls $debugfs)" "" "pools that are left" && same "$(nr_zspages)" 0 nr_zspages &&
		has_no_slab_objects || return
	for dev in /sys/block/zram*; do
		same "$(cut -c 1-26 "$dev/mm_stat" | tr -s ' ')" " 0 0 0" "${dev##*/}: mm_stat" || return
	done
}

all_reset() {
	for dev in /sys/block/zram*; do
		echo 1 >"$dev/reset" || return
	done
}

# The last cases of each part; its status is the part's.
finish() {
	stop_loops
	check "every device can be reset" all_reset
	check "after that nothing is left" nothing_is_left
	check "zram and zsx can be unloaded, and nothing is left" unloads
	(ktap_finished)
}

# --- beside ---

# loop COMMAND...: until $stop exists.
loop() {
	rm -f $stop
	(
		while [ ! -e $stop ]; do
			"$@"
		done
	) >/dev/null 2>&1 &
}

compact_memory() {
	echo 1 >/proc/sys/vm/compact_memory
	usleep 20000
}

# In UML, a process that runs while its memory is migrated may lose what it writes, with or
# without zram and zsx: there pages are migrated while no other process runs.
is_uml() {
	grep -q 'User Mode Linux' /proc/cpuinfo
}

migrate_beside() {
	is_uml || loop compact_memory
}

migrate_at_rest() {
	for _ in 1 2 3; do
		compact_memory
	done
}

stop_loops() {
	: >$stop
	wait
}

# --- numbers ---

# Of all zones; CPUs have to be asked for theirs.
nr_zspages() {
	cat /proc/sys/vm/stat_refresh >/dev/null 2>&1
	awk '$1 == "nr_zspages" { n += $2 } END { print n + 0 }' /proc/zoneinfo
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
	echo "slab objects that are left:"
	awk '$1 ~ /^zsx_/ && $2 > 0' /proc/slabinfo
	return 1
}

vmstat() { # NAME
	awk -v name="$1" '$1 == name { print $2 }' /proc/vmstat
}

stat_of() { # DEVICE NAME
	awk -v name="$2" '$1 == name { print $2 }' "$debugfs/$1/stats"
}

# mm DEVICE NAME
mm() {
	# shellcheck disable=SC2046 # a word per column
	set -- "$2" $(cat "/sys/block/$1/mm_stat")
	case $1 in
	orig) echo "$2" ;;
	compr) echo "$3" ;;
	used) echo "$4" ;;
	same) echo "$7" ;;
	compacted) echo "$8" ;;
	huge) echo "$9" ;;
	esac
}

# agrees DEVICE: at rest, mm_stat says what zsx says, and zsx's recount of itself.
agrees() {
	same "$(cat "$debugfs/$1/check")" ok check &&
		same "$(mm "$1" used)" $(($(stat_of "$1" pages) * 4096)) "mem_used_total, zsx's pages" &&
		same "$(mm "$1" compacted)" "$(stat_of "$1" pages_compacted)" pages_compacted &&
		same "$(mm "$1" orig)" $((($(stat_of "$1" objects) + $(mm "$1" same)) * 4096)) \
			"orig_data_size, zsx's objects and pages of one word" || return
	# A class is the object's size rounded up. Objects of a page are never rounded.
	compr=$(mm "$1" compr)
	between "$(stat_of "$1" bytes_in_classes)" "$compr" $((compr * 11 / 10)) "bytes in classes"
	# Of what the classes hold, all is on pages.
	at_least "$(mm "$1" used)" "$(stat_of "$1" bytes_in_classes)" "mem_used_total" &&
		awk -v pages="$(stat_of "$1" pages)" -v objects="$(stat_of "$1" objects)" '
		$1 == "Total" && ($14 != objects || $15 != pages) {
			print "classes: " $14 " objects, " $15 " pages, not " objects ", " pages
			bad = 1
		}
		END { exit bad }' "$debugfs/$1/classes"
}

# No class has a page more than its objects need.
is_compact() { # DEVICE
	awk 'NF == 18 && $18 != 0 && $1 != "class" { print; bad = 1 } END { exit bad }' \
		"$debugfs/$1/classes"
}

# --- devices ---

# disk DEVICE MB [ALGORITHM]
disk() {
	[ -z "${3-}" ] || echo "$3" >"/sys/block/$1/comp_algorithm" || return
	echo "${2}M" >"/sys/block/$1/disksize"
}

has_algorithm() { # DEVICE NAME
	tr -d '[]' <"/sys/block/$1/comp_algorithm" | grep -qw -- "$2"
}

# The fastest of those that look for repetitions, as the patterns expect.
fast_algorithm() { # DEVICE
	for algorithm in lzo-rle lz4; do
		! has_algorithm "$1" $algorithm || { echo $algorithm; return; }
	done
}

pages() { # COMMAND DEVICE PAGES [SEED [PERCENT [KEPT]]]
	verb=$1 device=$2
	shift 2
	/zsx/device_pages "$verb" "/dev/$device" "$@"
}

# holds DEVICE PAGES [SEED]: mm_stat is what device_pages has written, and nothing else was
# done with it.
holds() {
	# shellcheck disable=SC2046 # "pages N same N huge N random_bytes N"
	set -- "$1" $(pages count "$@")
	same "$(mm "$1" orig)" $(($3 * 4096)) orig_data_size && same "$(mm "$1" same)" "$5" same_pages &&
		between "$(mm "$1" huge)" "$7" $(($7 + $3 / 20)) huge_pages &&
		between "$(mm "$1" compr)" "$9" $(($9 * 110 / 100 + $3 * 100)) compr_data_size
}
