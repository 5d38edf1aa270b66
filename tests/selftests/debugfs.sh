#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# /sys/kernel/debug/zsx/<pool>: classes is what zsmalloc's file of that name is,
# and it, lengths, stats and the consumer say the same.

# shellcheck source=tests/selftests/lib.sh
. "$(dirname "$0")/lib.sh"

begin 13 zsx_consumer

load zsxmalloc && load zsx_consumer || exit 1
cat $program "$here"/*.sh >$consumer/store || exit 1
echo half-random 3 >$consumer/free || exit 1

# zs_stats_size_show() of mm/zsmalloc.c writes it so.
header() {
	printf ' %5s %5s %9s %9s %9s %9s %9s %9s %9s %9s %9s %9s %9s %13s %10s %10s %16s %8s\n' \
		class size '10%' '20%' '30%' '40%' '50%' '60%' '70%' '80%' '90%' '99%' '100%' \
		obj_allocated obj_used pages_used pages_per_zspage freeable
}

has_header() {
	same "$(head -n 1 "$pool/classes")" "$(header)"
}

# The header, the classes in order, an empty line, the total.
has_lines() { # FILE
	awk '
	NR == 1 { width = length($0); next }
	length($0) == 0 { empty = NR; next }
	$1 == "Total" {
		total = NF == 16 && length($0) == width && empty == NR - 1
		next
	}
	NF != 18 || length($0) != width || $1 != NR - 2 || $2 <= size || /-/ {
		print "not a class: " $0
		bad = 1
	}
	{ size = $2 }
	END { exit bad || !total || !size }' "$1"
}

# Columns 3 to 16 and 18 of the classes; the total has no 17th, and one less at
# its start.
adds_up() { # FILE
	awk '
	NF == 18 && $1 != "class" { for (i = 3; i <= 18; i++) sum[i] += $i }
	$1 == "Total" {
		for (i = 3; i <= 16; i++)
			if ($(i - 1) != sum[i]) { print "column " i ": " $(i - 1) ", not " sum[i]; bad = 1 }
		if ($16 != sum[18]) { print "freeable: " $16 ", not " sum[18]; bad = 1 }
		seen = sum[15] > 0
	}
	END { exit bad || !seen }' "$1"
}

# What must hold in each line whatever is stored.
makes_sense() { # FILE
	awk '
	NF == 18 && $1 != "class" {
		zspages = 0
		for (i = 3; i <= 13; i++)
			zspages += $i
		if ($15 > $14 || $18 > $16 || $16 > zspages * $17 || $16 < zspages ||
		    ($15 > 0) != (zspages > 0) || $15 < zspages) {
			print; bad = 1
		}
	}
	END { exit bad }' "$1"
}

total() { # COLUMN
	awk -v i="$1" '$1 == "Total" { print $i }' "$pool/classes"
}

agrees_with_stats() {
	zspages=$(awk '$1 == "Total" { for (i = 2; i <= 12; i++) n += $i; print n }' "$pool/classes")
	same "$(total 14)" "$(value objects "$pool/stats")" objects &&
		same "$(total 15)" "$(value pages "$pool/stats")" pages &&
		same "$zspages" "$(value zspages "$pool/stats")" zspages
}

# A line for each class of classes; none was asked for more than it has room for.
lengths_make_sense() { # CLASSES LENGTHS
	awk '
	NR == FNR { if (NF == 18) { size[FNR] = $2; n = FNR }; next }
	FNR == 1 {
		header = $0 == sprintf(" %5s %5s %15s %15s %19s", "class", "size", "mallocs",
				       "frees", "bytes_asked")
		next
	}
	NF != 5 || $1 != FNR - 2 || $2 != size[FNR] || $4 > $3 || $5 < $3 || $5 > $3 * $2 {
		print "not a class: " $0
		bad = 1
	}
	END { exit bad || !header || FNR != n || n < 2 }' "$1" "$2"
}

# At rest: what was stored and not freed is there, and the sums are those of stats.
lengths_agree() {
	awk '
	FILENAME ~ /classes$/ { if (NF == 18 && FNR > 1) used[$1] = $15; next }
	FILENAME ~ /stats$/ { stats[$1] = $2; next }
	FNR > 1 {
		mallocs += $3; frees += $4; bytes += $5
		if ($3 - $4 != used[$1]) { print used[$1] " are there: " $0; bad = 1 }
	}
	END {
		if (mallocs != stats["mallocs"] || frees != stats["frees"] || bytes != stats["bytes_asked"]) {
			print "sums: " mallocs, frees, bytes
			bad = 1
		}
		exit bad || !frees
	}' "$pool/classes" "$pool/stats" "$pool/lengths"
}

stats_are_pairs() {
	[ -s "$pool/stats" ] || [ "$(wc -l <"$pool/stats")" -gt 0 ] || return
	! grep -Evn '^[a-z_]+ [0-9]+$' "$pool/stats" || return
	same "$(cut -d ' ' -f 1 "$pool/stats" | sort | uniq -d)" "" "names that come twice"
	for name in objects pages zspages handle_bytes descriptor_bytes pool_bytes \
		mallocs bytes_asked frees pages_brought pages_given_back pins_retried; do
		value "$name" "$pool/stats" >/dev/null || { echo "no $name"; return 1; }
	done
}

agrees_with_consumer() {
	for pair in objects:objects pages:pages_used handle_bytes:handle_bytes \
		descriptor_bytes:descriptor_bytes; do
		same "$(value "${pair%:*}" "$pool/stats")" "$(report "${pair#*:}")" "${pair%:*}" || return
	done
}

# Emptier than they need be, as half was freed at random.
something_is_freeable() {
	[ "$(total 16)" -gt 0 ] || { echo "freeable is $(total 16)"; return 1; }
}

read_while_storing() {
	(
		while [ ! -e "$tmp/stop" ]; do
			cat "$here"/*.sh >"$consumer/store"
			echo half >"$consumer/free"
		done
	) &
	rc=0 n=0
	while [ "$rc" = 0 ] && [ $((n += 1)) -le 100 ]; do
		cat "$pool/classes" >"$tmp/classes" && cat "$pool/stats" >/dev/null &&
			cat "$pool/lengths" >"$tmp/lengths" && adds_up "$tmp/classes" &&
			makes_sense "$tmp/classes" && lengths_make_sense "$tmp/classes" "$tmp/lengths" || rc=1
	done
	: >"$tmp/stop"
	wait
	[ "$rc" = 0 ] && echo 1 >"$consumer/verify" && agrees_with_stats && lengths_agree
}

is_read_only() {
	for file in check classes lengths stats; do
		fails sh -c "echo 1 >$pool/$file" || return
	done
	same "$(find "$pool" -type f | wc -l)" 4 files
}

# Also for who has one open while the pool goes.
goes_with_the_pool() {
	(
		exec 3<"$pool/classes" 4<"$pool/stats" 5<"$pool/lengths"
		rmmod zsx_consumer && [ ! -e "$pool" ] && [ -d /sys/kernel/debug/zsx ] &&
			fails cat <&3 && fails cat <&4 && fails cat <&5
	) && rmmod zsxmalloc && [ ! -e /sys/kernel/debug/zsx ]
}

check "classes has zsmalloc's header" has_header
check "classes has lines of its form" has_lines "$pool/classes"
check "the total is the sum of the classes" adds_up $pool/classes
check "each class makes sense" makes_sense $pool/classes
check "what random frees left is freeable" something_is_freeable
check "lengths has a line for each class" lengths_make_sense "$pool/classes" "$pool/lengths"
check "lengths agrees with classes and stats" lengths_agree
check "stats are names and values" stats_are_pairs
check "classes and stats agree" agrees_with_stats
check "stats and the consumer agree" agrees_with_consumer
check "they are four files, to be read" is_read_only
check "read while objects come and go" read_while_storing
check "the files go with the pool" goes_with_the_pool
ktap_finished
