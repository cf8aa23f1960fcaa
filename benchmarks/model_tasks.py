"""Small notebook tasks for the embedded model, each with a machine checker.

One rule: a checker looks at what a person would see, the printed text and the data of the
figures, never at the code. `reference` shows that it can be satisfied. The tasks of the split
"tune" may be looked at while the prompt is being worked on; those of "kept" only give the
figure that we publish.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Seen:
    """What a person sees after the code has run.

    `figures`: one dict per figure, of `lines` [[xs, ys], ...], `bars` [heights],
    `points` [[x, y], ...] and `wedges` (how many); `files`: name -> text of the working folder.
    """

    text: str = ""
    figures: list[dict[str, Any]] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)

    def number(self, value: float, places: float = 0.006) -> bool:
        """Whether the number is in the text, to within `places`."""
        return any(abs(n - value) <= places for n in numbers(self.text))

    def row(self, values: Sequence[float]) -> bool:
        """Whether the numbers stand in the text in this order, one behind the other."""
        found, wanted = numbers(self.text), list(values)
        return any(
            all(math.isclose(a, b, abs_tol=1e-6) for a, b in zip(found[i:], wanted, strict=False))
            for i in range(len(found) - len(wanted) + 1)
        )

    def words(self, *words: str) -> bool:
        """Whether each word is in the text, in any case."""
        return all(word.lower() in self.text.lower() for word in words)

    def curve(self, f: Callable[[float], float], low: float, high: float) -> bool:
        """Whether a line of a figure is y = f(x) from `low` to `high`."""
        return any(_is_curve(line, f, low, high) for fig in self.figures for line in fig["lines"])

    def bars(self, values: Sequence[float]) -> bool:
        """Whether a figure has exactly these bars, in any order."""
        return any(
            len(fig["bars"]) == len(values)
            and all(
                math.isclose(a, b, rel_tol=1e-6)
                for a, b in zip(sorted(fig["bars"]), sorted(values), strict=True)
            )
            for fig in self.figures
        )

    def histogram(self, total: int) -> bool:
        """Whether a figure has a histogram of so many values."""
        return any(
            len(fig["bars"]) >= 5 and math.isclose(sum(fig["bars"]), total) for fig in self.figures
        )


def numbers(text: str) -> list[float]:
    """The numbers in a text; 9,222,500 is one number."""
    plain = re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", text)
    return [float(n) for n in re.findall(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?", plain)]


def _is_curve(
    line: list[list[float]], f: Callable[[float], float], low: float, high: float
) -> bool:
    xs, ys = line
    return (
        len(xs) >= 5
        and abs(min(xs) - low) < 0.2
        and abs(max(xs) - high) < 1.01  # range() leaves the end out
        and all(
            math.isclose(y, f(x), rel_tol=1e-6, abs_tol=1e-6) for x, y in zip(xs, ys, strict=True)
        )
    )


@dataclass(frozen=True)
class Task:
    """A question in a notebook.

    Parameters
    ----------
    setup : code that has run before in the notebook
    reference : code that does what is asked
    check : whether what is seen is right
    says : a pattern that a right closing sentence has, where one can be given
    """

    name: str
    kind: str
    split: str
    question: str
    check: Callable[[Seen], bool]
    reference: str
    setup: str = ""
    says: str = ""


CITIES = """import pandas as pd
df = pd.DataFrame({
    "city": ["Lyon", "Oslo", "Turin", "Porto", "Ghent"],
    "population": [522000, 709000, 1841000, 232000, 265000],
    "area": [47.9, 454.0, 130.0, 41.4, 156.2],
})"""

ORDERS = """import pandas as pd
df = pd.DataFrame({
    "product": ["tea", "milk", "tea", "bread", "milk", "tea"],
    "amount": [3, 5, 4, 2, 1, 6],
    "price": [2.5, 1.2, 2.5, 3.1, 1.2, 2.5],
})"""

NOTES = '''from pathlib import Path
Path("notes.txt").write_text("""Buy bread and milk
Call the dentist on Monday
Water the plants in the kitchen and the hall
Read chapter four
Send the letter to Anna
""")'''

PRICES = '''from pathlib import Path
Path("data.csv").write_text("""item,price,stock
pen,1.50,120
book,12.00,35
lamp,24.90,8
desk,149.60,3
""")'''


def _squares(seen: Seen) -> bool:
    found = numbers(seen.text)
    return all(float(n * n) in found for n in range(1, 11))


def _letters(seen: Seen) -> bool:
    pairs = dict(re.findall(r"['\"]?\b([misp])\b['\"]?\W+(\d+)", seen.text))
    return pairs == {"m": "1", "i": "4", "s": "4", "p": "2"}


def _only(seen: Seen, values: Sequence[float]) -> bool:
    return seen.row(values) and len(numbers(seen.text)) <= len(values) + 1


TASKS: tuple[Task, ...] = (
    # The tuning part ------------------------------------------------------------------------------
    Task(
        "product",
        "arithmetic",
        "tune",
        "What is 2380*3875?",
        lambda s: s.number(9222500),
        "2380*3875",
        says=r"9,?222,?500",
    ),
    Task(
        "product-and-sine",
        "compound",
        "tune",
        "What is 2380*3875? Then plot sin(x) from 0 to 10.",
        lambda s: s.number(9222500) and s.curve(math.sin, 0, 10),
        "import numpy as np, matplotlib.pyplot as plt\nprint(2380*3875)\n"
        "x = np.linspace(0, 10, 200)\nplt.plot(x, np.sin(x))\nplt.show()",
        says=r"9,?222,?500",
    ),
    Task(
        "mean-and-bars",
        "compound",
        "tune",
        "Compute the mean of 4, 9 and 11, and then draw a bar chart of the three numbers.",
        lambda s: s.number(8) and s.bars([4, 9, 11]),
        "import matplotlib.pyplot as plt\nprint((4 + 9 + 11) / 3)\nplt.bar([1, 2, 3], [4, 9, 11])",
        says=r"\b8\b",
    ),
    Task(
        "percent",
        "arithmetic",
        "tune",
        "What is 17.5% of 2480?",
        lambda s: s.number(434),
        "2480 * 0.175",
        says=r"434",
    ),
    Task(
        "interest",
        "arithmetic",
        "tune",
        "If I put 1000 euros at 5% interest per year, how much is it after 10 years?",
        lambda s: s.number(1628.89, 0.01),
        "1000 * 1.05 ** 10",
        says=r"1,?628",
    ),
    Task(
        "celsius",
        "arithmetic",
        "tune",
        "Convert 98.6 degrees Fahrenheit to Celsius.",
        lambda s: s.number(37),
        "(98.6 - 32) * 5 / 9",
        says=r"37",
    ),
    Task(
        "reverse",
        "strings",
        "tune",
        "Reverse the word notebook.",
        lambda s: s.words("koobeton"),
        "print('notebook'[::-1])",
        says=r"koobeton",
    ),
    Task(
        "vowels",
        "strings",
        "tune",
        "How many vowels are in 'programming in python'?",
        lambda s: _only(s, [5]),
        "sum(c in 'aeiou' for c in 'programming in python')",
        says=r"\b5\b|five",
    ),
    Task(
        "letters",
        "strings",
        "tune",
        "Count how often each letter occurs in mississippi.",
        _letters,
        "from collections import Counter\nprint(dict(Counter('mississippi')))",
    ),
    Task(
        "descending",
        "lists",
        "tune",
        "Sort these numbers in descending order: 5, 2, 9, 1, 7",
        lambda s: s.row([9, 7, 5, 2, 1]),
        "print(sorted([5, 2, 9, 1, 7], reverse=True))",
        says=r"9, 7, 5",
    ),
    Task(
        "median",
        "lists",
        "tune",
        "What is the median of 12, 7, 3, 9, 15 and 21?",
        lambda s: s.number(10.5),
        "import statistics\nprint(statistics.median([12, 7, 3, 9, 15, 21]))",
        says=r"10\.5",
    ),
    Task(
        "primes",
        "lists",
        "tune",
        "List the prime numbers below 50.",
        lambda s: s.row([2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47]),
        "print([n for n in range(2, 50) if all(n % d for d in range(2, n))])",
    ),
    Task(
        "fibonacci",
        "lists",
        "tune",
        "Print the first 12 Fibonacci numbers.",
        lambda s: s.row([1, 1, 2, 3, 5, 8, 13, 21, 34, 55]),
        "a, b = 0, 1\nfor _ in range(12):\n    print(a)\n    a, b = b, a + b",
    ),
    Task(
        "squares",
        "lists",
        "tune",
        "Make a table of the squares of the numbers 1 to 10.",
        _squares,
        "for n in range(1, 11):\n    print(n, n * n)",
    ),
    Task(
        "days-between",
        "dates",
        "tune",
        "How many days are between 2024-01-15 and 2024-07-04?",
        lambda s: s.number(171),
        "from datetime import date\nprint((date(2024, 7, 4) - date(2024, 1, 15)).days)",
        says=r"171",
    ),
    Task(
        "weekday",
        "dates",
        "tune",
        "What day of the week was 20 July 1969?",
        lambda s: s.words("sunday"),
        "from datetime import date\nprint(date(1969, 7, 20).strftime('%A'))",
        says=r"(?i)sunday",
    ),
    Task(
        "count-lines",
        "files",
        "tune",
        "How many lines are in the file notes.txt?",
        lambda s: s.number(5),
        "print(len(open('notes.txt').readlines()))",
        NOTES,
        says=r"\b5\b|five",
    ),
    Task(
        "csv-average",
        "files",
        "tune",
        "Read data.csv and show the average of the column price.",
        lambda s: s.number(47),
        "import pandas as pd\nprint(pd.read_csv('data.csv').price.mean())",
        PRICES,
        says=r"47",
    ),
    Task(
        "largest-city",
        "dataframe",
        "tune",
        "Which city in df has the largest population?",
        lambda s: s.words("turin") and not s.words("oslo"),
        "df.loc[df.population.idxmax(), 'city']",
        CITIES,
        r"(?i)turin",
    ),
    Task(
        "total-per-product",
        "dataframe",
        "tune",
        "Show the total amount per product in df.",
        lambda s: all(
            re.search(rf"{p}\W+{n}\b", s.text) for p, n in (("tea", 13), ("milk", 6), ("bread", 2))
        ),
        "df.groupby('product')['amount'].sum()",
        ORDERS,
    ),
    Task(
        "density",
        "dataframe",
        "tune",
        "Add a column density to df, population divided by area, and show df.",
        lambda s: s.words("density", "Lyon", "Ghent") and s.number(10897.7, 0.1),
        "df['density'] = df.population / df.area\ndf",
        CITIES,
    ),
    Task(
        "average-of-variable",
        "dataframe",
        "tune",
        "What is the average of temperatures?",
        lambda s: s.number(20.2),
        "sum(temperatures) / len(temperatures)",
        "temperatures = [18.5, 21.0, 19.5, 23.0, 19.0]",
        r"20\.2",
    ),
    Task(
        "equations",
        "numpy",
        "tune",
        "Solve the equations 3x + 2y = 16 and x - y = 2.",
        lambda s: s.number(4) and s.number(2),
        "import numpy as np\nprint(np.linalg.solve([[3, 2], [1, -1]], [16, 2]))",
        says=r"4",
    ),
    Task(
        "identity",
        "numpy",
        "tune",
        "Make a 3x3 identity matrix with numpy.",
        lambda s: s.row([1, 0, 0, 0, 1, 0, 0, 0, 1]),
        "import numpy as np\nprint(np.eye(3))",
    ),
    Task(
        "parabola",
        "plots",
        "tune",
        "Plot x squared from -5 to 5.",
        lambda s: s.curve(lambda x: x * x, -5, 5),
        "import numpy as np, matplotlib.pyplot as plt\nx = np.linspace(-5, 5)\nplt.plot(x, x ** 2)",
    ),
    Task(
        "fruit-bars",
        "plots",
        "tune",
        "Draw a bar chart: apples 5, pears 3, plums 8.",
        lambda s: s.bars([5, 3, 8]),
        "import matplotlib.pyplot as plt\nplt.bar(['apples', 'pears', 'plums'], [5, 3, 8])",
    ),
    Task(
        "dice",
        "random",
        "tune",
        "Roll two dice 1000 times and plot a histogram of the sums.",
        lambda s: s.histogram(1000),
        "import random, matplotlib.pyplot as plt\n"
        "roll = lambda: random.randint(1, 6) + random.randint(1, 6)\n"
        "plt.hist([roll() for _ in range(1000)], bins=range(2, 14))",
    ),
    Task(
        "emails",
        "regex",
        "tune",
        "Find all email addresses in the text 'write to ann@example.org or to bob@site.net today'.",
        lambda s: s.words("ann@example.org", "bob@site.net") and not s.words("today"),
        "import re\nre.findall(r'\\S+@\\S+', 'write to ann@example.org or to bob@site.net today')",
        says=r"ann@example\.org",
    ),
    Task(
        "json",
        "dicts",
        "tune",
        "Show the dictionary {'name': 'Ada', 'langs': [1, 2]} as JSON.",
        lambda s: bool(re.search(r'"name":\s*"Ada"', s.text)),
        "import json\nprint(json.dumps({'name': 'Ada', 'langs': [1, 2]}))",
    ),
    Task(
        "small-cities",
        "dataframe",
        "tune",
        "Show the cities in df with an area below 100.",
        lambda s: s.words("Lyon", "Porto") and not s.words("Oslo") and not s.words("Turin"),
        "df[df.area < 100]",
        CITIES,
        says=r"(?s)Lyon.*Porto|Porto.*Lyon",
    ),
    Task(
        "total-population",
        "dataframe",
        "tune",
        "What is the total population in df?",
        lambda s: s.number(3569000),
        "df.population.sum()",
        CITIES,
        r"3,?569,?000",
    ),
    Task(
        "scatter",
        "dataframe",
        "tune",
        "Make a scatter plot of area against population in df.",
        lambda s: any(len(f["points"]) == 5 for f in s.figures),
        "df.plot.scatter(x='area', y='population')",
        CITIES,
    ),
    Task(
        "wrong-case",
        "dataframe",
        "tune",
        "What is the mean Price in df?",
        lambda s: s.number(2.1667, 0.01),
        "df.price.mean()",
        ORDERS,
        r"2\.1[67]",
    ),
    Task(
        "revenue",
        "dataframe",
        "tune",
        "What is the sum of amount times price over all rows of df?",
        lambda s: s.number(45.9, 0.01),
        "(df.amount * df.price).sum()",
        ORDERS,
        r"45\.9",
    ),
    Task(
        "capital-letters",
        "compound",
        "tune",
        "How many letters does 'Mediterranean' have? And write it backwards.",
        lambda s: s.number(13) and s.words("naenarretideM"),
        "print(len('Mediterranean'))\nprint('Mediterranean'[::-1])",
        says=r"13",
    ),
    Task(
        "hundred-and-curve",
        "compound",
        "tune",
        "What is 144 divided by 9? Afterwards draw the function x**3 between -2 and 2.",
        lambda s: s.number(16) and s.curve(lambda x: x**3, -2, 2),
        "import numpy as np, matplotlib.pyplot as plt\nprint(144 / 9)\n"
        "x = np.linspace(-2, 2)\nplt.plot(x, x ** 3)",
        says=r"\b16\b",
    ),
    Task(
        "cheapest",
        "dataframe",
        "tune",
        "Which product in df has the lowest price?",
        lambda s: s.words("milk") and not s.words("bread"),
        "df.loc[df.price.idxmin(), 'product']",
        ORDERS,
        r"milk",
    ),
    Task(
        "rows-per-product",
        "dataframe",
        "tune",
        "How often does each product occur in df?",
        lambda s: all(
            re.search(rf"{p}\W+{n}\b", s.text) for p, n in (("tea", 3), ("milk", 2), ("bread", 1))
        ),
        "df['product'].value_counts()",
        ORDERS,
        says=r"(?s)3.*2.*1",
    ),
    Task(
        "rename",
        "dataframe",
        "tune",
        "Rename the column area of df to km2 and show df.",
        lambda s: s.words("km2", "Lyon", "Ghent") and not s.words("area"),
        "df = df.rename(columns={'area': 'km2'})\ndf",
        CITIES,
    ),
    Task(
        "top-two",
        "dataframe",
        "tune",
        "Show the two largest cities in df by population.",
        lambda s: s.words("Turin", "Oslo") and not s.words("Lyon") and not s.words("Porto"),
        "df.nlargest(2, 'population')",
        CITIES,
        says=r"(?s)Turin.*Oslo|Oslo.*Turin",
    ),
    Task(
        "list-maximum",
        "dataframe",
        "tune",
        "What is the highest value in temperatures and at which position is it?",
        lambda s: s.number(23) and (s.number(3) or s.number(4)),
        "print(max(temperatures), temperatures.index(max(temperatures)))",
        "temperatures = [18.5, 21.0, 19.5, 23.0, 19.0]",
        r"23",
    ),
    Task(
        "line-of-list",
        "dataframe",
        "tune",
        "Plot the values of temperatures as a line.",
        lambda s: any(ys == [18.5, 21, 19.5, 23, 19] for f in s.figures for _, ys in f["lines"]),
        "import matplotlib.pyplot as plt\nplt.plot(temperatures)",
        "temperatures = [18.5, 21.0, 19.5, 23.0, 19.0]",
    ),
    # The part kept apart --------------------------------------------------------------------------
    Task(
        "power",
        "arithmetic",
        "kept",
        "What is 2 to the power of 64?",
        lambda s: s.words("18446744073709551616"),
        "2 ** 64",
        says=r"18446744073709551616",
    ),
    Task(
        "tip",
        "arithmetic",
        "kept",
        "A meal costs 84.50. What is the total with a tip of 20%?",
        lambda s: s.number(101.4),
        "84.5 * 1.2",
        says=r"101\.4",
    ),
    Task(
        "divisor",
        "arithmetic",
        "kept",
        "What is the greatest common divisor of 252 and 198?",
        lambda s: s.number(18),
        "import math\nmath.gcd(252, 198)",
        says=r"\b18\b",
    ),
    Task(
        "minutes",
        "arithmetic",
        "kept",
        "How many minutes are there in 3 days and 4 hours?",
        lambda s: s.number(4560),
        "(3 * 24 + 4) * 60",
        says=r"4,?560",
    ),
    Task(
        "root",
        "arithmetic",
        "kept",
        "Calculate the square root of 1764 plus 8 cubed.",
        lambda s: s.number(554) or s.number(47.707, 0.01),
        "import math\nmath.sqrt(1764) + 8 ** 3",
    ),
    Task(
        "factorial-and-squares",
        "compound",
        "kept",
        "What is 12 factorial? Then plot the squares of 0 to 10.",
        lambda s: s.number(479001600) and s.curve(lambda x: x * x, 0, 10),
        "import math, matplotlib.pyplot as plt\nprint(math.factorial(12))\n"
        "plt.plot(range(11), [n * n for n in range(11)])",
        says=r"479,?001,?600",
    ),
    Task(
        "sum-and-curve",
        "compound",
        "kept",
        "What is the sum of 1 to 200? Also plot cos(x) between 0 and 6.",
        lambda s: s.number(20100) and s.curve(math.cos, 0, 6),
        "import numpy as np, matplotlib.pyplot as plt\nprint(sum(range(1, 201)))\n"
        "x = np.linspace(0, 6)\nplt.plot(x, np.cos(x))",
        says=r"20,?100",
    ),
    Task(
        "words",
        "strings",
        "kept",
        "How many words are in the sentence 'the quick brown fox jumps over the dog'?",
        lambda s: _only(s, [8]),
        "len('the quick brown fox jumps over the dog'.split())",
        says=r"\b8\b|eight",
    ),
    Task(
        "capitals",
        "strings",
        "kept",
        "Write 'hello from the notebook' in capital letters.",
        lambda s: "HELLO FROM THE NOTEBOOK" in s.text,
        "'hello from the notebook'.upper()",
    ),
    Task(
        "palindrome",
        "strings",
        "kept",
        "Is 'rotator' a palindrome?",
        lambda s: bool(re.search(r"\b(True|Yes|is a palindrome)\b", s.text)),
        "'rotator' == 'rotator'[::-1]",
        says=r"(?i)\bis\b.*palindrome|yes|true",
    ),
    Task(
        "unique",
        "lists",
        "kept",
        "Remove the duplicates from [3, 1, 3, 2, 1, 5].",
        lambda s: sorted(numbers(s.text)[-4:]) == [1, 2, 3, 5] and len(numbers(s.text)) in (4, 10),
        "print(sorted(set([3, 1, 3, 2, 1, 5])))",
    ),
    Task(
        "evens",
        "lists",
        "kept",
        "What is the sum of the even numbers from 1 to 100?",
        lambda s: s.number(2550),
        "sum(range(2, 101, 2))",
        says=r"2,?550",
    ),
    Task(
        "deviation",
        "lists",
        "kept",
        "What are the mean and the standard deviation of 4, 8, 6, 5, 3?",
        lambda s: s.number(5.2) and (s.number(1.92) or s.number(1.72)),
        "import statistics as st\nx = [4, 8, 6, 5, 3]\nprint(st.mean(x), st.stdev(x))",
        says=r"5\.2",
    ),
    Task(
        "longest-word",
        "lists",
        "kept",
        "Which is the longest word of pear, banana, fig, strawberry, plum?",
        lambda s: s.words("strawberry") and not s.words("banana"),
        "max(['pear', 'banana', 'fig', 'strawberry', 'plum'], key=len)",
        says=r"strawberry",
    ),
    Task(
        "later-date",
        "dates",
        "kept",
        "Which date is 45 days after 10 February 2024?",
        lambda s: bool(
            re.search(r"2024-03-26|26 March|March 26|26\.0?3\.2024|03/26/2024|2024, 3, 26", s.text)
        ),
        "from datetime import date, timedelta\nprint(date(2024, 2, 10) + timedelta(45))",
        says=r"26",
    ),
    Task(
        "leap",
        "dates",
        "kept",
        "Which years from 1996 to 2012 are leap years?",
        lambda s: s.row([1996, 2000, 2004, 2008, 2012]),
        "import calendar\nprint([y for y in range(1996, 2013) if calendar.isleap(y)])",
    ),
    Task(
        "longest-line",
        "files",
        "kept",
        "Show the longest line in notes.txt.",
        lambda s: (
            s.words("Water the plants in the kitchen and the hall") and not s.words("dentist")
        ),
        "print(max(open('notes.txt'), key=len))",
        NOTES,
    ),
    Task(
        "write-file",
        "files",
        "kept",
        "Write the numbers 1 to 5 to a file numbers.txt, one per line.",
        lambda s: s.files.get("numbers.txt", "").split() == ["1", "2", "3", "4", "5"],
        "open('numbers.txt', 'w').write('\\n'.join('12345'))",
    ),
    Task(
        "csv-rows",
        "files",
        "kept",
        "How many rows does data.csv have, without the header?",
        lambda s: s.number(4),
        "import pandas as pd\nprint(len(pd.read_csv('data.csv')))",
        PRICES,
        says=r"\b4\b|four",
    ),
    Task(
        "big-cities",
        "dataframe",
        "kept",
        "Show the rows of df with a population above 500000.",
        lambda s: (
            s.words("Lyon", "Oslo", "Turin") and not s.words("Porto") and not s.words("Ghent")
        ),
        "df[df.population > 500000]",
        CITIES,
        says=r"(?s)Lyon.*Oslo.*Turin",
    ),
    Task(
        "sort-area",
        "dataframe",
        "kept",
        "Sort df by area, largest first.",
        lambda s: (
            re.findall(r"Lyon|Oslo|Turin|Porto|Ghent", s.text)
            == ["Oslo", "Ghent", "Turin", "Lyon", "Porto"]
        ),
        "df.sort_values('area', ascending=False)",
        CITIES,
    ),
    Task(
        "mean-amount",
        "dataframe",
        "kept",
        "What is the average amount in df?",
        lambda s: s.number(3.5),
        "df.amount.mean()",
        ORDERS,
        r"3\.5",
    ),
    Task(
        "population-bars",
        "dataframe",
        "kept",
        "Plot the population of each city in df as a bar chart.",
        lambda s: s.bars([522000, 709000, 1841000, 232000, 265000]),
        "df.plot.bar(x='city', y='population')",
        CITIES,
    ),
    Task(
        "matrix",
        "numpy",
        "kept",
        "Multiply the matrices [[1, 2], [3, 4]] and [[0, 1], [1, 0]] with numpy.",
        lambda s: s.row([2, 1, 4, 3]),
        "import numpy as np\nprint(np.array([[1, 2], [3, 4]]) @ np.array([[0, 1], [1, 0]]))",
        says=r"(?s)2,? 1.*4,? 3",
    ),
    Task(
        "linspace",
        "numpy",
        "kept",
        "Make an array of 5 evenly spaced numbers from 0 to 1.",
        lambda s: s.row([0, 0.25, 0.5, 0.75, 1]),
        "import numpy as np\nprint(np.linspace(0, 1, 5))",
    ),
    Task(
        "two-curves",
        "plots",
        "kept",
        "Plot sin(x) and cos(x) from 0 to 6 in one figure, with a legend.",
        lambda s: s.curve(math.sin, 0, 6) and s.curve(math.cos, 0, 6) and len(s.figures) == 1,
        "import numpy as np, matplotlib.pyplot as plt\nx = np.linspace(0, 6)\n"
        "plt.plot(x, np.sin(x), label='sin')\nplt.plot(x, np.cos(x), label='cos')\nplt.legend()",
    ),
    Task(
        "pie",
        "plots",
        "kept",
        "Draw a pie chart of rent 800, food 300, travel 120.",
        lambda s: any(f["wedges"] == 3 for f in s.figures),
        "import matplotlib.pyplot as plt\n"
        "plt.pie([800, 300, 120], labels=['rent', 'food', 'travel'])",
    ),
    Task(
        "normal",
        "random",
        "kept",
        "Draw a histogram of 500 normally distributed random numbers.",
        lambda s: s.histogram(500),
        "import numpy as np, matplotlib.pyplot as plt\n"
        "plt.hist(np.random.normal(size=500), bins=20)",
    ),
    Task(
        "digits",
        "regex",
        "kept",
        "Extract all the numbers from the text 'room 12, floor 7, seat 305'.",
        lambda s: s.row([12, 7, 305]) and not s.words("seat"),
        "import re\nprint(re.findall(r'\\d+', 'room 12, floor 7, seat 305'))",
    ),
    Task(
        "binary",
        "strings",
        "kept",
        "Write 156 in binary.",
        lambda s: s.words("10011100"),
        "print(bin(156))",
        says=r"10011100",
    ),
)
"""All tasks; the names are unique."""
