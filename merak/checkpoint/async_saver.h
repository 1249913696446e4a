// Writes a rank's shards in the background: training goes on while the disk
// works.
//
//   saver.start(files, target, tensors);     // copies the tensors, returns
//   ... more steps ...
//   std::string manifest = saver.wait();     // or throws what went wrong
//
// One save at a time: start() first waits for the one before, whose outcome
// must then have been fetched with wait(). Used by one thread.
#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <span>
#include <string>
#include <thread>

#include "merak/checkpoint/publish.h"
#include "merak/checkpoint/shard_writer.h"

namespace merak::checkpoint {

class AsyncSaver {
 public:
  // `lost` hears of a failure that nobody fetched before the end.
  explicit AsyncSaver(Warn lost) : lost_(std::move(lost)) {}
  ~AsyncSaver();  // waits for the write in progress
  AsyncSaver(const AsyncSaver&) = delete;
  AsyncSaver& operator=(const AsyncSaver&) = delete;

  // Copies all bytes and returns; a thread writes them. `then`, if any, runs in
  // that thread with the manifest, to gather and publish there; what it throws
  // counts as the save's failure. Throws the failure of a save before that
  // was not fetched, and starts nothing then. Runtime error if there is no
  // memory for the copy.
  void start(FileSystem& files, const SaveTarget& target,
             std::span<const ShardTensor> tensors,
             std::function<void(const std::string& manifest)> then = {});

  // A save was started whose outcome has not been fetched.
  bool is_pending() const { return pending_; }

  // Blocks until the save is done: its manifest, or what it threw. Empty if
  // none is pending.
  std::string wait();

 private:
  Warn lost_;
  std::thread thread_;
  // Written by the thread, read after it was joined.
  std::string manifest_;
  std::exception_ptr failure_;
  bool pending_ = false;
};

}  // namespace merak::checkpoint
