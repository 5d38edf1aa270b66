# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# Guest job: zsx is built in and could not start (chain_limit=17). Its callers, built in
# too, are told so, and nothing else happens.

fail() {
	echo "FAIL: $*"
	exit 1
}

said() {
	dmesg | grep -q "$1" || fail "the kernel's log has no '$1'"
}

said 'zsx: no size classes: chain_limit=17'
echo 64M >/sys/block/zram0/disksize 2>/dev/null && fail "zram has a disk"
said 'zsx: no pool zram0: zsx could not start'
[ "$(cat /sys/block/zram0/disksize)" = 0 ] || fail "zram has a disk's size"
echo "zram: no disk, as there is no pool"
