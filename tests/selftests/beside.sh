#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# zsx beside in-tree zsmalloc: both are loaded, in either order, and callers that
# were written for <linux/zsmalloc.h> run on each at the same time.

# shellcheck source=tests/selftests/lib.sh
. "$(dirname "$0")/lib.sh"

begin 6 zsx_client zsx_client_new

# The caller that this kernel's zsmalloc has the calls for.
if module_file zsmalloc_client >/dev/null; then
	intree=zsmalloc_client
else
	intree=zsmalloc_client_new
fi

load_zsmalloc() {
	modprobe -q zsmalloc 2>/dev/null || insmod /lib/zsmalloc.ko
}

# A client does its work while it is loaded, and fails to if a byte is wrong.
client_works() { # NAME
	log_mark
	load "$1" && logged "$1: ([0-9]+) objects in [0-9]+ pages, 5000 intact" 1 && rmmod "$1"
}

both_work() {
	client_works zsx_client && client_works "$intree" && client_works zsx_client_new
}

# From 6.17 on, zsmalloc can't be loaded if zsx has the page type: movement.sh.
zsx_first() {
	load zsxmalloc movable=off && load_zsmalloc && is_loaded zsmalloc && both_work
}

zsmalloc_first() {
	unload zsxmalloc && load zsxmalloc && both_work
}

work_at_once() {
	log_mark
	for client in zsx_client zsx_client_new $intree; do
		load "$client" &
	done
	wait
	for client in zsx_client zsx_client_new $intree; do
		logged "$client: ([0-9]+) objects in [0-9]+ pages, 5000 intact" 1 &&
			rmmod "$client" || return
	done
}

# skip_or_check WHAT COMMAND...: a case that takes zsmalloc as a module.
skip_or_check() {
	if module_file $intree >/dev/null && unload zsmalloc 2>/dev/null; then
		check "$@"
	else
		ktap_test_skip "$1"
	fi
}

load zsxmalloc || exit 1
check "a caller in the style of 6.1 on zsx" client_works zsx_client
check "a caller in the style of 7.3 on zsx" client_works zsx_client_new
unload zsxmalloc
skip_or_check "zsx first, then zsmalloc" zsx_first
unload zsxmalloc
if module_file $intree >/dev/null && { is_loaded zsmalloc || load_zsmalloc; } 2>/dev/null; then
	check "zsmalloc first, then zsx" zsmalloc_first
	check "callers of both at the same time" work_at_once
else
	ktap_test_skip "zsmalloc first, then zsx"
	ktap_test_skip "callers of both at the same time"
fi
check "zsx goes, whatever became of zsmalloc" unload_zsx
ktap_finished
