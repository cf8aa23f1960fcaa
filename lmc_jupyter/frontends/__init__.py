"""Whatever a person sees or types in: cells, the panel, a terminal, the magics, settings.

One rule: a front end drives a `Session` and shows what it tells; no module outside of this
package and `open_interpreter` imports one.
"""
