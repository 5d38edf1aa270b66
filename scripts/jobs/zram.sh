# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# Guest job: the kernel's own zram driver on zsx. Arguments: seed, seconds, parts. Each
# part is a file beside this one, prints KTAP, begins by loading the modules and ends with
# nothing left. All of them are done again, with another seed, until the seconds are over.

seed=$1 seconds=$2
shift 2
read -r start _ </proc/uptime
rc=0 rounds=1
[ "$seconds" = 0 ] || rounds=3
export seed rounds zram
while :; do
	for part in "$@"; do
		echo "# --- $part, seed $seed"
		zram=zram
		if [ "$part" = recompress ] && [ -e /zsx/zram-multi.ko ]; then
			zram='zram-multi'
		fi
		sh "/zram/zram-$part.sh" || rc=1
	done
	seed=$((seed + 1))
	read -r now _ </proc/uptime
	if [ $rc != 0 ] || [ $((${now%.*} - ${start%.*})) -ge "$seconds" ]; then
		break
	fi
done
[ $rc = 0 ]
