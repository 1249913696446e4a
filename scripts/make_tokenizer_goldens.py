#!/usr/bin/env python3
"""Makes merak/data/tokenizer/testdata: small tokenizers and what Hugging Face
`tokenizers` (0.22 or later) encodes and decodes with them.

    scripts/make_tokenizer_goldens.py TEXT

TEXT is any English text to train on (the stored files used Jane Austen's
novels from Debian's r-cran-janeaustenr). The same text and version give the
same files.
"""

import copy
import json
import pathlib
import random
import sys

from tokenizers import AddedToken, Regex, Tokenizer
from tokenizers import decoders, models, pre_tokenizers, trainers

FOLDER = pathlib.Path(__file__).parents[1] / "merak/data/tokenizer/testdata"
VOCABULARY = 640

LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|"
    r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
DEEPSEEK = [
    r"\p{N}{1,3}",
    "[一-龥\u3040-ゟ゠-ヿ]+",
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|"
    r"[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|"
    r"\s*[\r\n]+|\s+(?!\S)|\s+",
]
DIALECT = r"\h{2}|\w{1,2}+|[\s\S]|\u00e9+"

TEXTS = [
    "", " ", "  ", "   ", "\t", "\n", "\n\n", "\n\n\n", "\t\n", " \n ", "\r\n",
    "Hello world", " Hello world", "Hello, y'all! How are you?",
    "I'M YOU'RE we'll they'd 'tis IT'S it'ſ", "can't won't  don't   shan't",
    "3", "33", "333", "3333", "33333333", "1,234.56 ½ Ⅷ ٣٤٥ ߁",
    "a  b   c    d     e", "trailing   ", "   leading", "tab\tbetween\t\ttabs",
    "line\nbreak\r\nwindows\rmac", "x\u00a0y\u2003z\u3000w\u180ev\u200bu",
    "next\u0085line\u2028separator\u2029paragraph", "\x1c\x1d\x1e\x1f",
    "nul\x00byte", "Ünïcödé naïve café e\u0301 ﬁ", "Ελληνικά Привет мир",
    "नमस्ते दुनिया", "你好，世界！日本語テキスト カタカナ", "안녕하세요 세계",
    "مرحبا بالعالم", "ไทย ภาษา", "🚀 😀👍🏽 👨‍👩‍👧‍👦 🇩🇪", "😀" * 7, "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𐍈",
    "\ufeffbom", "\ufffd", "\U0010ffff\ue000",
    "<|endoftext|>", "a<|endoftext|>b", "<|endoftext|><|endoftext|>",
    " <|endoftext|> ", "<|endoftext", "<|endoftext|", "<<|endoftext|>>",
    "<mask>", "a <mask> b", "a\u3000<mask>\n b", "<mask><mask>", "<mask>   <mask>",
    "word", "a word here", "sword words word-word word", "éword wordé word",
    "ab abc abcd", "abcabcd abab", "the the the", "and so it goes on and on",
    "http://example.com/a?b=c&d=e#f", "x = {'a': [1, 2], \"b\": None}  # yes",
    "!!!...???---___***", "ALLCAPS and MixedCase and camelCase",
    "It is a truth universally acknowledged, that a single man in possession "
    "of a good fortune, must be in want of a wife.",
    "a" * 300, " " * 100 + "x", "ab" * 90, "the" * 50,
]
BROKEN = [  # hex of bytes that are not UTF-8
    "ff", "c0af", "e28280", "e282", "f09f98", "80", "61ff62", "eda080",
    "f4908080", "c3", "e2e28282", "f0808080", "41c3c328", "fffe3c7c",
]
POOL = (
    "  \t\n\r'’.,!?-_(){}[]<>|&#@\u00a0\u0085\u2028\u3000\u200d\u0301\u0300"
    "abcdefghijklmnopqrstuvwxyzABCDEFXYZ0123456789éßñÅøçЖжшλπΩאבגعغनस你好世界日本語한국어"
    "½²³Ⅷ٣😀🚀👍🏽🇩🇪𝔘\ufb01\u1e9e\u01c5ªºʰ"
)


def random_texts(count):
    rng = random.Random(20240607)
    for _ in range(count):
        yield "".join(rng.choices(POOL, k=rng.randint(1, 24)))


def train(path):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        special_tokens=["<|endoftext|>"],
        show_progress=False,
    )
    with open(path, encoding="utf-8") as file:
        tokenizer.train_from_iterator(file, trainer)
    return json.loads(tokenizer.to_str())


def byte_level(prefix, regex):
    return {"type": "ByteLevel", "add_prefix_space": prefix,
            "trim_offsets": True, "use_regex": regex}


def split(pattern, behavior="Isolated", invert=False, kind="Regex"):
    return {"type": "Split", "pattern": {kind: pattern}, "behavior": behavior,
            "invert": invert}


def sequence(*parts):
    return {"type": "Sequence", "pretokenizers": list(parts)}


def added(index, content, **flags):
    token = {"id": index, "content": content, "single_word": False,
             "lstrip": False, "rstrip": False, "normalized": False,
             "special": False}
    return {**token, **flags}


def variants(base):
    size = len(base["model"]["vocab"])

    gpt2 = copy.deepcopy(base)
    yield "gpt2", gpt2

    llama = copy.deepcopy(base)
    llama["pre_tokenizer"] = sequence(split(LLAMA3), byte_level(False, False))
    llama["model"]["ignore_merges"] = True
    # Without its merge only ignore_merges can find a whole word.
    merges = llama["model"]["merges"]
    llama["model"]["merges"] = [m for m in merges if m != ["t", "he"]]
    bos = added(size, "<|begin_of_text|>", special=True)
    llama["added_tokens"] += [bos]
    llama["post_processor"] = {"type": "Sequence", "processors": [
        {**byte_level(True, True)},
        {"type": "TemplateProcessing",
         "single": [{"SpecialToken": {"id": bos["content"], "type_id": 0}},
                    {"Sequence": {"id": "A", "type_id": 0}}],
         "pair": [{"Sequence": {"id": "A", "type_id": 0}},
                  {"Sequence": {"id": "B", "type_id": 1}}],
         "special_tokens": {bos["content"]: {
             "id": bos["content"], "ids": [size], "tokens": [bos["content"]]}},
         }]}
    yield "llama3", llama

    deepseek = copy.deepcopy(base)
    deepseek["normalizer"] = {"type": "Sequence", "normalizers": []}
    deepseek["pre_tokenizer"] = sequence(
        *[split(p) for p in DEEPSEEK], byte_level(False, False))
    deepseek["model"]["merges"] = [" ".join(m) for m in merges]
    yield "deepseek", deepseek

    roberta = copy.deepcopy(base)
    roberta["pre_tokenizer"] = byte_level(True, True)
    roberta["added_tokens"] += [
        added(size, "<mask>", lstrip=True, rstrip=True, special=True),
        added(size + 1, "word", single_word=True),
        added(base["model"]["vocab"]["ab"], "ab"),
        added(size + 2, "abc", normalized=True),
        added(size + 3, "abcd"), added(size + 4, "  ", normalized=True),
    ]
    yield "roberta", roberta

    dialect = copy.deepcopy(base)
    dialect["pre_tokenizer"] = sequence(
        split(DIALECT), {"type": "Digits", "individual_digits": False},
        byte_level(False, False))
    yield "dialect", dialect

    for behavior in ["Removed", "MergedWithPrevious", "MergedWithNext",
                     "Contiguous"]:
        for invert in [False, True]:
            tokenizer = copy.deepcopy(base)
            tokenizer["pre_tokenizer"] = sequence(
                split("e", behavior, invert, "String"),
                split(r"o*", behavior, invert), byte_level(False, False))
            name = f"split_{behavior}_{'inverted' if invert else 'plain'}"
            yield name, tokenizer


def cases(tokenizer, texts):
    for text in texts:
        ids = tokenizer.encode(text, add_special_tokens=False).ids
        yield {"text": text, "ids": ids}
    for broken in BROKEN:
        text = bytes.fromhex(broken).decode("utf-8", errors="replace")
        ids = tokenizer.encode(text, add_special_tokens=False).ids
        yield {"hex": broken, "ids": ids}


def main():
    FOLDER.mkdir(exist_ok=True)
    base = train(sys.argv[1])
    texts = TEXTS + list(random_texts(60))
    goldens = []
    patches = {}
    for name, spec in variants(base):
        tokenizer = Tokenizer.from_str(json.dumps(spec))
        # What differs from the trained file, as an RFC 7396 merge patch.
        patches[name] = {k: v for k, v in spec.items() if v != base[k]}
        if "model" in patches[name]:
            patches[name]["model"] = {
                k: v for k, v in spec["model"].items()
                if v != base["model"].get(k)}
        some = texts[::6] if name.startswith("split_") else texts
        goldens.append({"name": name, "patch": patches[name],
                        "cases": list(cases(tokenizer, some))})
    write(FOLDER / "small_bpe.json", [base])
    write(FOLDER / "goldens.jsonl", goldens)


def write(path, lines):
    with open(path, "w", encoding="utf-8") as file:
        for line in lines:
            json.dump(line, file, ensure_ascii=True, separators=(",", ":"))
            file.write("\n")


if __name__ == "__main__":
    main()
