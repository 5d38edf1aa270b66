# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# What the tests share. Sourced by each; for dash and busybox sh.
#
# The modules are looked for in $ZSX_MODULES, and where a build leaves them.

here=$(dirname "$0")
# shellcheck source=tests/selftests/ktap.sh
. "$here/ktap.sh"

# shellcheck disable=SC2034 # these are for the tests
{
	consumer=/sys/kernel/debug/zsx_consumer
	pool=/sys/kernel/debug/zsx/zsx_consumer
	program=/proc/$$/exe # the shell: a real program, on any machine
}

# --- modules ---

module_file() {
	for dir in "${ZSX_MODULES:-.}" "$here/../.." "$here/.."; do
		[ ! -f "$dir/$1.ko" ] || { echo "$dir/$1.ko"; return 0; }
	done
	return 1
}

load() { # NAME [PARAMETER=VALUE]...
	file=$(module_file "$1") || return
	shift
	insmod "$file" "$@"
}

is_loaded() {
	grep -q "^$1 " /proc/modules
}

unload() { # NAME...: those of them that are loaded
	for module in "$@"; do
		! is_loaded "$module" || rmmod "$module" || return
	done
}

unload_zsx() {
	unload zsx_client zsx_client_new zsx_consumer zsx_density zsx_misuse zsxmalloc
}

# --- a test ---

skip_all() {
	ktap_print_header
	ktap_skip_all "$@"
	exit "$KSFT_SKIP"
}

# begin N MODULE...: a test of N cases that loads these modules itself.
begin() {
	plan=$1
	shift
	[ "$(id -u)" = 0 ] || skip_all "must be run as root"
	[ -e /proc/modules ] || skip_all "this kernel has no modules"
	grep -q ' /sys/kernel/debug debugfs ' /proc/mounts ||
		skip_all "debugfs is not mounted on /sys/kernel/debug"
	for module in zsxmalloc "$@"; do
		module_file "$module" >/dev/null || skip_all "there is no $module.ko"
		! is_loaded "$module" || skip_all "$module is in use already"
	done
	tmp=$(mktemp -d) || exit
	trap 'cleanup' EXIT
	ktap_print_header
	ktap_set_plan "$plan"
}

cleanup() {
	trap - EXIT
	unload_zsx
	rm -rf "$tmp"
	[ -z "${panic_on_warn-}" ] || echo "$panic_on_warn" >/proc/sys/kernel/panic_on_warn
}

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

# --- files of "name value" lines ---

value() { # NAME FILE
	awk -v name="$1" '$1 == name { print $2; found = 1 } END { exit !found }' "$2"
}

report() { # NAME: of the consumer
	value "$1" "$consumer/report"
}

# --- zsx_density, for tests whose $pool is its pool ---

density=/sys/kernel/debug/zsx_density

do_density() { # COMMAND
	echo "$1" >"$density/do" && same "$(value mismatches "$density/report")" 0 mismatches
}

stat_of() { # NAME
	value "$1" "$pool/stats"
}

refill() {
	do_density reset && do_density "fill 20000 uniform 1" && do_density "thin 10000 2"
}

# --- page migration ---

# Memory compaction moves what lies low to room that lies higher. Where pages lie is the
# kernel's choice; so MB megabytes, more in each try, are taken before COMMAND takes its
# pages, and given back after it.
with_ballast() { # MB COMMAND...
	mkdir -p "$tmp/ballast" && mount -t tmpfs -o size=90% tmpfs "$tmp/ballast" &&
		dd if=/dev/zero of="$tmp/ballast/file" bs=1M count="$1" 2>/dev/null || return
	shift
	"$@"
	set -- $?
	umount "$tmp/ballast"
	return "$1"
}

# until_migrated POOL COMMAND...: up to 12 tries, the last with 440 MB.
until_migrated() {
	stats=/sys/kernel/debug/zsx/$1/stats mb=0
	shift
	while [ "$(value pages_migrated "$stats")" = 0 ]; do
		[ "$mb" -le 440 ] || { echo "no page was migrated"; return 1; }
		with_ballast "$mb" "$@" && echo 1 >/proc/sys/vm/compact_memory || return
		mb=$((mb + 40))
	done
}

# --- the kernel's log ---

log_mark() {
	echo "zsx-selftest: mark" >/dev/kmsg
}

# What was logged since the last log_mark.
log_since() {
	dmesg | awk '/zsx-selftest: mark/ { n = 0; next } { line[n++] = $0 }
		END { for (i = 0; i < n; i++) print line[i] }'
}

# logged REGEX [TIMES]: as many lines of it since the mark, or at least one.
logged() {
	n=$(log_since | grep -Ec "$1")
	if [ -n "${2-}" ]; then
		same "$n" "$2" "lines of '$1' in the log"
	else
		[ "$n" -gt 0 ] || { echo "'$1' is not in the log"; return 1; }
	fi
}

# --- zsx_misuse ---

# shellcheck disable=SC2034 # badinput.sh uses it too
misuse=/sys/kernel/debug/zsx_misuse/do

provoke() { # MISUSE
	log_mark
	echo "$1" >"$misuse" || { log_since | grep 'zsx'; return 1; }
}

says_nothing() { # MISUSE
	provoke "$1" && logged 'zsx: ' 0
}

# warn_will_come REGEX: a WARN is what the test wants. In the lab it's announced;
# elsewhere it must at least not be the end.
warn_will_come() {
	: "${panic_on_warn:=$(cat /proc/sys/kernel/panic_on_warn)}"
	if command -v expect-warn >/dev/null; then
		expect-warn "$1" | sed 's/^/# /'
	else
		echo 0 >/proc/sys/kernel/panic_on_warn
	fi
}
