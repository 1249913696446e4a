// Hugging Face's tokenizer.json, byte-level BPE: GPT-2, GPT-NeoX, LLaMA 3,
// DeepSeek, StarCoder, Falcon, RoBERTa and their kin.
//
// Supported: model BPE (merges as "a b" or ["a", "b"], ignore_merges,
// unk_token, fuse_unk); pre_tokenizer ByteLevel, Split (Regex or String, all
// behaviours, invert), Digits, or a Sequence of them that ends in ByteLevel;
// added_tokens with all their flags; post_processor ByteLevel,
// TemplateProcessing, RobertaProcessing or a Sequence of them; no normalizer.
// Everything else is a usage error that names the file, the field and what
// would work.
#pragma once

#include <filesystem>

#include "merak/data/tokenizer/bpe_tokenizer.h"

namespace merak::data {

// Reads "eos_token" of a tokenizer_config.json beside it, if there is one.
BpeParts read_tokenizer_json(const std::filesystem::path& path);

}  // namespace merak::data
