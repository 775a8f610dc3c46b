"""Documents with a question each, from Debian's packages: the sentence that describes a document is cut out of it.

A corpus is a generator of (text, query or None). Which package it reads stands in known_items.py. A document whose
question is not its own alone, such as "Introduction", is only there to be found by mistake.
"""

import collections
import gzip
import html.parser
import re

CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7ff]")



def own_questions(documents):
    """The documents, without the questions that two of them have."""
    documents = list(documents)
    count = collections.Counter(query for _, query in documents)
    for text, query in documents:
        yield text, query if count[query] == 1 else None


# ---- Manual pages ----

ESCAPES = [
    (re.compile(r"\\f(?:\[[^]]*\]|\(..|.)"), ""),
    (re.compile(r"\\s[-+]?\d"), ""),
    (re.compile(r"\\[*n](?:\[[^]]*\]|\(..|.)"), ""),
    (re.compile(r"\\\(aq|\\\[aq\]"), "'"),
    (re.compile(r"\\\((?:lq|rq|dq)|\\\[(?:lq|rq|dq)\]"), '"'),
    (re.compile(r"\\\(em|\\\[em\]|\\\(en"), "-"),
    (re.compile(r"\\(?:\(..|\[[^]]*\])"), " "),
    (re.compile(r"\\-"), "-"),
    (re.compile(r"\\[e\\]"), r"\\"),
    (re.compile(r"\\[&|^%:/,c]"), ""),
    (re.compile(r"\\."), " "),
]
BREAKS = {"PP", "P", "LP", "TP", "IP", "HP", "sp", "br", "Pp", "It", "nf", "fi"}
SILENT = {"TH", "Dd", "Dt", "Os", "so", "ad", "na", "hy", "nh", "ft", "in", "ti", "ta", "de", "ds", "if", "ie", "el",
          "ne", "RS", "RE", "EX", "EE", "TS", "TE", "PD", "UE", "ME", "Bl", "El", "Bd", "Ed", "nr", "DT", "ll", "ig"}


def plain(line):
    for pattern, replacement in ESCAPES:
        line = pattern.sub(replacement, line)
    return line


def roff_text(source):
    """A manual page as text: headings, paragraphs and words."""
    lines = []
    for line in source.splitlines():
        if re.match(r"[.']\s*\\\"", line) or line.startswith(".."):
            continue
        macro = re.match(r"[.']\s*([A-Za-z]+)\s*(.*)", line)
        if not macro:
            if not line.startswith((".", "'")):
                lines.append(plain(line))
            continue
        name, rest = macro.groups()
        if name in ("SH", "Sh", "SS", "Ss"):
            lines.append(f"\n{'#' if name in ('SH', 'Sh') else '##'} " + plain(rest).replace('"', "").strip() + "\n")
        elif name in BREAKS:
            lines.append("\n" + (plain(rest).replace('"', "") if name in ("IP", "It") else ""))
        elif name not in SILENT:
            lines.append(plain(rest).replace('"', ""))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


NAMES = r"(?:NAME|NOM|BEZEICHNUNG|名称|名前|名字|名\s*称|名\s*前)"
NAME_SECTION = re.compile(r"^# [^\n]*" + NAMES + r"[^\n]*\n(.*?)(?=^# |\Z)", re.S | re.M | re.I)


def manual_page(path, wants_cjk):
    source = gzip.decompress(path.read_bytes()).decode("utf-8", "replace")
    text = roff_text(source)
    section = NAME_SECTION.search(text)
    if not section or len(text) < 400:
        return None
    words = " ".join(section.group(1).split())
    parts = re.split(r"\s+-{1,2}\s+", words, maxsplit=1)
    if len(parts) < 2:
        return text, None
    query = parts[1].strip()
    if len(query) < 4 or len(query) > 300 or (wants_cjk and not CJK.search(query)):
        query = None
    return text[:section.start()] + text[section.end():], query


def manual_pages(root, folder, wants_cjk=False):
    for path in sorted((root / "usr/share/man" / folder).glob("man[0-9]*/*.gz")):
        if path.is_symlink():
            continue
        page = manual_page(path, wants_cjk)
        if page:
            yield page


def english_pages(root):
    yield from manual_pages(root, ".")


# ---- Pages of HTML ----

BLOCKS = {"p", "div", "li", "tr", "table", "ul", "ol", "dl", "dt", "dd", "pre", "section", "h1", "h2", "h3", "h4", "h5", "h6"}
LEFT_OUT = {"script", "style", "head", "header", "footer", "nav", "aside", "noscript"}
VOID = {"meta", "link", "br", "img", "input", "hr", "col", "base", "area", "wbr"}


class Reader(html.parser.HTMLParser):
    """Text without what surrounds it, and the title of the page."""

    def __init__(self, leave_out_classes):
        super().__init__(convert_charrefs=True)
        self.leave_out_classes = leave_out_classes
        self.open, self.out = [], []
        self.title, self.in_title, self.headings, self.heading = "", False, set(), None

    def hidden(self):
        return any(hidden for _, hidden in self.open)

    def handle_starttag(self, tag, attributes):
        if tag == "title":
            self.in_title = True
        if tag in VOID:
            if tag in ("br", "hr"):
                self.out.append("\n")
            return
        classes = set((dict(attributes).get("class") or "").split())
        self.open.append((tag, tag in LEFT_OUT or bool(classes & self.leave_out_classes)))
        if self.hidden():
            return
        if tag in BLOCKS:
            self.out.append("\n\n" if tag != "li" and tag != "tr" else "\n")
        if re.fullmatch("h[1-6]", tag):
            self.heading = len(self.out)
            self.out.append("#" * int(tag[1]) + " ")
        elif tag in ("td", "th") and self.out and not self.out[-1].endswith("\n"):
            self.out.append(" | ")

    def handle_endtag(self, tag):
        if tag == "title":
            self.in_title = False
        if tag not in [name for name, _ in self.open]:
            return
        while self.open:
            name, _ = self.open.pop()
            if name == tag:
                break
        if re.fullmatch("h[1-6]", tag) and self.heading is not None:
            # The heading that is the title does not count: the query is cut out of the document.
            text = "".join(self.out[self.heading:]).lstrip("# ").strip()
            if without_number(text) == without_number(self.title.strip()):
                del self.out[self.heading:]
            self.heading = None
        if tag in BLOCKS and not self.hidden():
            self.out.append("\n")

    def handle_data(self, data):
        if self.in_title:
            self.title += data
        elif not self.hidden():
            self.out.append(re.sub(r"\s+", " ", data))

    def text(self):
        return re.sub(r"\n\s*\n\s*", "\n\n", "".join(self.out)).strip()


def without_number(title):
    return " ".join(re.sub(r"^(?:Chapter|Appendix|Part)?\s*[A-Z0-9]+(?:\.\d+)*\.\s+", "", title.replace("\xa0", " ")).split())


def html_pages(paths, leave_out_classes, shortest, wants_cjk):
    for path in paths:
        reader = Reader(leave_out_classes)
        reader.feed(path.read_text("utf-8", "replace"))
        text, title = reader.text(), without_number(reader.title)
        if len(text) >= shortest:
            yield text, title if len(title) >= 2 and (CJK.search(title) or not wants_cjk) else None


def postgresql(root):
    folder = next((root / "usr/share/doc").glob("postgresql-doc-*/html"))
    yield from html_pages(sorted(folder.glob("*.html")), {"navheader", "navfooter", "toc"}, 600, False)


def libreoffice(root):
    """A page is looked for by its title, which is cut out of it. 488 of the 899 titles still have all of their pairs of signs
    in the rest of the page, and 76 a quarter at most: that is what the recall of 0.831 is made of. With the titles left in,
    it is 0.940."""
    folder = next((root / "usr/share/libreoffice/help").glob("*/text"))
    yield from html_pages(sorted(folder.rglob("*.html")), {"relatedtopics"}, 400, True)
