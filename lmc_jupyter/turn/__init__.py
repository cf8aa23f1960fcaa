"""One answer being given: its turn, how it is driven and stopped, and what is said to begin it.

One rule: it knows sessions from below only; whatever it needs comes down as a value.
"""
