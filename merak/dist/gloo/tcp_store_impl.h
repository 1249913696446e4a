// What lies behind TcpStore; includes LibTorch.
#pragma once

#include <string>

#include <torch/csrc/distributed/c10d/Store.hpp>

#include "merak/dist/gloo/tcp_store.h"

namespace merak::dist {

struct TcpStore::Impl {
  std::string address;                    // for messages
  c10::intrusive_ptr<c10d::Store> store;  // keys of this attempt alone
};

// The first line of an exception, without C++ back trace.
std::string reason_of(const std::exception& error);

}  // namespace merak::dist
