#ifndef RUNNEL_CORE_BASE_FAULT_H
#define RUNNEL_CORE_BASE_FAULT_H

#include <stdbool.h>

/*
 * fault.h -- makes rare failures happen, for tests.
 *
 * Where something outside can fail, the code calls FAULT("store.exec") first, and fails in the
 * same way when that is true. A test arms one point to fail on its n-th visit, runs a scenario for
 * n = 1, 2, 3, ... until the fault no longer fires, and checks after each that nothing leaked
 * and nothing was half done.
 *
 * The built server is armed through the environment variable RUNNEL_FAULT, "point:n" or
 * "point:n:kill" (SIGKILL to itself on that visit) or "point:n:stop" (SIGSTOP), several
 * separated by commas. It is read once, at the first visit of any point. "@FILE" names a file with
 * such a list instead. It is read again when another file has replaced it, so one server can be
 * armed many times. Each point that fired is then added to FILE.fired as a line. With a file
 * there is also "point:n:hold": the thread waits until the server is armed anew, and other threads
 * overtake it. Any thread may visit a point.
 *
 * Without RUNNEL_FAULTS at build time (a release), FAULT() is the constant false and the
 * branch is gone.
 */

#ifdef RUNNEL_FAULTS

#define FAULT(point) fault_visit(point)

bool fault_visit(const char *point);

/* In tests: `point` fails on its `visit`-th visit from now, once. Replaces what was armed. */
void fault_arm(const char *point, unsigned visit);
void fault_arm_also(const char *point, unsigned visit); /* keeps what was armed */
void fault_disarm(void);
bool fault_fired(void); /* since the last fault_arm() */

#else

#define FAULT(point) false

#endif

#endif
