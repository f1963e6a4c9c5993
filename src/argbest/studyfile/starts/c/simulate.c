/* A workshop: a machine does six orders per day.  ./simulate MACHINES ORDERS SEED prints the cost per day
   and the share of orders that wait over six hours. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static unsigned long long state;

static double exponential(double rate) { /* splitmix64 */
    unsigned long long z = (state += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return -log(((z ^ (z >> 31)) >> 11) / 9007199254740992.0 + 1e-17) / rate;
}

int main(int argc, char **argv) {
    if (argc != 4 || atoi(argv[1]) < 1 || atoi(argv[1]) > 100) return 2;
    int machines = atoi(argv[1]);
    double orders = atof(argv[2]), days = 60, waited = 0, came = 0, late = 0, free_at[100] = {0};
    state = strtoull(argv[3], NULL, 10);
    for (double now = exponential(orders); now < days; now += exponential(orders)) {
        int next = 0;
        for (int i = 1; i < machines; i++) if (free_at[i] < free_at[next]) next = i;
        double start = free_at[next] > now ? free_at[next] : now;
        waited += start - now;
        came++;
        late += start - now > 0.25;
        free_at[next] = start + exponential(6);
    }
    printf("cost=%.10g late=%.10g\n", 15 * machines + 10 * waited / days, late / came);
    return 0;
}
