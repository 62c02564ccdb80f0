// SPDX-License-Identifier: Apache-2.0
//
// What all machines over one executable share: its code, and its constants on each device.
#pragma once

#include "core/formats/relay_program.hpp"

#include <gantry/array_record.hpp>
#include <gantry/blob.hpp>
#include <gantry/handle.hpp>
#include <gantry/sink.hpp>
#include <gantry/storage_memory.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace gantry::relay {

// A constant, or the name of one that is not in the executable.
struct Constant {
  // in the payload; no shape and data for late-bound constants
  ArrayRecord array;
  // late-bound: its name, and its tensor once it is loaded
  std::string name;
  Value bound;
  bool is_late() const { return !name.empty(); }
};

// thread   any
class Loaded {
 public:
  // memory   [in]   of the runtime
  // returns  as read_relay_payload() and decode()
  static Result<std::shared_ptr<Loaded>> read(const Host& host, Blob& blob,
                                              std::shared_ptr<StorageMemory> memory);
  Loaded(const Loaded&) = delete;
  Loaded& operator=(const Loaded&) = delete;

  const RelayCode code;
  const Program program;
  // of functions that executables import
  gantry_object* const node;
  // of the storages of all machines
  const std::shared_ptr<StorageMemory> memory;

  // Returns a constant as a tensor on a device, the same one for every machine. Those of the CPU are
  // in the file if their data are aligned. Threads that make one at the same time use the first one.
  //
  // scope    [in]   memory scope of the device
  // returns  INVALID  it is late-bound and not loaded (LATE_BOUND)
  Result<Value> constant(std::uint32_t index, gantry_device_id device, std::string_view scope,
                         const gantry_env* env) const;
  // Its elements in host memory.
  //
  // lifetime as long as a tensor of constant()
  const std::uint8_t* host_data(std::uint32_t index) const;

  // The constants as texts of "constants", for messages: "float32[1, 64]", "late-bound \"const_3\"".
  std::vector<std::string> constant_texts() const;

  using Named = std::pair<std::string, Value>;
  // Makes constants of at least `min_bytes` bytes late-bound, with the names const_<index>.
  //
  // store    [in]   receives copies of them; the constants stay as they were if it fails
  // returns  INVALID  there are late-bound constants already; UNSUPPORTED: the form has none
  Status take_late_bound(std::uint64_t min_bytes, const gantry_env* env,
                         const std::function<Status(const std::vector<Named>&)>& store);
  // Binds all late-bound constants. Nothing changes after a failure.
  //
  // returns  INVALID  a constant has no tensor, or a tensor is that of no constant (LATE_BOUND)
  Status bind(std::vector<Named> tensors);

  // Writes the bytes that were read, unless constants have become late-bound, or the sink requests
  // an alignment (core/formats/aligned_payload.hpp).
  Status save(const Sink& sink) const;
  // The payload's code, without its length.
  std::string code_bytes() const;

 private:
  Loaded(const Host& host, RelayCode read, Program decoded, PayloadBytes kept, gantry_object* own,
         std::shared_ptr<StorageMemory> of_runtime, std::vector<Constant> constants)
      : code(std::move(read)),
        program(std::move(decoded)),
        node(own),
        memory(std::move(of_runtime)),
        host_(host),
        kept_(std::move(kept)),
        constants_(std::move(constants)) {}
  // The constants at one moment.
  struct Snapshot {
    std::vector<Constant> constants;
    // True once take_late_bound() has changed constants.
    bool is_changed;
  };
  Snapshot snapshot() const;
  std::string changed_code(const std::vector<Constant>& all) const;
  // Makes the tensor of a constant.
  Result<Value> made_on(gantry_device_id device, const Constant& constant, std::string_view scope,
                        const gantry_env* env) const;

  const Host host_;
  const PayloadBytes kept_;
  // Not held while functions of the host or of callers run.
  mutable std::mutex mutex_;
  std::vector<Constant> constants_;
  bool is_changed_ = false;
  // Number of changes of constants_.
  std::uint64_t changes_ = 0;
  using Key = std::tuple<std::uint32_t, std::int32_t, std::int32_t>;
  using OnDevices = std::map<Key, Value>;
  mutable OnDevices on_devices_;
};

}  // namespace gantry::relay
