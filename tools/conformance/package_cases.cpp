// SPDX-License-Identifier: Apache-2.0
//
// Cases 91, 92 and 123: what an administrator sees of the plugin, what remains of it, and how its
// payloads are measured.
#include "tools/conformance/cases.hpp"
#include "tools/conformance/failing_calls.hpp"
#include "tools/conformance/golden_call.hpp"
#include "tools/conformance/scratch.hpp"
#include "tools/conformance/subject.hpp"

#include "core/base/file_stamp.hpp"
#include "core/engine/runtime/state.hpp"
#include "core/plugins/choice/explain.hpp"

#include <gantry/blob_facts.hpp>
#include <gantry/byte_reader.hpp>
#include <gantry/join.hpp>

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string>
#include <system_error>
#include <vector>

namespace gantry::kit {
namespace {

namespace fs = std::filesystem;

// 91
Status is_explained(Subject& subject) {
  GANTRY_TRY(const auto state, subject.runtime());
  const Explanation doctor = explain(*state->plugins, all_requirements(*state->plugins, {}));
  if (!doctor.warnings.empty())
    return bug("gantry plugins doctor warns: ", doctor.warnings.front());
  if (!subject.manifest().support.empty()) return {};
  return bug("the manifest has no `support`, which is shown where the plugin is refused");
}

std::vector<std::string> files_below(const fs::path& directory) {
  std::vector<std::string> names;
  std::error_code failed;
  for (fs::recursive_directory_iterator at(directory, failed), end; !failed && at != end;
       at.increment(failed)) {
    names.push_back(at->path().lexically_relative(directory).string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

bool is_written_since(const fs::path& file, std::int64_t begun_ns) {
  struct stat found {};
  return ::lstat(file.c_str(), &found) == 0 && stamp_of(found).modified_ns >= begun_ns;
}

// 92
Status leaves_no_files(Subject& subject) {
  GANTRY_TRY(const Scratch scratch, Scratch::create());
  const fs::path library = subject.manifest().library_path;
  GANTRY_CHECK(scratch.copy_from(library.parent_path()));
  // What earlier cases of this run have left is not in the package.
  for (const std::string& name : files_below(scratch.path())) {
    const fs::path original = library.parent_path() / name;
    if (fs::is_regular_file(original) && is_written_since(original, subject.options().begun_ns))
      fs::remove(scratch.path() / name);
  }
  const std::vector<std::string> before = files_below(scratch.path());
  {
    const Subject copy = subject.with_library((scratch.path() / library.filename()).string());
    GANTRY_TRY(const auto bench, Bench::open(copy));
    GANTRY_TRY(const Instance instance, created(bench->plugin(), bench->host()));
    make_failing_calls(instance, bench->state());
  }
  const std::vector<std::string> after = files_below(scratch.path());
  std::vector<std::string> created_files;
  std::set_difference(after.begin(), after.end(), before.begin(), before.end(),
                      std::back_inserter(created_files));
  if (created_files.empty()) return {};
  return bug("the plugin creates files beside its library: ", join(created_files));
}

// 123
Status measures_its_payloads(Subject& subject) {
  GANTRY_TRY(const std::vector<Payload>* const payloads, subject.needed_payloads());
  GANTRY_TRY(const auto state, subject.runtime());
  bool any = false;
  for (const Payload& payload : *payloads) {
    if (!state->layouts.contains(payload.key)) continue;
    any = true;
    const auto measured =
        state->layouts.measure(payload.key, ByteReader(payload.bytes), PayloadEnd::known,
                               static_cast<ArgumentTags>(payload.argument_tags));
    if (!measured.ok()) {
      return bug("the layout of key ", payload.key, " does not fit: ", first_line(measured.error()),
                 "\n  of ", payload.name);
    }
  }
  return any ? Status() : skipped("no key has a `payload`");
}

constexpr Case kPackageCases[] = {
    {91, Level::L, Weight::should, "is-explained",
     "gantry plugins doctor has no warning about the plugin, and a line with its support",
     "add `support` to the manifest, and remove keys that this release does not know",
     is_explained},
    {92, Level::L, Weight::must, "leaves-no-files",
     "the plugin creates no file beside its library, which would remain when its files are removed",
     "use the option cache_directory of the host, or an option of type path", leaves_no_files},
    {123, Level::D, Weight::must, "measures-its-payloads",
     "a layout of its key ends where each golden payload does",
     "correct `payload` of the key in the manifest: with a wrong one no artifact can be read that "
     "has the key",
     measures_its_payloads},
};

}  // namespace

std::span<const Case> package_cases() { return kPackageCases; }

}  // namespace gantry::kit
