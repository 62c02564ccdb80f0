// SPDX-License-Identifier: Apache-2.0
//
// A directory with a model, an input, a recipe and an output, and the commands that use them.
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
  // gantry pack: writes the output; its compiler copies a file that the real one wrote once
  Job pack() const;
  Job pack_for_real() const;
  // the same for the container alone, which no compiler reads
  Job pack_object() const;
  // gantry mlf export of the model: writes the output, but replaces only an archive
  Job mlf_export() const;
  // gantry repack --align: writes the output
  Job repack() const;
  // gantry inspect and gantry plugins list with --json; they write no file
  Job inspect() const;
  Job list() const;
  // an application of libgantry.so; writes no file
  Job embedding() const;
  Job embedding_again_and_again(unsigned long step) const;

  // Makes the file that is replaced a tar archive: for mlf_export().
  void replace_archive();

  // True if the output file is as it was before the run.
  bool is_untouched() const;
  // True if the output file is the one that a run without a fault writes.
  bool is_whole() const;
  // True if the output's directory contains no other file.
  bool has_nothing_else() const;
  std::string listing() const;
  // Restores the output's directory.
  void reset();

  const std::filesystem::path& directory() const { return dir_.path(); }
  std::filesystem::path output() const { return dir_ / "out/result.npz"; }
  std::filesystem::path input() const { return dir_ / "x.npy"; }

 private:
  Job gantry(std::vector<std::string> words) const;

  TempDir dir_;
  // outputs of runs without a fault
  std::vector<std::uint8_t> packed_;
  std::vector<std::uint8_t> object_;
  std::vector<std::uint8_t> repacked_;
  std::vector<std::uint8_t> array_;
  std::vector<std::uint8_t> archive_;
  // the file that is there before a run
  std::string before_;
};

// True if `err`, stderr of a failed run, is one error: "gantry: <what>", or "<code>: <what>" of the
// embedding program, and no text of std::terminate.
bool is_one_error(const std::string& err);

// The last component of `path` with every digit replaced by '#': equal for every run.
std::string generic(const std::string& path);

}  // namespace gantry::test
