// SPDX-License-Identifier: Apache-2.0
#include "core/plugins/probe/probe_files.hpp"

#include "core/plugins/choice/linker.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <deque>
#include <set>

namespace gantry {
namespace {

// Max libraries of a plugin; real plugins need fewer than a hundred.
constexpr std::size_t kMaxProbedLibraries = 512;

// Lists the libraries that `path` needs, breadth first, each once. One that cannot be read needs
// nothing.
void add_libraries(const std::string& path, const Linker& linker, std::set<std::string>& names) {
  std::deque<std::string> queue{path};
  for (; !queue.empty() && names.size() < kMaxProbedLibraries; queue.pop_front()) {
    auto mapped = MappedFile::open(queue.front());
    if (!mapped.ok()) continue;
    const auto elf = ElfFile::parse(*std::move(mapped));
    if (!elf.ok()) continue;
    for (const std::string_view soname : elf->needed()) {
      const auto found = linker.find(soname, *elf, queue.front());
      // A library of this process without a path is its own.
      if (found && found->empty()) continue;
      if (names.insert(found ? *found : std::string(soname)).second && found)
        queue.push_back(*found);
    }
  }
}

}  // namespace

ProbedFile probed_file(std::string path) {
  ProbedFile file{std::move(path)};
  struct stat is {};
  if (file.path.find('/') == std::string::npos || ::stat(file.path.c_str(), &is) != 0) return file;
  file.device = is.st_dev;
  file.inode = is.st_ino;
  file.size = static_cast<std::uint64_t>(is.st_size);
  file.modified_ns = std::int64_t{is.st_mtim.tv_sec} * 1'000'000'000 + is.st_mtim.tv_nsec;
  return file;
}

std::vector<ProbedFile> probed_files(const Candidate& plugin) {
  const Manifest& manifest = *plugin.manifest;
  const Linker linker;
  std::set<std::string> names{plugin.file, manifest.library_path, "/etc/ld.so.cache"};
  names.insert(plugin.drop_ins.begin(), plugin.drop_ins.end());
  names.insert(manifest.needs.files.begin(), manifest.needs.files.end());
  add_libraries(manifest.library_path, linker, names);
  for (const ManifestSoname& driver : manifest.needs.libraries) {
    const auto found = linker.find(driver.soname);
    names.insert(found && !found->empty() ? *found : driver.soname);
  }
  std::vector<ProbedFile> files;
  for (const std::string& name : names) files.push_back(probed_file(name));
  return files;
}

bool are_unchanged(const std::vector<ProbedFile>& files) {
  return std::all_of(files.begin(), files.end(),
                     [](const ProbedFile& file) { return probed_file(file.path) == file; });
}

}  // namespace gantry
