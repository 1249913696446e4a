#include "merak/data/tokenizer/load_tokenizer.h"

#include <filesystem>

#include "merak/base/error.h"
#include "merak/base/file.h"
#include "merak/base/mapped_file.h"
#include "merak/data/tokenizer/bpe_tokenizer.h"
#include "merak/data/tokenizer/byte_tokenizer.h"
#include "merak/data/tokenizer/gpt2_files.h"
#include "merak/data/tokenizer/tokenizer_json.h"

namespace merak::data {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSupported =
    "supported: \"bytes\", a Hugging Face tokenizer.json (byte-level BPE), "
    "GPT-2's vocab.json with merges.txt, or a folder with one of them";

fs::path file_in_folder(const fs::path& folder) {
  for (const char* name : {"tokenizer.json", "vocab.json", "encoder.json"}) {
    if (path_is_file(folder / name)) return folder / name;
  }
  if (path_exists(folder / "tokenizer.model"))
    return folder / "tokenizer.model";
  fail_usage("{}: no tokenizer in this folder; {}", folder.string(),
             kSupported);
}

// A tokenizer.json has a "model" object; a vocabulary maps tokens to numbers.
// The key stands near either end, but a search through the text is exact
// enough only for the quoted key with an object behind it.
bool is_tokenizer_json(const fs::path& path) {
  const MappedFile file(path);
  const std::string_view text = file.bytes();
  for (std::size_t at = text.find("\"model\""); at != std::string_view::npos;
       at = text.find("\"model\"", at + 1)) {
    const std::size_t value = text.find_first_not_of(" \t\r\n:", at + 7);
    if (value != std::string_view::npos && text[value] == '{') return true;
  }
  return false;
}

}  // namespace

std::unique_ptr<const Tokenizer> load_tokenizer(const std::string& name) {
  if (name == "bytes") return std::make_unique<ByteTokenizer>();
  fs::path path = name;
  if (path_is_folder(path)) path = file_in_folder(path);
  if (!path_exists(path)) {
    fail_usage("tokenizer \"{}\": no such file; {}", name, kSupported);
  }
  if (path.extension() == ".model") {
    fail_usage(
        "tokenizer \"{}\": SentencePiece models are not supported yet; "
        "{}",
        path.string(), kSupported);
  }
  if (path.extension() != ".json") {
    fail_usage("tokenizer \"{}\" is of no known kind; {}", path.string(),
               kSupported);
  }
  return std::make_unique<BpeTokenizer>(is_tokenizer_json(path)
                                            ? read_tokenizer_json(path)
                                            : read_gpt2_files(path));
}

}  // namespace merak::data
