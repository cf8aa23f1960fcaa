"""Where a kernel's values come from: settings, profiles, and the model that was chosen.

One rule: whoever makes a session reads them here and hands plain values down.
"""
