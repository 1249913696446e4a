// Small values between ranks: numbers that are added up, texts that are
// gathered. Blocking; every rank of the group calls.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "merak/dist/communicator.h"

namespace merak::runtime {

// In place, the same bits on every rank. Adding zeros changes no bit.
void sum(dist::Communicator* group, std::span<double> values);
void sum(dist::Communicator* group, std::span<std::int64_t> values);

// By rank.
std::vector<std::string> gather_text(dist::Communicator& group,
                                     const std::string& text);
std::vector<std::int64_t> gather(dist::Communicator& group, std::int64_t value);
// As many from every rank: those of rank 0 first.
std::vector<double> gather(dist::Communicator& group,
                           std::span<const double> values);

}  // namespace merak::runtime
