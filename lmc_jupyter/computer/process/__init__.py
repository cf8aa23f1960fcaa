"""The one way to drive another program: sessions of processes, the engine of a block, its end.

One rule: a language defines what to send and how to ask for an end; turns, reading, the sequence of
signals and their times are here, once.
"""
