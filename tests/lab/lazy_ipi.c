// SPDX-License-Identifier: GPL-2.0-only
/*
 * lazy_ipi.c - makes UML mask interrupts between CPUs when one comes, not before
 *
 * UML with SMP blocks a signal, the one that CPUs send each other, whenever the kernel turns
 * interrupts off, and lets it through again when it turns them on: a system call each,
 * where a processor takes a cycle. So what slab and the page allocator cost on UML is what
 * the host's system calls do, and differs between hosts by ten. Here that the signal is
 * blocked is only noted. If it comes all the same, it is put back into the queue and blocked
 * in truth, until the kernel wants it again: as kernels do where masking is dear.
 *
 * A library for LD_PRELOAD (scripts/run-vm --lazy-ipi); nothing else of UML changes. All else
 * that a mask is set for, and each handler, passes through it, so that it knows each thread's
 * mask.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FAST_TLS __attribute__((tls_model("initial-exec")))

typedef void (*handler_t)(int sig, siginfo_t *info, void *context);

/*
 * @wanted: the signal is blocked, as far as UML knows
 * @blocked: it is in truth. Then @wanted is set too, but for a moment.
 */
static __thread bool wanted FAST_TLS;
static __thread bool blocked FAST_TLS;

static int ipi;			/* UML's IPI_SIGNAL; constant */
static handler_t handlers[NSIG];
static bool masks_ipi[NSIG];	/* in a handler it is blocked */
static int (*real_sigaction)(int, const struct sigaction *, struct sigaction *);

__attribute__((constructor)) static void init(void)
{
	ipi = SIGRTMIN;
	real_sigaction = (int (*)(int, const struct sigaction *, struct sigaction *))
			 dlsym(RTLD_NEXT, "sigaction");
}

static bool has_ipi(const sigset_t *set)
{
	return sigismember(set, ipi) == 1;
}

/* A set's first word is all that the host's kernel knows. */
static bool is_ipi_alone(const sigset_t *set)
{
	uint64_t word;

	memcpy(&word, set, sizeof(word));
	return word == 1ULL << (ipi - 1);
}

static int set_mask(int how, const sigset_t *set, sigset_t *old)
{
	return syscall(SYS_rt_sigprocmask, how, set, old, sizeof(uint64_t));
}

/* What the mask is in a handler it was set to by the host, and is set back at its end. */
static void on_signal(int sig, siginfo_t *info, void *context)
{
	bool was_wanted = wanted, was_blocked = blocked;

	if (sig == ipi && wanted) {
		/* From the end of this handler on it waits, as if it had been blocked. */
		sigaddset(&((ucontext_t *)context)->uc_sigmask, ipi);
		blocked = true;
		syscall(SYS_rt_tgsigqueueinfo, getpid(), syscall(SYS_gettid), sig, info);
		return;
	}
	if (masks_ipi[sig])
		wanted = blocked = true;
	handlers[sig](sig, info, context);
	wanted = was_wanted;
	blocked = was_blocked;
}

int sigaction(int sig, const struct sigaction *act, struct sigaction *old)
{
	handler_t was = handlers[sig];
	struct sigaction ours;
	int err;

	if (act && act->sa_flags & SA_SIGINFO) {
		handlers[sig] = act->sa_sigaction;
		masks_ipi[sig] = sig == ipi || has_ipi(&act->sa_mask);
		ours = *act;
		ours.sa_sigaction = on_signal;
		act = &ours;
	}
	err = real_sigaction(sig, act, old);
	if (!err && old && old->sa_flags & SA_SIGINFO && old->sa_sigaction == on_signal)
		old->sa_sigaction = was;
	return err;
}

int sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
	bool was_wanted = wanted, unblocks;
	int err;

	/* Each time that the kernel turns interrupts off or on. */
	if (set && !old && how != SIG_SETMASK && is_ipi_alone(set)) {
		wanted = how == SIG_BLOCK;
		if (wanted || !blocked)
			return 0;
		blocked = false;
		return set_mask(how, set, NULL);
	}

	/* If it is let through, before it comes; if it is blocked, when it can't. */
	unblocks = set && (how == SIG_SETMASK ? !has_ipi(set) :
			   how == SIG_UNBLOCK && has_ipi(set));
	if (unblocks)
		wanted = blocked = false;
	err = set_mask(how, set, old);
	if (!err && old && was_wanted)
		sigaddset(old, ipi);
	if (!err && set && how != SIG_UNBLOCK && has_ipi(set))
		wanted = blocked = true;
	return err;
}
