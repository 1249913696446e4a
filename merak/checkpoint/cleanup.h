// What happens to other folders and files when a checkpoint has been
// published. Only folders and files that Merak made are touched. What cannot
// be removed is warned of, and tried again by the next save.
#pragma once

#include <cstdint>
#include <filesystem>

#include "merak/base/file_system.h"
#include "merak/checkpoint/index.h"
#include "merak/checkpoint/publish.h"

namespace merak::checkpoint {

// One more than the highest sequence number in the folder.
std::int64_t next_sequence(FileSystem& files,
                           const std::filesystem::path& checkpoints);

// Removes what saves that did not finish left: folders of steps below `before`
// without a checkpoint.json, and folders whose removal had begun. A folder in
// which some rank may be writing must not be below `before`: when a run
// starts, nobody writes, and rank 0 calls this without a limit.
void remove_unfinished(FileSystem& files,
                       const std::filesystem::path& checkpoints,
                       std::int64_t before, const Warn& warn);

// Removes the files that `published` does not name from its folder.
void remove_unnamed(FileSystem& files, const std::filesystem::path& checkpoints,
                    const Index& published, const Warn& warn);

// Leaves the `keep` newest checkpoints, `published` always among them.
void remove_old(FileSystem& files, const std::filesystem::path& checkpoints,
                const Index& published, int keep, const Warn& warn);

}  // namespace merak::checkpoint
