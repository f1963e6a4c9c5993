"""The Covid-19 testing-allocation study: a disease in three populations, and tests to share between them.

`editions` has the problems, `parameters` the outbreak, `simulator` runs and epidemic curves, `inputs` the
checks, `disease` the model, `truth` the command that computes the shipped tables.
"""
