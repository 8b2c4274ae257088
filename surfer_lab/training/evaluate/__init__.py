"""evaluate: how far off is what the package says, on measured data that it did not see? Functions, no printing.

Each gives an `Evaluation`: all cases, tables for a person, and JSON.
"""
