// SPDX-License-Identifier: Apache-2.0
//
// Work that compilers mark for CUDA graphs. On a device that records work, the second run of a
// function is recorded, and later ones launch the recording; on others every run calls it.
//
//     first run     calls the function in the recorder's stream: kernels load their code
//     second run    records the function's calls, launches the recording
//     later ones    launch the recording, and return the result of the second run. They record
//                   again if the arguments are in other memory or have other values
#pragma once

#include <gantry/recorder.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace gantry::relax {

class Vm;

// Those of one machine, whose functions call them.
class Captures {
 public:
  explicit Captures(Host host) : host_(host) {}

  // Returns the result of a function without arguments, which is called once for each entry. It
  // contains the memory of the functions that are recorded.
  Result<Value> allocation(Vm& vm, const gantry_env* env, gantry_object* function,
                           std::int64_t entry);

  // A function that is recorded: its number in the code, and numbers on which its work depends.
  struct Key {
    std::int64_t entry;
    std::span<const std::int64_t> shape;
  };
  // Functions that one machine records. Others are called.
  static constexpr std::size_t max_entries = 4096;
  // Runs a function, or launches its recording.
  //
  // returns  the failures of the function and of the device
  Result<Value> run(Vm& vm, const gantry_env* env, gantry_object* function,
                    std::span<const gantry_value> args, const Key& key);

  // Keeps memory as long as the recording that is being made. Without one, does nothing.
  void keep(const Value& storage) {
    if (recorded_ != nullptr) recorded_->kept.push_back(storage);
  }
  // Releases everything, for other devices.
  void reset();

 private:
  struct Entry {
    // True after the first run.
    bool is_warm = false;
    Recording recording;
    // of the run that is recorded
    Value function, result;
    std::vector<Value> args;
    // memory that it used
    std::vector<Value> kept;
  };

  struct OwnKey {
    std::int64_t entry;
    std::vector<std::int64_t> shape;
  };
  struct Less {
    using is_transparent = void;
    bool operator()(const auto& a, const auto& b) const {
      if (a.entry != b.entry) return a.entry < b.entry;
      return std::ranges::lexicographical_compare(a.shape, b.shape);
    }
  };

  class Recorded;
  // Returns NULL if there are max_entries others.
  Entry* entry_of(const Key& key);
  Status find_recorder(const Vm& vm);
  Result<bool> is_same(const gantry_value& a, const gantry_value& b) const;
  Result<bool> is_recorded(const Entry& entry, const gantry_object* function,
                           std::span<const gantry_value> args) const;
  Result<Value> run_first(Vm& vm, const gantry_env& env, gantry_object* function,
                          std::span<const gantry_value> args, Entry& entry);
  Status record(Vm& vm, const gantry_env& env, gantry_object* function,
                std::span<const gantry_value> args, Entry& entry);

  const Host host_;
  std::vector<std::pair<std::int64_t, Value>> allocations_;
  bool has_looked_for_recorder_ = false;
  // NULL: the device does not record.
  std::unique_ptr<Recorder> recorder_;
  std::map<OwnKey, Entry, Less> entries_;
  // that is being made; NULL: none
  Entry* recorded_ = nullptr;
};

}  // namespace gantry::relax
