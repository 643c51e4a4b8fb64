// What the programs beside ours have in common: they measure one round when it is their turn.

#include <cstdint>
#include <cstdio>
#include <ctime>

// For each line of input, prints the nanoseconds of the thread's processor time that one of so many pairs took.
template <typename Pair>
void measure_in_turns(uint64_t pairs, Pair& pair) {
  for (int byte; (byte = getchar()) != EOF;) {
    if (byte != '\n') continue;
    timespec from, to;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
    for (uint64_t i = 0; i < pairs; i++) pair();
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
    double nanos = (to.tv_sec - from.tv_sec) * 1e9 + (to.tv_nsec - from.tv_nsec);
    printf("%.2f\n", nanos / pairs);
    fflush(stdout);
  }
}
