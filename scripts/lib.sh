# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
#
# What the scripts of the lab share. Sourced, never run.
#
# All that is downloaded or built lives in $ZSX_CACHE, outside the checkout.
# Words for people go to stderr, so that a script's stdout can be an answer.

set -euo pipefail

ZSX_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
[ -n "${HOME-}" ] || HOME=~ # not everything that runs CI sets it
: "${ZSX_CACHE:=${XDG_CACHE_HOME:-$HOME/.cache}/zsx}"
export HOME ZSX_CACHE
mkdir -p "$ZSX_CACHE/log" "$ZSX_CACHE/lock"

PATH=$PATH:/usr/sbin:/sbin # modprobe and the like, for a user

# make exports what it was given on its command line (ARCH=x86_64, KDIR=...).
# Every build below says itself what it builds.
unset ARCH KDIR O M W MAKEFLAGS MFLAGS MAKELEVEL CROSS_COMPILE KBUILD_OUTPUT

# UML says nothing of MAX_PHYSMEM_BITS; with x86-64's, in-tree zsmalloc
# encodes its class as it does on a real machine.
UML_KCFLAGS=-DMAX_POSSIBLE_PHYSMEM_BITS=46

# What modules are built for; variants aside.
# shellcheck disable=SC2034 # used by others
KERNELS=(6.1 6.12 7.3 uml)

say() { printf '%s\n' "$*" >&2; }
die() { say "${0##*/}: $*"; exit 2; }

# The comment at the head of a script is its help.
usage() {
	sed -n '/^#!/d; /^# SPDX/d; /^#/!q; s/^# \{0,1\}//; p' "$0"
}

as_root() {
	if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

elapsed() {
	printf '%d:%02d' $(($1 / 60)) $(($1 % 60))
}

# step WHAT LOG COMMAND...: run a long command with its output in a log, and a
# line about it every 15 s. The command stays in the foreground, so that Ctrl-C
# reaches it; the ticker waits in read, for a sleep would outlive it. Never call
# it in an || or an if: bash would then overlook failures inside COMMAND.
step() {
	local what=$1 log=$2 start=$SECONDS ticker nap rc=0
	shift 2

	say "$what ..."
	: >"$log"
	exec {nap}<> <(:)
	while read -rt 15 -u "$nap"; [ $? -gt 128 ] && kill -0 $$ 2>/dev/null; do
		say "  $(elapsed $((SECONDS - start)))  $(tail -n 1 "$log" | tr -d '\r' | cut -c1-100)"
	done &
	ticker=$!
	set +e
	(set -e; "$@") >"$log" 2>&1 </dev/null
	rc=$?
	set -e
	kill "$ticker" 2>/dev/null || :
	wait "$ticker" 2>/dev/null || :
	exec {nap}<&-
	if [ $rc != 0 ]; then
		say "$what: failed (exit $rc). The end of $log:"
		tail -n 30 "$log" | sed 's/^/  | /' >&2
		return $rc
	fi
	say "$what: done in $(elapsed $((SECONDS - start)))"
}

# lock ITEM: hold one item of the cache until this script ends.
lock() {
	local fd

	exec {fd}>"$ZSX_CACHE/lock/$1"
	flock -n "$fd" || { say "waiting for another run that works on $1"; flock "$fd"; }
}

# --- kernels ---

# Debian's kernels are 6.1 and 6.12. Those of the lab, built from Linux 7.3, are uml
# (a user-mode program) and 7.3 (in QEMU), and variants of these, as uml-nocompaction,
# for which there is a file in tests/lab.

# The variants there are, in one line.
lab_variants() {
	local file all=''

	for file in "$ZSX_ROOT"/tests/lab/*.config; do
		file=${file##*/}
		case ${file%.config} in
		common|uml|7.3) ;;
		*) all+=" ${file%.config}" ;;
		esac
	done
	echo "${all# }"
}

# kernel_name NAME: the name, if it is a kernel's.
kernel_name() {
	local base=${1%%-*} variant

	case $1 in
	6.1|6.12|7.3|uml) ;;
	7.3-?*|uml-?*)
		for variant in $(tr - ' ' <<<"${1#"$base"-}"); do
			[[ " $(lab_variants) " = *" $variant "* ]] ||
				die "no kernel $1: variants of $base are: $(lab_variants)"
		done ;;
	*) die "which kernel? (6.1, 6.12, 7.3, uml or a variant: see scripts/build-kernel --help)" ;;
	esac
	echo "$1"
}

is_lab_kernel() { # KERNEL
	case $1 in 6.*) return 1 ;; esac
}

kernel_arch() { # KERNEL: as make's ARCH
	case $1 in uml*) echo um ;; *) echo x86_64 ;; esac
}

# kernel_path KERNEL headers|image|modules: where it is, after fetching or
# building it if need be.
kernel_path() {
	local dir

	if ! is_lab_kernel "$1"; then
		"$ZSX_ROOT/scripts/fetch" "$1" "$2"
		return
	fi
	dir=$("$ZSX_ROOT/scripts/build-kernel" "$1") || return
	case $2 in
	headers) echo "$dir" ;;
	*) echo "$dir/$2" ;;
	esac
}

# debian12: its suites, as lines of a sources.list, from the mirror that this machine uses
# itself.
# shellcheck disable=SC2016 # the $( ) are apt's
debian12() {
	local uri suite codename origin main=''
	local signed='[signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]'

	# Codename and origin are empty until apt has been updated.
	while IFS='|' read -r uri suite codename origin; do
		[ "${origin:-Debian}" = Debian ] || continue
		case ${codename:-$suite} in
		bookworm) main=${main:-$uri} ;;
		bookworm-updates|bookworm-security) ;;
		*) continue ;;
		esac
		echo "deb $signed $uri ${codename:-$suite} main"
	done < <(apt-get indextargets --format '$(REPO_URI)|$(RELEASE)|$(CODENAME)|$(ORIGIN)' \
			"Identifier: Packages" "Component: main" | sort -u)
	[ -n "$main" ] || { echo "apt knows no mirror of Debian 12 (bookworm) here"; return 1; } >&2
}

# kernel_complaints [JOB-LOG] KERNEL-LOG: print what the kernel complained of, but
# for the WARNs announced by "EXPECT-WARN: REGEX", one each, and the stacks dumped
# after a line announced by "EXPECT-STACKS: REGEX"; and the announced ones that did
# not come. Fails if there is any. That memory was short is no complaint: 7.3 tells so
# when it has no page for a table of swap slots, and does without. Nor is a data race of two
# who are not zsx.
kernel_complaints() {
	awk '
	function complain(text) { print text; bad = 1 }
	function judge(  i) {
		for (i = 1; i <= n; i++)
			if (!fatal && !used[i] && head ~ expect[i]) {
				used[i] = 1
				return
			}
		complain(block)
	}
	sub(/.*EXPECT-WARN: /, "") {
		expect[++n] = $0
		next
	}
	sub(/.*EXPECT-STACKS: /, "") {
		stacks[$0] = 0
		next
	}
	FILENAME == ARGV[1] && ARGC > 2 {
		next
	}
	/BUG: KCSAN:/ {
		racing = 1
		race = ""
		names_zsx = 0
	}
	racing {
		race = race (race == "" ? "" : "\n") $0
		if (/zsx/)
			names_zsx = 1
		if (/======/) {
			if (names_zsx)
				complain(race)
			racing = 0
		}
		next
	}
	/-\[ cut here \]-/ {
		if (inside)
			judge()
		inside = 1
		head = block = ""
		headed = fatal = 0
	}
	inside {
		block = block (block == "" ? "" : "\n") $0
		if (/BUG:|Oops|Kernel panic/)
			fatal = 1 # worse than a WARN is never expected
		if (/Modules linked in:/)
			headed = 1
		else if (!headed)
			head = head "\n" $0
		if (/-\[ end trace/) {
			judge()
			inside = 0
		}
		next
	}
	/: page allocation failure: order:|: vmalloc error: size / {
		short = 1
	}
	/Mem-Info:/ {
		short = 0
	}
	short && /Call Trace/ {
		next
	}
	told && /Call Trace/ {
		told = 0
		next
	}
	/BUG:|WARNING:|Oops|Kernel panic/ {
		told = 0
	}
	{
		for (line in stacks)
			if ($0 ~ line) {
				stacks[line]++
				told = 1
			}
	}
	/BUG:|WARNING:|Oops|Call Trace|Kernel panic|general protection|detected stall|blocked for more than/ {
		complain($0)
	}
	END {
		if (inside)
			judge()
		if (racing && names_zsx)
			complain(race)
		for (i = 1; i <= n; i++)
			if (!used[i])
				complain("announced, but it did not come: " expect[i])
		for (line in stacks)
			if (!stacks[line])
				complain("announced, but it did not come: " line)
		exit bad
	}' "$@"
}

# --- the project ---

# module_make KERNEL DIR TARGET...: make the modules in DIR against that kernel.
module_make() {
	local kernel=$1 dir=$2 headers args
	shift 2

	headers=$(kernel_path "$kernel" headers)
	args=(-C "$headers" "M=$dir" W=1 "ARCH=$(kernel_arch "$kernel")")
	[ "$(kernel_arch "$kernel")" != um ] || args+=("KCFLAGS=$UML_KCFLAGS")
	# Debian's kernels have no KUnit, and neither has a kernel for figures.
	! grep -q '^CONFIG_KUNIT=' "$headers/.config" || args+=(CONFIG_ZSX_KUNIT_TEST=m)
	make "${args[@]}" -j"$(nproc)" "$@"
}

# copy_sources DIR: what a build reads, to DIR, where objects may lie beside it.
# By contents, and changed files become new: times that come from another
# checkout mean nothing to make.
copy_sources() {
	mkdir -p "$1"
	rsync -rlpcm --delete --exclude='.*' --exclude='*.mod.c' --include='*/' \
		--include='*.[chS]' --include=Kbuild --include=Kconfig --include=Makefile \
		--exclude='*' "$ZSX_ROOT/" "$1/"
}

# link_tree SOURCE DIR: a copy of hard links: no file of it may be written to in place.
link_tree() {
	cp -al "$1" "$2" 2>/dev/null || {
		rm -rf "$2" # another file system: no links
		cp -a "$1" "$2"
	}
}

# copy_checkout DIR: all that the project is, without what a build here left.
copy_checkout() {
	mkdir -p "$1"
	rsync -rlp --delete --exclude=/.git --exclude-from="$ZSX_ROOT/.gitignore" "$ZSX_ROOT/" "$1/"
}

# stock_modules DIR: which of the kernel's own modules those built in DIR need.
stock_modules() {
	modinfo -F depends "$1"/*.ko "$1"/tests/*.ko "$1"/tests/*/*.ko | tr , '\n' | sort -u |
		grep -vE '^$|^zsx' || :
}

# zsx_in_guest DIR: the arguments of run-vm that bring the modules built in DIR
# into /zsx, and load what they need of the kernel's own. Sets guest_args.
zsx_in_guest() {
	local module

	guest_args=()
	for module in "$1"/*.ko "$1"/tests/*.ko "$1"/tests/*/*.ko; do
		guest_args+=(--add "$module:/zsx/${module##*/}")
	done
	for module in $(stock_modules "$1"); do
		guest_args+=(--module "$module")
	done
}

# --- counts of cases ---

# Every test ends with this line, and check reads it.
counts() {
	echo "$1 passed, $2 failed, $3 skipped"
}

# ktap_counts LOG: the counts of a log that holds KTAP, possibly several
# documents and anything between them. Only leaves count: not what stands for the
# subtests before it. A plan that was not kept is a failure.
ktap_counts() {
	awk '
	function close_plan(d) {
		if (d in plan && plan[d] != seen[d]) {
			print "KTAP: " plan[d] " planned, " seen[d] + 0 " seen" >"/dev/stderr"
			failed++
		}
		delete plan[d]
		seen[d] = 0
	}
	{
		match($0, /^ */)
		depth = int(RLENGTH / 4)
		line = substr($0, RLENGTH + 1)
	}
	line ~ /^1\.\.[0-9]+( *#.*)?$/ {
		if (depth in plan)
			close_plan(depth)
		plan[depth] = substr(line, 4) + 0
		next
	}
	line ~ /^(not )?ok [0-9]+/ {
		leaf = !(last > depth)
		for (d = last; d > depth; d--)
			close_plan(d)
		seen[depth]++
		last = depth
		if (line ~ /# *[Ss][Kk][Ii][Pp]/)
			skipped += leaf
		else if (line ~ /^ok/)
			passed += leaf
		else if (leaf || failed == before[depth])
			failed++ # itself, or a parent whose children did not fail
		for (d = depth; d < 16; d++)
			before[d] = failed + 0
	}
	END {
		for (d in plan)
			close_plan(d)
		printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped
	}' "$1"
}

# run_ktap_job LOG ARG...: run-vm with these arguments, then the counts of the
# KTAP in its job's output. A run that was no success is a failure, also when all
# cases passed.
run_ktap_job() {
	local log=$1 rc=0 passed failed skipped
	shift

	lock "${log##*/}"
	"$ZSX_ROOT/scripts/run-vm" --log "$log" "$@" || rc=$?
	[ $rc != 2 ] || return 2
	read -r passed _ failed _ skipped _ < <(ktap_counts "$log")
	if [ $rc != 0 ] && [ "$failed" = 0 ]; then
		failed=1
	elif [ $((passed + failed + skipped)) = 0 ]; then
		say "no case ran"
		failed=1
	fi
	counts "$passed" "$failed" "$skipped"
	[ "$failed" = 0 ]
}
