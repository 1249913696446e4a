// The store of a run, over TCP: c10d's TCPStore, hosted by rank 0 (or by
// torchrun's agent).
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "merak/dist/launch/launch_environment.h"
#include "merak/dist/store.h"

namespace merak::dist {

class TcpStore : public Store {
 public:
  // Rank 0 hosts it at environment.port, on the loopback alone if host is
  // one; the others wait for it until the timeout. A runtime error names the
  // address; under a launcher only.
  TcpStore(const LaunchEnvironment& environment,
           std::chrono::milliseconds timeout);
  ~TcpStore() override;

  void set(const std::string& key, const std::string& value) override;
  std::string set_once(const std::string& key,
                       const std::string& value) override;
  std::optional<std::string> wait(const std::string& key,
                                  std::chrono::milliseconds timeout) override;
  bool has(const std::string& key) override;
  std::int64_t add(const std::string& key, std::int64_t delta) override;

  struct Impl;  // tcp_store_impl.h, for this folder
  const Impl& impl() const { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace merak::dist
