#!/usr/bin/env python3
"""Prints the Flesch reading ease and the longest sentence of pages.

    pip install textstat==0.7.3
    docs/log/readability.py README.md docs/start/*.md

Counts prose alone: blocks of code, tables, headings and pictures are left out, links are their texts. An item of a
list is a paragraph, and a paragraph that ends without a full stop is a sentence.
"""

import re
import sys

import textstat

ABBREVIATIONS = r"(?<!\bal)(?<!\b[A-Z])"


def paragraphs(page):
    text = "".join(page.split("```")[::2])
    text = re.sub(r"<!--.*?-->", "", text, flags=re.S)
    text = "\n".join(line for line in text.splitlines() if not line.startswith(("|", "#", "!")))
    for part in re.split(r"\n\s*\n|\n(?=- )", text):
        part = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", part)
        part = " ".join(re.sub(r"[*`]|^- ", "", part.strip()).split())
        if part:
            yield part if part[-1] in ".!?" else part.rstrip(":;,") + "."


for path in sys.argv[1:]:
    with open(path) as page:
        prose = list(paragraphs(page.read()))
    sentences = [one for part in prose for one in re.split(ABBREVIATIONS + r"[.!?]\s+", part)]
    longest = max(sentences, key=lambda one: len(one.split()))
    ease = textstat.flesch_reading_ease("\n".join(prose))
    print(f"{path}: {ease:.1f}; {len(longest.split())} words: {longest}")
