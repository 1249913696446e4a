// From "auto" to numbers: how many ranks go along each axis, and how the
// global batch is cut. LibTorch-free arithmetic; a planner may replace it.
#pragma once

#include <cstdint>

#include "merak/config/config.h"

namespace merak::config {

// Degrees; their product is the number of ranks. Rank = (pipeline index * data
// + data index) * tensor + tensor index: tensor innermost.
struct Layout {
  std::int64_t data = 1;
  std::int64_t tensor = 1;
  std::int64_t pipeline = 1;

  std::int64_t world() const { return data * tensor * pipeline; }
  bool operator==(const Layout&) const = default;
};

// The degrees for `world` ranks. Numbers stay; the ranks they leave go to the
// first "auto" of data, pipeline, tensor, other autos become 1. Usage error,
// with the arithmetic and what would work, if they do not come out even.
Layout resolve_layout(const Config& config, std::int64_t world);

struct Batch {
  std::int64_t micro_batch_size;  // samples
  std::int64_t micro_batches;     // of one data rank, each step
};

// The micro-batch size for a layout. "auto": the largest divisor of a data
// rank's share of the global batch that is at most 8 and, with more than one
// stage, leaves at least four micro-batches a stage (a small bubble); 1 if none
// does. Usage error if global_batch_size is no multiple of data x
// micro_batch_size.
Batch resolve_batch(const Config& config, const Layout& layout);

// How many local ranks to start when nobody says: the product of the degrees
// if all are numbers; else the largest number of at most `cores` ranks that
// resolve_layout() and resolve_batch() take, but not fewer than the product of
// those that are numbers.
std::int64_t default_world(const Config& config, std::int64_t cores);

// `config` with its degrees and micro-batch size replaced by numbers: what the
// run folder's config.toml holds.
Config resolved(const Config& config, const Layout& layout);

}  // namespace merak::config
