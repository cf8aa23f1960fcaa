"""Whatever a person sees or types in: the magics, and the settings that they start from.

One rule: a front end drives a `Session` and shows what it tells; no module outside of this
package and `open_interpreter` imports one.
"""
