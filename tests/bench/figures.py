"""What the bench prints: rows of figures, each with the spread of its runs."""

import re


class Figure:
    """The values of several runs. Formatted, it is their median, with the least and the most behind it."""

    def __init__(self, values):
        self.values = sorted(values)
        self.median = self.values[len(self.values) // 2]

    def __format__(self, spec):
        text = format(self.median, spec)
        least, most = format(self.values[0], spec), format(self.values[-1], spec)
        return text if least == most else f"{text} ({least} to {most})"


class Row:
    """A line of the table. `measured` and `compared` are texts with places for figures, as str.format() has them."""

    def __init__(self, measured, compared):
        self.measured = measured
        self.compared = compared
        self.values = {}
        self.troubles = []

    def add(self, values, trouble):
        for key, value in values.items():
            self.values.setdefault(key, []).append(value)
        self.troubles += [trouble] if trouble else []

    def cells(self):
        figures = {key: Figure(values) for key, values in self.values.items()}
        return [self.measured.format(**figures) + "".join(self.troubles), self.compared.format(**figures)]


class Table:
    def __init__(self):
        self.rows = {}

    def add(self, name, measured, compared, values, trouble=""):
        self.rows.setdefault(name, Row(measured, compared)).add(values, trouble)

    def merge(self, other):
        """The rows of one more run of a part."""
        for name, row in other.rows.items():
            mine = self.rows.setdefault(name, Row(row.measured, row.compared))
            for key, values in row.values.items():
                mine.values.setdefault(key, []).extend(values)
            mine.troubles += row.troubles

    def lines(self):
        return [f"| {name} | " + " | ".join(row.cells()) + " |" for name, row in self.rows.items()]


def trouble(result):
    words = {"broken": "broken", "bad": "refused", "drops": "packets dropped"}
    return "".join(f", **{result[key]} {word}**" for key, word in words.items() if result[key])
