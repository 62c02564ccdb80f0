// SPDX-License-Identifier: Apache-2.0
//
// A directory with a model, an input, a recipe and a place for outputs, and the programs that work on them.
#pragma once

#include "tests/faults/sweep.hpp"
#include "tests/support/files.hpp"

#include <string>
#include <vector>

namespace gantry::test {

class Scene {
 public:
  Scene();

  // gantry run: writes the output
  Job run() const;
  Job run_json() const;
  // gantry pack: writes the output; its compiler copies what the real one has made once.
  Job pack() const;
  Job pack_for_real() const;
  // these two with --json; they write nothing
  Job inspect() const;
  Job list() const;
  // an application of libgantry.so; writes nothing
  Job embedding() const;
  Job embedding_again_and_again(unsigned long step) const;

  // The output file is what it was before the run.
  bool is_untouched() const;
  // It is what an undisturbed run writes.
  bool is_whole() const;
  // The output's directory holds the output and no other file.
  bool has_nothing_else() const;
  std::string listing() const;
  // Puts the output's directory back as it was.
  void reset();

  const std::filesystem::path& directory() const { return dir_.path(); }
  std::filesystem::path output() const { return dir_ / "out/result"; }
  std::filesystem::path input() const { return dir_ / "x.npy"; }

 private:
  Job gantry(std::vector<std::string> words) const;

  TempDir dir_;
  // by an undisturbed run
  std::vector<std::uint8_t> packed_;
  std::vector<std::uint8_t> array_;
};

// stderr of a failed run: "gantry: <what>", or the embedding program's "<code>: <what>", and no exception's last words.
bool tells_one_error(const std::string& err);

// A path without what differs from run to run: directories of the scene and of the build, numbers.
std::string generic(const std::string& path);

}  // namespace gantry::test
