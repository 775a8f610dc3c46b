"""Documents made by hand, so that a test knows every word of them."""

import base64
import subprocess
import zlib


class Scan(str):
    """A page of pdf() that is a picture of its text."""


def picture(text):
    """(width, height, bytes) of a page with the text, a byte for each point."""
    drawn = subprocess.run(["pdftoppm", "-gray", "-r", "150", "-"], input=pdf(text), capture_output=True, check=True).stdout
    _, size, _, points = drawn.split(b"\n", 3)
    width, height = map(int, size.split())
    return width, height, points


def png(text):
    """A picture of a page with the text."""
    return subprocess.run(["pdftoppm", "-png", "-r", "150", "-"], input=pdf(text), capture_output=True, check=True).stdout


def pdf(*pages, trailer=""):
    """A PDF with one line of text on each page, or with a picture of it."""
    objects = ["<</Type/Catalog/Pages 2 0 R>>", None,
               "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"]
    kids = []
    for text in pages:
        scan = isinstance(text, Scan)
        drawn = "q 612 0 0 792 0 0 cm /P Do Q" if scan else f"BT /F1 24 Tf 72 700 Td ({text}) Tj ET"
        kids.append(f"{len(objects) + 1} 0 R")
        used = f"/XObject<</P {len(objects) + 3} 0 R>>" if scan else "/Font<</F1 3 0 R>>"
        objects.append(f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Resources<<{used}>>"
                       f"/Contents {len(objects) + 2} 0 R>>")
        objects.append(f"<</Length {len(drawn)}>>\nstream\n{drawn}\nendstream")
        if scan:
            width, height, points = picture(str(text))
            packed = zlib.compress(points).decode("latin-1")
            objects.append(f"<</Type/XObject/Subtype/Image/Width {width}/Height {height}/BitsPerComponent 8"
                           f"/ColorSpace/DeviceGray/Filter/FlateDecode/Length {len(packed)}>>\nstream\n{packed}\nendstream")
    objects[1] = f"<</Type/Pages/Count {len(pages)}/Kids[{' '.join(kids)}]>>"
    text, places = "%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(text))
        text += f"{number} 0 obj\n{body}\nendobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    return (f"{text}xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}"
            f"trailer\n<</Size {len(objects) + 1}/Root 1 0 R{trailer}>>\n"
            f"startxref\n{len(text)}\n%%EOF\n").encode("latin-1")


def data_url(data, mime="application/pdf"):
    return f"data:{mime};base64,{base64.b64encode(data).decode()}"


def file_part(data, name, mime="application/pdf"):
    return {"type": "input_file", "filename": name, "file_data": data_url(data, mime)}
