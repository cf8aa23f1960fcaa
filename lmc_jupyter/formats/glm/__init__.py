"""The GLM chat history: a family of three file forms, and its side of a session.

One rule: nothing outside of this folder knows the specification's keys.
"""
