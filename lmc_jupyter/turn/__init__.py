"""One answer being given: its turn, how it is driven and stopped, and what is said to begin it.

One rule: it knows no session; whatever it needs of one comes down as a value.
"""
