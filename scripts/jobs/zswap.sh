# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# Guest job: compile the objects of /load/names with less memory than that needs,
# on a tmpfs, with zswap, and compare them with /load/sums. Figures are told as
# "figure: NAME VALUE". Arguments: zsmalloc or zsx, memory.max in MB or "max",
# compilers at a time, and what to store them with.

provider=$1 limit=$2 jobs=$3 compressor=$4
zswap=/sys/kernel/debug/zswap
params=/sys/module/zswap/parameters
cgroups=/sys/fs/cgroup
cgroup=$cgroups/compile
tree=/tmp/tree
peak=/tmp/peak
stop=/tmp/stop

fail() {
	echo "FAIL: $*"
	exit 1
}

figure() {
	echo "figure: $*"
}

vmstat() {
	awk -v name="$1" '$1 == name { print $2 }' /proc/vmstat
}

# Of the cgroup: field FILE NAME
field() {
	awk -v name="$2" '$1 == name { print $2 }' "$cgroup/$1"
}

# Only one of the two has these calls in its kernel.
is_provided_by() {
	case $1 in
	zsx) grep -q ' zsx_malloc$' /proc/kallsyms && ! grep -q ' zs_malloc$' /proc/kallsyms ;;
	zsmalloc) grep -q ' zs_malloc$' /proc/kallsyms && ! grep -q ' zsx_malloc$' /proc/kallsyms ;;
	*) false ;;
	esac
}

# zsx looks over all its zspages.
check_pool() {
	[ "$provider" = zsx ] || return 0
	[ "$(cat /sys/kernel/debug/zsx/zswap1/check)" = ok ] ||
		fail "$1: $(cat /sys/kernel/debug/zsx/zswap1/check)"
}

# A disk, as far as the kernel knows: a RAM disk is swapped to by a way of its own.
start_swap() {
	mkdir /tmp/disk
	mount -t ramfs ramfs /tmp/disk
	truncate -s 2G /tmp/disk/swap
	loop=$(losetup -f)
	losetup "$loop" /tmp/disk/swap && mkswap "$loop" >/dev/null && swapon "$loop"
}

start_zswap() {
	echo "$compressor" >$params/compressor &&
		echo 50 >$params/max_pool_percent &&
		echo Y >$params/shrinker_enabled &&
		echo Y >$params/enabled
}

make_cgroup() {
	mount -t cgroup2 cgroup2 $cgroups &&
		echo +memory >$cgroups/cgroup.subtree_control &&
		mkdir $cgroup || return
	[ "$limit" = max ] || echo "${limit}M" >$cgroup/memory.max
}

# Each second: pages stored, and the bytes that the pool takes for them; the line
# with the most bytes is kept.
watch_pool() {
	most=0
	while [ ! -e $stop ]; do
		stored=$(cat $zswap/stored_pages)
		bytes=$(cat $zswap/pool_total_size)
		if [ "$bytes" -gt "$most" ]; then
			most=$bytes
			echo "$stored $bytes" >$peak
		fi
		sleep 1
	done
}

compile() {
	# shellcheck disable=SC2046 # a word per object
	(
		echo 0 >$cgroup/cgroup.procs
		cd $tree && exec make -s -j"$jobs" -f /load/compile.mk $(cat /load/names)
	)
}

# In hundredths of a second, which is all that busybox has.
now() {
	awk '{ print $1 * 100 }' /proc/uptime
}

is_provided_by "$provider" || fail "this kernel's zswap does not store in $provider"
export PATH=/bin:/usr/bin LC_ALL=C TMPDIR=/tmp
cp -a /obj $tree || fail "no tree"
start_swap || fail "no swap"
start_zswap || fail "no zswap"
make_cgroup || fail "no cgroup"
echo "0 0" >$peak
watch_pool &

echo "mark: compiling"
start=$(now)
compile
rc=$?
end=$(now)
echo "mark: compiled"
touch $stop
wait
check_pool "after compiling"
[ $rc = 0 ] || fail "the compilation failed"

figure wall_ms $(((end - start) * 10))
# UML takes programs for a part of the kernel; scripts/zswap looks at it from outside.
if [ "$(field cpu.stat user_usec)" -gt 0 ]; then
	figure user_ms $(($(field cpu.stat user_usec) / 1000))
	figure sys_ms $(($(field cpu.stat system_usec) / 1000))
fi
figure zswap_out "$(field memory.stat zswpout)"
figure zswap_in "$(field memory.stat zswpin)"
figure written_back "$(field memory.stat zswpwb)"
figure swapped_past_zswap "$(vmstat pswpout)"
figure major_faults "$(field memory.stat pgmajfault)"
figure memory_peak "$(cat $cgroup/memory.peak)"
figure swap_peak "$(cat $cgroup/memory.swap.peak)"
read -r stored bytes <$peak
figure peak_stored_pages "$stored"
figure peak_pool_bytes "$bytes"
for counter in "$zswap"/reject_* $zswap/decompress_fail $zswap/pool_limit_hit; do
	figure "${counter##*/}" "$(cat "$counter")"
done
[ "$(field memory.events oom_kill)" = 0 ] || fail "memory ran out"
[ "$limit" = max ] || [ "$(field memory.stat zswpin)" -gt 0 ] || fail "nothing came back from zswap"
[ "$(cat $zswap/decompress_fail)" = 0 ] || fail "zswap couldn't give back what it got"

# What of them is swapped out comes back through zswap now.
(cd $tree && sha256sum -c /load/sums) >/tmp/sums || {
	grep -v ': OK$' /tmp/sums | head
	fail "objects are not as without want of memory"
}
same=$(wc -l </tmp/sums)
[ "$same" = "$(wc -l </load/names)" ] || fail "$same objects were compared"
figure objects "$same"

# Nothing is left when all is gone.
rm -rf $tree
swapoff "$loop" || fail "swap can't be ended"
[ "$(cat $zswap/stored_pages)" = 0 ] || fail "zswap still has $(cat $zswap/stored_pages) pages"
cat /proc/sys/vm/stat_refresh # what each CPU has counted comes together
[ "$(vmstat nr_zspages)" = 0 ] || fail "$provider still has $(vmstat nr_zspages) pages"
check_pool "when all is gone"
