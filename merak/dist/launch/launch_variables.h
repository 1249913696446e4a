// Environment variables between `merak launch` and its ranks, beside
// torchrun's. Both name an inherited file descriptor.
#pragma once

namespace merak::dist {

inline constexpr const char* kHeartbeatVariable = "MERAK_HEARTBEAT_FD";
inline constexpr const char* kListenerVariable = "MERAK_STORE_LISTENER_FD";

}  // namespace merak::dist
