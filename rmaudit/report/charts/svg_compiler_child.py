"""Compile Vega-Lite charts to SVG in a separate process, which may die where memory is short.

Run by its path. Reads a JSON list of Vega-Lite specs on standard input and writes a line of JSON
for each: its SVG, or null where the compiler refuses it. A line is written as soon as it is made.
"""

from __future__ import annotations

import json
import sys


def main() -> None:
    """Compile the charts on standard input; write one line of JSON for each to standard output."""
    import vl_convert

    for spec in json.load(sys.stdin):
        try:
            svg = vl_convert.vegalite_to_svg(spec, allowed_base_urls=[])
        except ValueError:  # what vl_convert raises
            svg = None
        sys.stdout.write(json.dumps(svg) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
