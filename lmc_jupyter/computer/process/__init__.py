"""The one way to drive another program: sessions of processes, the engine of a block, its end.

One rule: a language says what to send and how to ask for an end; turns, reading, the ladder of
signals and the patience with them are here, once.
"""
