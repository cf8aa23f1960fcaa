"""The passwords that a cell gives to names are redacted before its source goes into a file."""

from __future__ import annotations

import pytest

from lmc_jupyter.keys.source import without_passwords


@pytest.mark.parametrize(
    ("source", "clean"),
    [
        ("password = 'hunter2'\nn = 1", 'password = "[redacted]"\nn = 1'),
        ("é = db(token='abc1', user='me')", "é = db(token=\"[redacted]\", user='me')"),
        ("c['api_key'] = c.secret = 'abc1'", "c['api_key'] = c.secret = \"[redacted]\""),
        ("%%time\nDB_PASSWORD: str = 'sommer'", '%%time\nDB_PASSWORD: str = "[redacted]"'),
        ("key = 'user_id'\ntokens = 'a b'", None),
        ("password = input()\ntoken = ''", None),
        ("password = (", None),
        ("%time password = 'hunter2'; x = 1", '%time password = "[redacted]"; x = 1'),
        ("c[\"token\"] = 'a1' 'b2'", 'c["token"] = "[redacted]"'),
        ("token = other = '''a\n1'''", 'token = other = "[redacted]"'),
        ("print(\"password = 'x1'\")  # token = 'x1'", None),
        ("if token == 'x1': pass", None),
        ("f(db['pwd'], a='x1')", None),
        ("password = 'bub'", 'password = "[redacted]"'),
        ("token = \\\n  'x1'", 'token = \\\n  "[redacted]"'),
        ("token = (  # mine\n  'x1')", 'token = (  # mine\n  "[redacted]")'),
        ("def f(token: str | None = 'x1')", 'def f(token: str | None = "[redacted]")'),
        ("if token: mode = 'x1'", None),
        ("if token: password = 'x1'", 'if token: password = "[redacted]"'),
    ],
)
def test_a_password_written_in_a_cell_is_taken_out(source: str, clean: str | None) -> None:
    assert without_passwords(source) == (source if clean is None else clean)


@pytest.mark.parametrize("begin", ["token:", "token: ", "token =", "token = (", "token: a"])
@pytest.mark.parametrize("blank", [" ", "\n", "\t", "\\\n", "#\n"])
def test_long_runs_of_blanks_take_no_longer_than_other_text(begin: str, blank: str) -> None:
    """A pattern that tries all ways to share them out would be at it for weeks."""
    source = begin + blank * 100_000 + "x"
    assert without_passwords(source) == source
