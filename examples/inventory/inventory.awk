# The same warehouse as inventory.c, for machines without a C compiler.
#
#     awk -f inventory.awk -- --reorder 10 --level 30 --demand 6 --seed 1

function poisson(mean,    limit, product, n) {
    limit = exp(-mean); product = rand(); n = 0
    while (product > limit) { product *= rand(); n++ }
    return n
}

BEGIN {
    days = 60
    for (i = 1; i + 1 < ARGC; i++) if (ARGV[i] ~ /^--./) { given[substr(ARGV[i], 3)] = ARGV[i + 1]; i++ }
    if (!("reorder" in given) || !("level" in given) || !("demand" in given) || !("seed" in given)) {
        print "inventory: needs --reorder, --level, --demand and --seed" > "/dev/stderr"
        exit 2
    }
    if ("days" in given) days = given["days"]
    srand(given["seed"]); rand()
    stock = given["level"] + 0
    for (day = 0; day < days; day++) {
        wanted = poisson(given["demand"])
        sold = wanted < stock ? wanted : stock
        stock -= sold
        cost += stock + 25 * (wanted - sold)
        if (stock <= given["reorder"] + 0) { cost += 30; stock = given["level"] + 0 }
    }
    printf "cost per day: %.6f\n", cost / days
    exit 0
}
