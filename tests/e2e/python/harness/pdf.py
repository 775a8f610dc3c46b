"""Documents made by hand, so that a test knows every word of them."""

import base64


def pdf(*pages, trailer=""):
    """A PDF with one line of text on each page."""
    objects = ["<</Type/Catalog/Pages 2 0 R>>", None,
               "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"]
    kids = []
    for text in pages:
        drawn = f"BT /F1 24 Tf 72 700 Td ({text}) Tj ET"
        kids.append(f"{len(objects) + 1} 0 R")
        objects.append("<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Resources<</Font<</F1 3 0 R>>>>"
                       f"/Contents {len(objects) + 2} 0 R>>")
        objects.append(f"<</Length {len(drawn)}>>\nstream\n{drawn}\nendstream")
    objects[1] = f"<</Type/Pages/Count {len(pages)}/Kids[{' '.join(kids)}]>>"
    text, places = "%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(text))
        text += f"{number} 0 obj\n{body}\nendobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    return (f"{text}xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}"
            f"trailer\n<</Size {len(objects) + 1}/Root 1 0 R{trailer}>>\n"
            f"startxref\n{len(text)}\n%%EOF\n").encode()


def data_url(data, mime="application/pdf"):
    return f"data:{mime};base64,{base64.b64encode(data).decode()}"


def file_part(data, name, mime="application/pdf"):
    return {"type": "input_file", "filename": name, "file_data": data_url(data, mime)}
