"""`%lmc check` in JupyterLab: the notebook as it stands on the screen, which is saved first."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.browser


def output(notebook, index):
    """What the cell shows, each line without the blanks at its end."""
    found = notebook.outputs(index)
    text = "".join("".join(each["text"]) for each in found if each["output_type"] == "stream")
    return [line.rstrip() for line in text.split("\n")]


def test_the_notebook_is_saved_and_checked_as_it_stands_on_the_screen(page, lab, open_notebook):
    name = lab.write(
        "penguins again.ipynb",
        "import random\nimport pandas as pd",
        "df = pd.DataFrame({'mass': [3750, 3800, 3250]})\ndf",
        "print(random.random())",
        "print(mean)",
        "mean = df.mass.mean()",
        "%load_ext lmc_jupyter",
        "%lmc check",
    )
    notebook = open_notebook(name)
    for index in (0, 1, 2, 4, 3, 5, 6):
        notebook.run_code(index)
        notebook.wait_done(index)
    page.wait_for_function(
        "() => window.jupyterapp.shell.currentWidget.content.widgets.filter(c => c.model.type"
        " === 'code')[6].model.outputs.toJSON().some(o => `${o.text}`.includes('again.'))"
    )
    first, second, _, *rows = lines = output(notebook, 6)
    assert not [line for line in lines if "as saved" in line]
    assert first == f"{name} does not run again."
    assert second.endswith("3 same output, 1 not compared, 1 different, 1 out of order, 1 skipped.")
    assert rows[0].split() == ["1-2", "same", "output"]
