// One gradient a use of a tied parameter.
//
// A parameter that several shards read gets an input for each of them, so that
// its gradient is made and accumulated per shard, and summed in the order of
// the shards at the end of a step. The sum then has the same bits wherever the
// shards lie: in one process, or on several pipeline ranks.
//
// The input of the k-th reading shard is named "name" for k = 0, else
// "name#k"; all hold the same values. '#' is in no parameter's name.
#pragma once

#include <string>
#include <string_view>

#include "merak/partition/partition.h"
#include "merak/partition/split_stages.h"

namespace merak::partition {

// Rewrites the stages of `staged`, which were split according to `sharding`.
void separate_tied_uses(StagedModel& staged, const Sharding& sharding);

std::string use_name(const std::string& parameter, int use);
std::string parameter_of_use(std::string_view use);  // "wte" of "wte#1"

}  // namespace merak::partition
