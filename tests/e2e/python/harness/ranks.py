"""A small rank file: every byte, and a few words."""

import base64

WORDS = ["he", "ll", "hell", "hello", " t", " th", " the", " ther", " there", "Te", "ll", "Tell"]


def rank_file(path):
    tokens = [bytes([byte]) for byte in range(256)] + [word.encode() for word in WORDS]
    path.write_text("".join(f"{base64.b64encode(token).decode()} {rank}\n"
                            for rank, token in enumerate(tokens)))
    path.chmod(0o644)
    return path
