#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# The module's parameters: what they may be, and what comes of it.

# shellcheck source=tests/selftests/lib.sh
. "$(dirname "$0")/lib.sh"

begin 10 zsx_consumer

parameter=/sys/module/zsxmalloc/parameters/chain_limit

# The longest zspage of all classes.
longest() {
	awk 'NR > 1 && NF == 18 && $17 > max { max = $17 } END { print max }' "$pool/classes"
}

works_with() { # CHAIN-LIMIT PARAMETER...
	limit=$1
	shift
	load zsxmalloc "$@" && load zsx_consumer &&
		same "$(cat "$parameter")" "$limit" chain_limit &&
		same "$(longest)" "$limit" "pages of the longest zspage" &&
		cat "$0" "$(module_file zsxmalloc)" >"$consumer/store" &&
		echo 1 >"$consumer/verify" &&
		same "$(report mismatches)" 0 mismatches &&
		[ "$(report verified_by_sg)" -gt 0 ] &&
		unload_zsx
}

# busybox insmod tries twice.
is_refused() { # VALUE [MESSAGE]
	log_mark
	fails load zsxmalloc "chain_limit=$1" && fails is_loaded zsxmalloc &&
		[ ! -e /sys/kernel/debug/zsx ] && { [ -z "${2-}" ] || logged "$2"; }
}

consumer_names_its_pool() {
	load zsxmalloc && load zsx_consumer pool=a/b && [ -d '/sys/kernel/debug/zsx/a!b' ] &&
		cat "$0" >"$consumer/store" &&
		echo 1 >"$consumer/verify" && unload_zsx
}

check "chain_limit is 16 if not given" works_with 16
for n in 1 4 8 16; do
	check "chain_limit=$n" works_with $n chain_limit=$n
	unload_zsx
done
check "chain_limit=0 is refused" is_refused 0 'zsx: no size classes: chain_limit=0 '
check "chain_limit=17 is refused" is_refused 17 'zsx: no size classes: chain_limit=17 '
check "chain_limit=-1 is refused" is_refused -1
check "chain_limit=many is refused" is_refused many
check "the consumer's pool by another name" consumer_names_its_pool
ktap_finished
