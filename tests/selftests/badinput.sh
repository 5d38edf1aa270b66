#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Bad input gets a clear answer, and nothing is lost: zsx_misuse provokes it, and
# looks at the pool and at the objects beside.

# shellcheck source=tests/selftests/lib.sh
. "$(dirname "$0")/lib.sh"


begin 26 zsx_misuse

load zsxmalloc && load zsx_misuse || exit 1

says() { # MISUSE REGEX [TIMES]: once, if not told
	provoke "$1" && logged "$2" "${3:-1}"
}

check "malloc of 0 bytes" says_nothing size-0
check "malloc of too many bytes, up to SIZE_MAX" says_nothing size-too-large
check "malloc of many, one of a wrong size" says_nothing bulk-sizes
check "free of 0" says_nothing free-null
check "free of each error" says_nothing free-error

# One of each kind while the module is loaded.
warn_will_come 'zsx: pool zsx_misuse: access to [0-9]* bytes of'
check "a write too long is warned of" says write-too-long 'zsx: pool zsx_misuse: access to [0-9]+ bytes of'
check "and again: once is enough" says_nothing write-too-long
check "a read too long" says_nothing read-too-long
warn_will_come 'zsx: access by no handle'
check "access by handle 0" says access-null 'zsx: access by no handle'
check "access by an error" says_nothing access-error
warn_will_come 'zsx: access to an object that was freed'
check "access to a freed object" says access-freed 'zsx: access to an object that was freed'
check "access to another pool's object" says_nothing foreign-access
warn_will_come 'zsx: pool zsx_misuse: free of an object that was freed'
check "a double free" says double-free 'zsx: pool zsx_misuse: free of an object that was freed'
check "and again: once is enough" says_nothing double-free
check "and among many" says_nothing double-free-in-bulk
check "free of another pool's object" says_nothing foreign-free
check "and among many" says_nothing foreign-free-in-bulk

check "a pool's name twice" says_nothing same-name
check "a pool's name of 300 bytes" says_nothing long-name
check "odd names" says_nothing odd-names
check "no name" says no-name 'zsx: a pool needs a name' 2
check "destroying no pool" says_nothing destroy-null

check "allocation that may not wait" says_nothing nowait
# All of the memory of a large machine is not for a test to take.
memory=$(awk '$1 == "MemTotal:" { print $2 }' /proc/meminfo)
if [ "$memory" -le $((4 << 20)) ]; then
	echo $((memory / 4)) >/sys/module/zsx_misuse/parameters/exhaust_count
	check "allocation until memory is short" says_nothing exhaust
else
	ktap_test_skip "allocation until memory is short"
fi
check "what zsx_misuse doesn't know fails" fails sh -c "echo nonsense >$misuse 2>/dev/null"
check "no pool is left" unload_zsx
ktap_finished
