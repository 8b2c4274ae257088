"""Speed and memory against named peers, measured in one run and printed: `make bench`.

A module `bench_<subject>.py` here has one function `figures() -> Iterable[Figure]`; `python -m benchmarks` finds
them, runs each in a process of its own and prints one table. Nothing is asserted: a missed target is printed as
missed. What cannot be measured here (data or a peer is absent) raises `NotAtHand` with the reason.

    python -m benchmarks                    all
    python -m benchmarks startup predict    only these
"""
