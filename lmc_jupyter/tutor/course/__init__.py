"""A course, as its teacher makes it: from notebooks with solutions to those of the pupils.

One rule: what a pupil gets is written to a folder of its own; the teacher's is only read.
"""
