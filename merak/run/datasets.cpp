#include "merak/run/datasets.h"

#include <spdlog/spdlog.h>

#include "merak/data/tokenizer/load_tokenizer.h"
#include "merak/data/tokens/token_stream.h"

namespace merak::run {
namespace {

// Files smaller than this are tokenized before anyone wonders.
constexpr std::uint64_t kWorthSaying = 4 << 20;  // bytes

void report(const data::EncodeProgress& progress) {
  if (progress.bytes_done < progress.bytes_total ||
      progress.bytes_total < kWorthSaying) {
    return;
  }
  spdlog::info("tokenized {}: {} tokens", progress.file.string(),
               progress.tokens);
}

std::shared_ptr<const data::TokenDataset> open_set(
    const std::vector<std::string>& patterns, const std::string& key,
    data::Tail tail, const config::Config& config,
    const data::Tokenizer* tokenizer, data::StreamOptions options) {
  options.key = key;
  return std::make_shared<data::TokenDataset>(
      data::open_token_stream(patterns, tokenizer, options),
      config.data.sequence_length, tail, key);
}

}  // namespace

std::shared_ptr<const data::Tokenizer> open_tokenizer(
    const config::Config& config) {
  if (!config.data.tokenizer.empty()) {
    return data::load_tokenizer(config.data.tokenizer);
  }
  const std::filesystem::path beside =
      std::filesystem::path(config.model.path) / "tokenizer.json";
  if (config.model.path.empty() || !std::filesystem::exists(beside)) return {};
  return data::load_tokenizer(beside.string());
}

RunData open_data(const config::Config& config, std::int64_t vocabulary_size,
                  const std::filesystem::path& cache_folder) {
  RunData opened;
  opened.tokenizer = open_tokenizer(config);
  data::StreamOptions options;
  options.cache_folder = cache_folder;
  options.vocabulary_size = vocabulary_size;
  options.encode.progress = report;
  opened.train = open_set(config.data.train, "data.train", data::Tail::kDrop,
                          config, opened.tokenizer.get(), options);
  if (!config.data.validation.empty()) {
    opened.validation =
        open_set(config.data.validation, "data.validation", data::Tail::kPad,
                 config, opened.tokenizer.get(), options);
  }
  return opened;
}

std::filesystem::path cache_folder_of(const config::Config& config) {
  const std::filesystem::path folder(config.run.dir);
  return (folder.has_filename() ? folder : folder.parent_path()).parent_path() /
         ".token-cache";
}

}  // namespace merak::run
