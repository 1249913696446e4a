// Threads of our own, which stay out of the program's way.
#pragma once

#include <functional>
#include <thread>

namespace merak::dist {

// A thread with every signal blocked: the program's handlers run on the
// program's threads.
std::thread start_thread(std::function<void()> body);

}  // namespace merak::dist
