#include "merak/dist/gloo/gloo_device.h"

#include <cstdlib>
#include <exception>

#include <torch/csrc/distributed/c10d/PrefixStore.hpp>

#include "merak/base/error.h"
#include "merak/dist/gloo/tcp_store_impl.h"

namespace merak::dist {

GlooDevice make_gloo_device(const GlooOptions& options) {
  const char* interface = std::getenv("GLOO_SOCKET_IFNAME");
  try {
    return interface != nullptr && *interface != '\0'
               ? c10d::ProcessGroupGloo::createDeviceForInterface(interface)
               : c10d::ProcessGroupGloo::createDeviceForHostname(
                     options.address);
  } catch (const std::exception& error) {
    fail_usage(
        "Gloo cannot use {}: {}; set GLOO_SOCKET_IFNAME to a network "
        "interface of this host",
        interface != nullptr ? fmt::format("GLOO_SOCKET_IFNAME={}", interface)
                             : "the address " + options.address,
        reason_of(error));
  }
}

c10::intrusive_ptr<c10d::Backend> make_gloo_group(const TcpStore& store,
                                                  const std::string& name,
                                                  int rank, int size,
                                                  const GlooDevice& device,
                                                  const GlooOptions& options) {
  auto settings = c10d::ProcessGroupGloo::Options::create(options.timeout);
  settings->devices = {device};
  settings->threads = 1;  // collectives of a group run one after the other
  try {
    return c10::make_intrusive<c10d::ProcessGroupGloo>(
        c10::make_intrusive<c10d::PrefixStore>("group/" + name,
                                               store.impl().store),
        rank, size, settings);
  } catch (const std::exception& error) {
    throw PeerError(fmt::format("group {}: its {} ranks did not connect: {}",
                                name, size, reason_of(error)));
  }
}

}  // namespace merak::dist
