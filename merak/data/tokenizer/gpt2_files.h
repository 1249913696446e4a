// GPT-2's original pair of files: a vocabulary (vocab.json or encoder.json, an
// object of token to id) and merges (merges.txt or vocab.bpe, a line a pair).
#pragma once

#include <filesystem>

#include "merak/data/tokenizer/bpe_tokenizer.h"

namespace merak::data {

// The merges lie beside the vocabulary under their usual name. <|endoftext|>
// is recognised in text if the vocabulary has it. Usage errors name the file,
// and the line of a bad merge.
BpeParts read_gpt2_files(const std::filesystem::path& vocabulary);

}  // namespace merak::data
