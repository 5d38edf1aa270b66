/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * crew.h - processes that get ready, wait for each other, and go on at once
 *
 * Two pipes: of "ready" the parent reads a byte from each member; members wait for
 * the end of "go". A member that dies too soon ends "ready" early, and a parent that
 * dies ends "go": nobody waits for ever.
 */
#ifndef ZSX_CREW_H
#define ZSX_CREW_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_CREW	64

/* What a member tells, in memory that all share. */
struct member {
	uint64_t start_ns, end_ns;
	uint64_t pages, swapped, mismatches;
};

struct crew {
	int nr, ready[2], go[2];
	pid_t pids[MAX_CREW];
	struct member *members;
};

static inline void die(const char *what)
{
	perror(what);
	exit(1);
}

/* For a member: tell that it's ready, and wait until all are. */
static inline void crew_wait(struct crew *crew)
{
	char byte = 0;

	if (write(crew->ready[1], &byte, 1) != 1)
		die("write to the parent");
	close(crew->ready[1]);
	if (read(crew->go[0], &byte, 1) != 0)
		die("read from the parent");
}

/* Start @nr members. Each does @work, which calls crew_wait(), and exits with what it returns. */
static inline void crew_start(struct crew *crew, int nr,
			      int (*work)(struct crew *crew, int i))
{
	int i;

	crew->nr = nr;
	crew->members = mmap(NULL, nr * sizeof(struct member), PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (crew->members == MAP_FAILED || pipe(crew->ready) || pipe(crew->go))
		die("a crew");
	fflush(NULL);
	for (i = 0; i < nr; i++) {
		crew->pids[i] = fork();
		if (crew->pids[i] < 0)
			die("fork");
		if (crew->pids[i])
			continue;
		close(crew->ready[0]);
		close(crew->go[1]);
		exit(work(crew, i));
	}
	close(crew->ready[1]);
	close(crew->go[0]);
}

/* Returns how many got ready: fewer than there are if some died. */
static inline int crew_ready(struct crew *crew)
{
	char byte;
	int nr = 0;

	while (nr < crew->nr && read(crew->ready[0], &byte, 1) == 1)
		nr++;
	return nr;
}

static inline void crew_go(struct crew *crew)
{
	close(crew->go[1]);
}

/* Wait for their ends. Returns how many failed, and says how those who died did. */
static inline int crew_end(struct crew *crew)
{
	int i, status, failed = 0;

	for (i = 0; i < crew->nr; i++) {
		if (waitpid(crew->pids[i], &status, 0) < 0)
			die("waitpid");
		if (WIFSIGNALED(status))
			fprintf(stderr, "process %d died of signal %d\n", i, WTERMSIG(status));
		failed += status != 0;
	}
	close(crew->ready[0]);
	return failed;
}

static inline void crew_free(struct crew *crew)
{
	munmap(crew->members, crew->nr * sizeof(struct member));
}

#endif /* ZSX_CREW_H */
