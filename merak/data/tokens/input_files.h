// From the patterns of `[data] train` to files of known kinds.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace merak::data {

// The values of the text kinds seed hashes in cache files: do not change them.
enum class InputKind {
  kPlainText = 0,  // .txt: a file is a document
  kJsonLines = 1,  // .jsonl: a line is a document
  kMegatron,       // .bin and .idx
  kFlatU16,        // .u16: nothing but token ids
  kFlatU32,        // .u32
};

bool is_text(InputKind kind);

struct InputFile {
  std::filesystem::path path;  // of Megatron's pair: the .idx
  InputKind kind;

  bool operator==(const InputFile&) const = default;
};

// Files in the order of the patterns, inside a pattern sorted by bytes of the
// path. A pattern is a path or a glob (* ? [..], no **). A file that two
// patterns name is used twice; a Megatron pair that one pattern names by both
// its files is used once.
//
// `key` names the setting in errors. Usage errors: no pattern, a pattern
// without a file, a folder, a kind that is unknown or not supported yet.
std::vector<InputFile> find_inputs(std::span<const std::string> patterns,
                                   const std::string& key);

}  // namespace merak::data
