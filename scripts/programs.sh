# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Programs for guests. Sourced, after lib.sh.

# program_in_guest NAME...: the arguments of run-vm that bring programs of this machine,
# with the libraries that they are linked with, into the initrd's /bin. Adds to guest_args.
program_in_guest() {
	local name program lib have
	declare -A have

	for name in "$@"; do
		program=$(command -v "$name") || die "no $name: run scripts/setup"
		guest_args+=(--add "$program:/bin/$name")
		while read -r lib; do
			[ -z "${have[$lib]-}" ] || continue
			have[$lib]=1
			guest_args+=(--add "$lib:$lib")
		done < <(ldd "$program" | grep -o '/[^ ]*' || :)
	done
}

# zram_programs: build those of tests/zram, static, and print the directory they are in.
zram_programs() {
	local dir

	dir=$ZSX_CACHE/build/programs-$(sha256sum <<<"$ZSX_ROOT" | cut -c1-8)
	mkdir -p "$dir"
	make -sC "$ZSX_ROOT/tests/zram" OUT="$dir" >&2
	echo "$dir"
}

# zram_in_guest KERNEL: the arguments of run-vm that bring zsx, zram on zsx, the programs
# and the parts of the zram job; and load what zram needs of the kernel's own modules.
# Adds to guest_args.
zram_in_guest() {
	local zram root moddir module dir

	dir=$("$ZSX_ROOT/scripts/build-modules" "$1")
	zram=$("$ZSX_ROOT/scripts/build-zram" "$1")
	guest_args+=(--add "$dir/zsxmalloc.ko:/zsx/zsxmalloc.ko" --add "$zram/zram.ko:/zsx/zram.ko")
	# Debian's 6.12 has the driver without recompression and lzo: the part that needs
	# them takes one that has.
	if [ "$1" = 6.12 ]; then
		zram=$("$ZSX_ROOT/scripts/build-zram" "$1" MULTI_COMP BACKEND_LZO)
		guest_args+=(--add "$zram/zram.ko:/zsx/zram-multi.ko")
	fi
	moddir=$(readlink -f "$(kernel_path "$1" modules)")
	root=${moddir%/lib/modules/*}
	# By name, the compressors that older zram asks the crypto API for.
	for module in $(modinfo -F depends "$zram/zram.ko" | tr , '\n' | grep -v '^zsx') lzo lzo-rle lz4 zstd; do
		if modprobe -d "$root" -S "${moddir##*/}" --show-depends "$module" >/dev/null 2>&1; then
			guest_args+=(--module "$module")
		fi
	done
	dir=$(zram_programs)
	for module in munmap_stress touch_more device_pages; do
		guest_args+=(--add "$dir/$module:/zsx/$module")
	done
	for module in "$ZSX_ROOT"/scripts/jobs/zram-*.sh; do
		guest_args+=(--add "$module:/zram/${module##*/}")
	done
	guest_args+=(--add "$ZSX_ROOT/tests/selftests/ktap.sh:/zram/ktap.sh")
}
