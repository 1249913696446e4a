#include "merak/data/tokens/encode_documents.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>
#include <vector>

#include "merak/base/error.h"

namespace merak::data {
namespace {

constexpr std::size_t kBatchBytes = 4 << 20;

struct Encoded {
  std::vector<std::int32_t> tokens;
  std::exception_ptr error;
};

std::vector<Document> read_batch(DocumentReader& reader) {
  std::vector<Document> batch;
  Document document;
  for (std::size_t bytes = 0; bytes < kBatchBytes && reader.next(document);) {
    bytes += document.text().size();
    batch.push_back(std::move(document));
  }
  return batch;
}

std::vector<Encoded> encode_batch(const std::vector<Document>& batch,
                                  const Tokenizer& tokenizer,
                                  std::size_t threads) {
  std::vector<Encoded> results(batch.size());
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < batch.size(); i = next++) {
      try {
        results[i].tokens = tokenizer.encode(batch[i].text());
      } catch (...) {
        results[i].error = std::current_exception();
      }
    }
  };
  std::vector<std::jthread> helpers;  // join before results are returned
  for (std::size_t i = 1; i < std::min(threads, batch.size()); ++i) {
    helpers.emplace_back(work);
  }
  work();
  helpers.clear();
  return results;
}

[[noreturn]] void rethrow(const std::exception_ptr& error,
                          const InputFile& input, std::uint64_t line) {
  try {
    std::rethrow_exception(error);
  } catch (const Error& caught) {
    const std::string place =
        line == 0 ? input.path.string()
                  : fmt::format("{}:{}", input.path.string(), line);
    throw Error(caught.kind(), fmt::format("{}: {}", place, caught.what()));
  }
}

}  // namespace

void encode_documents(DocumentReader& reader, const InputFile& input,
                      const Tokenizer& tokenizer, const EncodeOptions& options,
                      const DocumentSink& sink) {
  const std::size_t threads =
      options.threads > 0 ? static_cast<std::size_t>(options.threads)
                          : std::max(1u, std::thread::hardware_concurrency());
  EncodeProgress progress{input.path, 0, reader.bytes().size(), 0};
  while (true) {
    const std::vector<Document> batch = read_batch(reader);
    if (batch.empty()) return;
    const auto results = encode_batch(batch, tokenizer, threads);
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (results[i].error) rethrow(results[i].error, input, batch[i].line());
      if (results[i].tokens.empty()) continue;
      progress.tokens += results[i].tokens.size();
      sink(results[i].tokens);
    }
    progress.bytes_done = reader.bytes_read();
    if (options.progress) options.progress(progress);
  }
}

}  // namespace merak::data
