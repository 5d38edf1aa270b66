#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Load, unload, reload; unloading is refused while somebody uses zsx.

# shellcheck source=tests/selftests/lib.sh
. "$(dirname "$0")/lib.sh"

begin 7 zsx_consumer

loads() {
	load zsxmalloc && is_loaded zsxmalloc && [ -d /sys/kernel/debug/zsx ]
}

unloads() {
	rmmod zsxmalloc && fails is_loaded zsxmalloc &&
		[ ! -e /sys/kernel/debug/zsx ] && fails grep '^zsx' /proc/slabinfo
}

reloads() {
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		loads && unloads || return
	done
}

says_what_it_is() {
	tr '\0' '\n' <"$(module_file zsxmalloc)" >"$tmp/info"
	for line in '^license=GPL$' '^description=.' '^parm=chain_limit:.' '^version=.'; do
		grep -aq "$line" "$tmp/info" || { echo "no $line"; return 1; }
	done
}

stays_while_used() {
	loads && load zsx_consumer &&
		fails rmmod zsxmalloc && is_loaded zsxmalloc &&
		cat "$0" >"$consumer/store" && echo 1 >"$consumer/verify"
}

consumer_stays_while_open() {
	(
		exec 3>"$consumer/store"
		fails rmmod zsx_consumer && is_loaded zsx_consumer
	)
}

goes_after_its_user() {
	log_mark
	rmmod zsx_consumer && unloads && logged 'live objects' 0
}

check "the module says what it is" says_what_it_is
check "load" loads
check "unload" unloads
check "load and unload ten times" reloads
check "unloading is refused while a consumer is loaded" stays_while_used
check "the consumer stays while its file is open" consumer_stays_while_open
check "unload after a consumer that held objects" goes_after_its_user
ktap_finished
