// Reads Megatron-LM's PREFIX.bin and PREFIX.idx, memory-mapped.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

#include "merak/base/mapped_file.h"
#include "merak/data/tokens/token_array.h"

namespace merak::data {

struct MegatronDataset {
  std::shared_ptr<const MappedFile> data;  // owns what the runs point to
  TokenType type = TokenType::kU16;
  std::uint64_t sequences = 0;
  std::uint64_t documents = 0;
  std::uint64_t tokens = 0;
  // All sequences in order; neighbours in the file are one run, so that a
  // file in the usual layout is a single one.
  std::vector<TokenArray> runs;
};

// `index` is the .idx; the .bin lies beside it. Every size and offset is
// checked before it is believed: a usage error names the file and what is
// wrong with it.
MegatronDataset open_megatron(const std::filesystem::path& index);

}  // namespace merak::data
