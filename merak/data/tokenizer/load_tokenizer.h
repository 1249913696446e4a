// From the value of `[data] tokenizer` to a tokenizer.
#pragma once

#include <memory>
#include <string>

#include "merak/data/tokenizer/tokenizer.h"

namespace merak::data {

// `name` is one of
//   bytes                    the 256 byte values
//   a tokenizer.json         Hugging Face, byte-level BPE
//   a vocab.json or encoder.json with merges.txt or vocab.bpe beside it
//   a folder that holds one of the two above (tokenizer.json is preferred)
// Usage error for anything else, and for files that cannot be read to the
// full (tokenizer_json.h lists what is supported).
std::unique_ptr<const Tokenizer> load_tokenizer(const std::string& name);

}  // namespace merak::data
