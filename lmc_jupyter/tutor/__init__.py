"""The tutor: it hints and never tells. What a pupil's cell does wrong is found here, by running it
against the teacher's tests; a hint says one step about one fault.

One rule: no solution leaves this package. The reference goes to no model, and no hint has any of
it.
"""
