"""The Covid-19 testing-allocation study: a disease in three populations, and tests to share between them."""
