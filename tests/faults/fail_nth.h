// SPDX-License-Identifier: Apache-2.0
/*
 *
 * libfail_nth.so: counts the allocations of a program, and lets one of them fail.
 *
 * Preloaded into any program it counts from the first line of main() to its return, and reads
 *
 *     GANTRY_FAIL_ALLOCATION=N   the N-th malloc, calloc, realloc (operator new is one of them) returns NULL, once
 *     GANTRY_FAIL_ONWARD=1       and all that follow it
 *     GANTRY_FAIL_REPORT=FILE    at the end: "allocations 1234 live 5 fired 1"
 *     GANTRY_FAIL_BACKTRACE=1    the stack of the failing one goes to stderr
 *
 * both are taken out of the environment, with LD_PRELOAD, before main(): a compiler that the program starts runs
 * undisturbed. A program that is linked with it uses the functions below instead. What it cannot see: memory from
 * mmap and brk, which the sweep of system calls covers.
 */
#ifndef GANTRY_TESTS_FAIL_NTH_H
#define GANTRY_TESTS_FAIL_NTH_H

#ifdef __cplusplus
extern "C" {
#endif

/* Starts counting at zero; the `nth` allocation from now on fails, 0: none. */
void fail_nth_arm(unsigned long nth);
/* The same, and all that follow the `nth` fail. */
void fail_nth_arm_onward(unsigned long nth);
/* Stops; returns how many were counted. */
unsigned long fail_nth_disarm(void);
int fail_nth_fired(void);
/* Blocks that are allocated and not freed, of the whole process. */
long fail_nth_live(void);
/* A system call without effect that the tracer of sweep.cpp knows: faults begin (1), end (0). */
void fail_nth_mark(int begin);

/* The number of prctl() that the mark uses; the kernel has none of it. */
#define FAIL_NTH_MARK 0x676e7472

#ifdef __cplusplus
}
#endif
#endif
