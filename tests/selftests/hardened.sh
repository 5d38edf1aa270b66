#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# hardened=1 and 2: each bad handle is refused and told of, and nothing is written to.

# shellcheck source=tests/selftests/lib.sh
. "$(dirname "$0")/lib.sh"

level=/sys/module/zsxmalloc/parameters/hardened
refused='zsx: pool zsx_misuse: (free|access) of handle [0-9a-f]+ \(class -?[0-9]+\) refused: '

begin 16 zsx_misuse

load zsxmalloc hardened=1 && load zsx_misuse || exit 1

# No WARN, and no silence.
tells() { # MISUSE [WHY]
	provoke "$1" && logged "$refused${2-}" && logged 'WARNING:' 0
}

becomes() { # LEVEL
	echo "$1" >"$level" && same "$(cat "$level")" "$1"
}

stays() { # VALUE: it is refused
	old=$(cat "$level")
	! echo "$1" 2>/dev/null >"$level" && same "$(cat "$level")" "$old"
}

remembers() {
	tells double-free && logged 'zsx: it was freed last by pid [0-9]+' || return
	# Twice the same way, where the kernel can tell (UML can't).
	n=$(log_since | grep -c try_double_free)
	[ "$n" != 1 ] || { echo "the stack is told once"; return 1; }
}

# Reports are limited in number; a test's must not lack for that of those before.
rest() {
	sleep 6
}

check "it is what it was loaded with" same "$(cat "$level")" 1
check "a double free is told of" tells double-free
check "and again" tells double-free
check "and among many" tells double-free-in-bulk
rest
check "a free through another pool" tells foreign-free 'its object is not of this pool'
check "access through another pool" tells foreign-access 'its object is not of this pool'
rest
check "access to a freed object" tells access-freed
rest
check "addresses that are no handle's" tells wild-handles "it is no handle's address"
rest
check "0 and errors are nothing" says_nothing free-error
check "3 is refused" stays 3
check "-1 is refused" stays -1
check "words are refused" stays fully
rest
check "2 remembers" becomes 2
check "who freed it is told" remembers
check "0 is as ever" becomes 0
check "no pool is left" unload_zsx
ktap_finished
