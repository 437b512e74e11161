# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the families of checks share."""


class Check:
    """Runs portops, counts what was compared and keeps what disagreed."""

    def __init__(self, portops, text):
        self.portops, self.text = portops, text
        self.results = self.elements = 0
        self.disagreements = []

    def all(self, device):
        """Makes all comparisons of the family whose names are wanted."""
        raise NotImplementedError

    def wants(self, name):
        return self.text in name

    def run(self, name, op, values):
        """Whether the call succeeded."""
        try:
            self.portops.run(op, self.portops.arguments(values))
        except RuntimeError as error:
            self.disagreements.append(f"{name}: {error}")
            return False
        return True

    def judge(self, name, actual, expected, wrong):
        """`wrong` says of each element whether it disagrees."""
        self.results += 1
        self.elements += expected.numel()
        if wrong.any():
            places = wrong.nonzero()
            first = tuple(places[0].tolist())
            self.disagreements.append(f"{name}: {len(places)} of {expected.numel()} elements, the first at "
                                      f"{list(first)}: {actual[first].item()}, expected {expected[first].item()}")
