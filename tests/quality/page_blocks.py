"""The blocks of an HTML page, in its order: what people point at when they say which part of a page they came to read.

A block is the text between two borders of elements that browsers show as blocks, white space made one blank. Blocks
without a letter or digit do not count. So a position is a number that stays the same as long as the page does.
"""

import hashlib
import re

import lxml.html

BLOCKS = set("""address article aside blockquote body br button caption center dd details dialog dir div dl dt fieldset
figcaption figure footer form h1 h2 h3 h4 h5 h6 header hr html legend li main menu nav ol option p pre section select
summary table tbody td textarea tfoot th thead tr ul""".split())
SILENT = set("head script style template noscript iframe object svg canvas audio video".split())
TOKEN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7ff]|[^\W_\u3040-\u30ff\u3400-\u9fff\uac00-\ud7ff]+")


def decoded(raw):
    """A page as text. UTF-8 is recognized, even under another name; otherwise its own word for its encoding counts."""
    try:
        return re.sub(r"^\s*<\?xml[^>]*\?>", "", raw.decode("utf-8-sig"))
    except UnicodeDecodeError:
        pass
    named = re.search(rb"""charset\s*=\s*["']?([-\w]+)""", raw[:2048], re.I) or re.match(
        rb"""<\?xml[^>]*encoding=["']([-\w]+)""", raw)
    name = named.group(1).decode() if named else "utf-8"
    return re.sub(r"^\s*<\?xml[^>]*\?>", "", raw.decode(name, "replace"))


class Reader:
    def __init__(self):
        self.blocks, self.open, self.owner = [], [], None

    def border(self):
        text = " ".join("".join(self.open).split())
        if TOKEN.search(text):
            self.blocks.append((text, self.owner))
        self.open, self.owner = [], None

    def add(self, text, element):
        if text:
            self.open.append(text)
            if text.strip() and self.owner is None:
                self.owner = element

    def read(self, element):
        if isinstance(element.tag, str) and element.tag not in SILENT:
            is_block = element.tag in BLOCKS
            if is_block:
                self.border()
            self.add(element.text, element)
            for child in element:
                self.read(child)
                self.add(child.tail, element)
            if is_block:
                self.border()


def blocks(html):
    """[(text, the element that it begins in)]"""
    reader = Reader()
    if html.strip():
        reader.read(lxml.html.document_fromstring(html))
    reader.border()
    return reader.blocks


def chosen(all_blocks, ranges):
    """The texts of the blocks that "0-3,7,9-12" names."""
    texts = []
    for part in ranges.split(","):
        first, _, last = part.partition("-")
        texts += [text for text, _ in all_blocks[int(first):int(last or first) + 1]]
    return texts


def fingerprint(texts):
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:16]


def tokens(text):
    """Words and numbers in small letters; each sign of Chinese, Japanese and Korean is one."""
    return TOKEN.findall(text.lower())
