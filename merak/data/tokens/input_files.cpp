#include "merak/data/tokens/input_files.h"

#include <glob.h>

#include <algorithm>

#include "merak/base/error.h"
#include "merak/base/file.h"
#include "merak/base/mapped_file.h"

namespace merak::data {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSupported =
    "supported: .txt, .jsonl, .bin with .idx (Megatron), .u16, .u32";

std::vector<std::string> expand(const std::string& pattern,
                                const std::string& key) {
  // A file may have a bracket in its name.
  if (path_exists(pattern)) return {pattern};
  glob_t found{};
  const int result = ::glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found);
  std::vector<std::string> paths;
  for (std::size_t i = 0; result == 0 && i < found.gl_pathc; ++i) {
    paths.emplace_back(found.gl_pathv[i]);
  }
  ::globfree(&found);
  if (paths.empty()) fail_usage("{}: no file matches \"{}\"", key, pattern);
  // By bytes, not by the user's locale: every machine reads the same order.
  std::sort(paths.begin(), paths.end());
  return paths;
}

// MNIST's files begin with two zero bytes, a type and a rank.
bool is_mnist(const fs::path& path) {
  const MappedFile file(path);
  const std::string_view bytes = file.bytes();
  return bytes.size() >= 4 && bytes[0] == 0 && bytes[1] == 0 &&
         bytes[2] >= 0x08 && bytes[2] <= 0x0E;
}

InputFile megatron_pair(const fs::path& path, const std::string& key) {
  fs::path index = path, data = path;
  index.replace_extension(".idx");
  data.replace_extension(".bin");
  for (const fs::path& part : {index, data}) {
    if (!path_exists(part)) {
      fail_usage("{}: {} needs {} beside it, which does not exist", key,
                 path.string(), part.filename().string());
    }
  }
  return {index, InputKind::kMegatron};
}

InputFile classify(const fs::path& path, const std::string& key) {
  if (path_is_folder(path)) {
    fail_usage("{}: {} is a folder; name its files, as in \"{}\"", key,
               path.string(), (path / "*.txt").string());
  }
  const std::string extension = path.extension().string();
  if (extension == ".txt") return {path, InputKind::kPlainText};
  if (extension == ".jsonl") return {path, InputKind::kJsonLines};
  if (extension == ".u16") return {path, InputKind::kFlatU16};
  if (extension == ".u32") return {path, InputKind::kFlatU32};
  if (extension == ".safetensors") {
    fail_usage("{}: {}: .safetensors as data is not supported yet; {}", key,
               path.string(), kSupported);
  }
  if (extension != ".bin" && is_mnist(path)) {
    fail_usage("{}: {}: MNIST files are not supported yet; {}", key,
               path.string(), kSupported);
  }
  if (extension == ".bin" || extension == ".idx") {
    return megatron_pair(path, key);
  }
  fail_usage("{}: {} is of no known kind; {}", key, path.string(), kSupported);
}

}  // namespace

bool is_text(InputKind kind) {
  return kind == InputKind::kPlainText || kind == InputKind::kJsonLines;
}

std::vector<InputFile> find_inputs(std::span<const std::string> patterns,
                                   const std::string& key) {
  if (patterns.empty()) {
    fail_usage("{} names no files; {}", key, kSupported);
  }
  std::vector<InputFile> inputs;
  for (const std::string& pattern : patterns) {
    std::vector<InputFile> matched;
    for (const std::string& path : expand(pattern, key)) {
      const InputFile input = classify(path, key);
      const bool second_of_pair =
          input.kind == InputKind::kMegatron &&
          std::find(matched.begin(), matched.end(), input) != matched.end();
      if (!second_of_pair) matched.push_back(input);
    }
    inputs.insert(inputs.end(), matched.begin(), matched.end());
  }
  return inputs;
}

}  // namespace merak::data
