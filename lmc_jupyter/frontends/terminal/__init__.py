"""An answer as text, where nothing but text can be shown.

One rule: what is asked can be read whole before it is answered.
"""
