/* One simulated season of a small warehouse: what storing, ordering and missing sales cost per day.
 *
 *     cc -O2 -o inventory inventory.c -lm
 *     ./inventory --reorder 10 --level 30 --demand 6 --seed 1
 *
 * In the evening, if the stock has fallen to the reorder point, it is filled up to the level by next morning.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state;

static double uniform(void) { /* splitmix64 */
    uint64_t z = (state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return (double)((z ^ (z >> 31)) >> 11) / 9007199254740992.0;
}

static int poisson(double mean) {
    double limit = exp(-mean), product = uniform();
    int n = 0;
    while (product > limit) {
        product *= uniform();
        n++;
    }
    return n;
}

int main(int argc, char **argv) {
    double reorder = -1, level = -1, demand = -1, seed = -1, days = 60, cost = 0;
    struct { const char *name; double *value; } known[] = {
        {"--reorder", &reorder}, {"--level", &level}, {"--demand", &demand}, {"--seed", &seed}, {"--days", &days}};
    for (int i = 1; i + 1 < argc; i += 2)
        for (int j = 0; j < 5; j++)
            if (strcmp(argv[i], known[j].name) == 0) *known[j].value = atof(argv[i + 1]);
    if (reorder < 0 || level <= reorder || demand <= 0 || seed < 0) {
        fprintf(stderr, "inventory: needs --reorder, --level above it, --demand and --seed\n");
        return 2;
    }
    state = (uint64_t)seed;
    double stock = level;
    for (int day = 0; day < days; day++) {
        double wanted = poisson(demand);
        double sold = fmin(stock, wanted);
        stock -= sold;
        cost += 1.0 * stock + 25.0 * (wanted - sold);
        if (stock <= reorder) {
            cost += 30.0;
            stock = level;
        }
    }
    printf("cost per day: %.6f\n", cost / days);
    return 0;
}
