// Whole files: read with an error that says what to do, written so that a
// crash at any moment leaves the old file or the new one, never a part.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace merak {

// What lies at a path, links followed; not_found if nothing does. A usage error
// that names path and reason if the system does not say (a name too long, a
// loop of links, a folder that may not be looked into).
std::filesystem::file_type type_at(const std::filesystem::path& path);
bool path_exists(const std::filesystem::path& path);
bool path_is_file(const std::filesystem::path& path);
bool path_is_folder(const std::filesystem::path& path);

// The bytes of a file. A usage error that names the path and the reason if it
// is missing, a folder, or unreadable.
std::string read_file(const std::filesystem::path& path);

// Writes a temporary file beside `path`, syncs it, renames it over `path`, and
// syncs the folder. The folder must exist. Runtime error if any step fails;
// the temporary file is removed then. Permissions are those of a new file.
void write_file_atomic(const std::filesystem::path& path,
                       std::string_view bytes);

// Makes a folder and those above it, or names why not (runtime error).
void make_folder(const std::filesystem::path& path);

// Writes all bytes to an open file descriptor, through short writes and
// interrupts. Runtime error that names `what` if the system refuses.
void write_all(int fd, std::string_view bytes, std::string_view what);

// Makes a folder's entries durable (rename and creation). Runtime error.
void sync_folder(const std::filesystem::path& folder);

}  // namespace merak
