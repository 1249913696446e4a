// The data that a configuration names: tokenizer, training and validation set.
#pragma once

#include <filesystem>
#include <memory>

#include "merak/config/config.h"
#include "merak/data/token_dataset.h"
#include "merak/data/tokenizer/tokenizer.h"

namespace merak::run {

struct RunData {
  std::shared_ptr<const data::Tokenizer> tokenizer;  // null: none is named
  std::shared_ptr<const data::TokenDataset> train;
  std::shared_ptr<const data::TokenDataset> validation;  // null: none is named
};

// The tokenizer of [data] tokenizer, or the tokenizer.json of [model] path;
// null if there is neither.
std::shared_ptr<const data::Tokenizer> open_tokenizer(
    const config::Config& config);

// Text is tokenized once and kept in `cache_folder` (empty: in memory). Usage
// errors as data/tokens has them: `vocabulary_size` bounds the tokens.
RunData open_data(const config::Config& config, std::int64_t vocabulary_size,
                  const std::filesystem::path& cache_folder);

// Where the tokens of a run's text files are kept: beside the run folders, so
// that runs share them.
std::filesystem::path cache_folder_of(const config::Config& config);

}  // namespace merak::run
