"""Which conversation a kernel holds, as a file beside its connection file says it."""

from __future__ import annotations

from pathlib import Path

from lmc_jupyter.conversation.of_kernel import OfKernel


def test_the_word_of_a_kernel_that_is_gone_is_taken_away_and_no_other_file(tmp_path: Path) -> None:
    here = OfKernel(tmp_path / "kernel-1.json")
    for name in ("kernel-1.json", "lmc-other.jsonl", "lmc-gone.conversation", "a.conversation"):
        (tmp_path / name).write_text("{}")
    here.id = "0123456789ab"
    here.tidy()
    assert here.id == "0123456789ab"
    left = {path.name for path in tmp_path.iterdir()} - {"kernel-1.json"}
    assert left == {"lmc-kernel-1.conversation", "lmc-other.jsonl", "a.conversation"}
