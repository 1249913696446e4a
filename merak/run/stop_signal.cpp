#include "merak/run/stop_signal.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>

namespace merak::run {
namespace {

constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP};
std::atomic<int> g_received{0};
std::array<struct sigaction, kSignals.size()> g_before;

void on_signal(int number) {
  if (g_received.exchange(number) != 0) _exit(128 + number);
}

}  // namespace

StopSignal::StopSignal() {
  g_received = 0;
  struct sigaction action = {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    sigaction(kSignals[i], &action, &g_before[i]);
  }
}

StopSignal::~StopSignal() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    sigaction(kSignals[i], &g_before[i], nullptr);
  }
}

int StopSignal::received() const { return g_received; }

}  // namespace merak::run
