#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# A pool destroyed with live objects: one message; the objects stay valid; zsx
# stays loaded for good. The last test, as none can load zsx anew after it.

# shellcheck source=tests/selftests/lib.sh
. "$(dirname "$0")/lib.sh"

begin 4 zsx_misuse zsx_consumer

load zsxmalloc && load zsx_misuse || exit 1

cleanup() {
	unload zsx_consumer zsx_misuse
	rm -rf "$tmp"
}

leaks() {
	log_mark
	echo leak-pool >/sys/kernel/debug/zsx_misuse/do || { log_since; return 1; }
	logged 'zsx: pool zsx_misuse destroyed with 65 live objects in 1 classes, 65 of them in class [0-9]+ of [0-9]+ bytes; it is kept' 1 &&
		logged 'zsx: ' 1 && [ ! -e /sys/kernel/debug/zsx/zsx_misuse.2 ]
}

stays_loaded() {
	rmmod zsx_misuse && fails rmmod zsxmalloc && is_loaded zsxmalloc
}

another_works() {
	load zsx_consumer && cat "$here"/*.sh >"$consumer/store" &&
		echo 1 >"$consumer/verify" && [ "$(report verified_by_read)" -gt 0 ] &&
		same "$(report mismatches)" 0 mismatches
}

goes() {
	rmmod zsx_consumer && same "$(ls /sys/kernel/debug/zsx)" "" "what is in debugfs"
}

check "a leaked pool is named, and its objects stay valid" leaks
check "zsx can't be unloaded" stays_loaded
check "another pool works" another_works
check "and goes" goes
ktap_finished
