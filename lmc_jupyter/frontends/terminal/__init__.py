"""An answer as text, for terminals.

One rule: the person can read all of the code before the question.
"""
