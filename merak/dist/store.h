// A key-value store that all ranks of a run see: how they find each other
// before any group exists. TcpStore (gloo/tcp_store.h) is the one of real runs.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace merak::dist {

// Any thread may call; a waiting call may delay other calls of the same object.
// A lost store is a PeerError.
class Store {
 public:
  virtual ~Store() = default;

  virtual void set(const std::string& key, const std::string& value) = 0;
  // Sets the key if it has no value; returns the value that it has then.
  // `value` is not empty.
  virtual std::string set_once(const std::string& key,
                               const std::string& value) = 0;
  // Waits for the key; nothing if it has no value after the timeout.
  virtual std::optional<std::string> wait(
      const std::string& key, std::chrono::milliseconds timeout) = 0;
  virtual bool has(const std::string& key) = 0;
  // Adds to a counter, which starts at 0; returns the sum.
  virtual std::int64_t add(const std::string& key, std::int64_t delta) = 0;
};

// For ranks that are threads of one process.
class InProcessStore : public Store {
 public:
  void set(const std::string& key, const std::string& value) override;
  std::string set_once(const std::string& key,
                       const std::string& value) override;
  std::optional<std::string> wait(const std::string& key,
                                  std::chrono::milliseconds timeout) override;
  bool has(const std::string& key) override;
  std::int64_t add(const std::string& key, std::int64_t delta) override;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::string> values_;
};

// The barrier at the start. Returns when all ranks have called it; after the
// timeout every rank throws the same runtime error, which names the missing
// ones ("waited 30 s for ranks 2, 5 of 8 ..."), also a rank that comes later.
// Once a store and name.
void start_barrier(Store& store, int rank, int world_size,
                   std::chrono::milliseconds timeout,
                   const std::string& name = "start");

}  // namespace merak::dist
