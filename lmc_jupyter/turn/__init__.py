"""Answers: their question, prompt and rules, how one is driven and stopped, and its conversation.

One rule: it knows no session; whatever it needs of one comes down as a value.
"""
