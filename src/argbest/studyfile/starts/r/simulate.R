# A week of ice cream: Rscript simulate.R ORDER DEGREES SEED prints the profit per day.
given <- as.numeric(commandArgs(trailingOnly = TRUE))
order <- given[1]
degrees <- given[2]
set.seed(given[3])
demand <- rpois(7, 3 * degrees)
# Several responses are printed by name: cat("profit=", 31.5, " empty=", 0.2, "\n", sep = "")
cat(mean(2 * pmin(order, demand) - order), "\n")
