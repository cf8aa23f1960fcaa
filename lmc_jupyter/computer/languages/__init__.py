"""The languages: each is one file or one row of `oneshot.TABLE`.

One rule: a language knows the computer's words and ways (`screen`, `process/`), and no other
language, unless it runs by it.
"""
