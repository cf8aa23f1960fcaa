"""Everything that touches the insides of ipykernel and IPython.

One rule: each private name is looked for before it is used, and its absence has a way out; no
other package of ours knows these names.
"""
