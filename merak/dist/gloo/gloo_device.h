// The network device of this rank, for Gloo; includes LibTorch.
#pragma once

#include <memory>
#include <string>

#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include "merak/dist/gloo/gloo_communicator.h"

namespace merak::dist {

using GlooDevice = std::shared_ptr<gloo::transport::Device>;

// The interface of GLOO_SOCKET_IFNAME if that is set, else the one with the
// address options.address. A usage error if there is none.
GlooDevice make_gloo_device(const GlooOptions& options);

// A group with connections of its own. All members call it; it returns when
// they are connected.
c10::intrusive_ptr<c10d::Backend> make_gloo_group(const TcpStore& store,
                                                  const std::string& name,
                                                  int rank, int size,
                                                  const GlooDevice& device,
                                                  const GlooOptions& options);

}  // namespace merak::dist
