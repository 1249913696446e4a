// SIGINT, SIGTERM and SIGHUP ask for an orderly end: the step in work is
// finished and saved. A second one ends the process at once.
#pragma once

namespace merak::run {

// While one exists, the signals are caught. One at a time in a process.
class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  int received() const;  // the signal's number; 0: none
};

}  // namespace merak::run
