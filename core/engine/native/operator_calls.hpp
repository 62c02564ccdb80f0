// SPDX-License-Identifier: Apache-2.0
//
// The calls of operators that a model compiled ahead of time makes itself. Its function calls them
// through jump slots of its library, so the host does not see them. For a runtime that records its
// calls, the slots lead to functions of the host that record a span and call the operator:
//
//     tvmgen_default___tvm_main__ ─▶ slot ─▶ span "tvmgen_default_fused_nn_dense" ─▶ operator
#pragma once

#include "core/base/trace/span.hpp"
#include "core/formats/elf/elf_file.hpp"

#include <gantry/result.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace gantry {

struct RecordedOperator;

class OperatorCalls {
 public:
  // Redirects nothing.
  OperatorCalls() = default;

  // Redirects the operators of the models in an opened library. Operators are the functions that it
  // exports, calls through jump slots, and names <module>_..., with a model's function
  // <module>___tvm_main__ and get_c_metadata beside them: compilers give these the signature of packed
  // functions. A process has max_recorded redirected operators at a time; further ones, and those
  // whose slot the system does not let change, are not recorded.
  //
  // elf      for this machine; check_link() accepts it
  // base     [in]   what the linker added to the file's addresses
  // recorder [in]   borrowed, used by calls of the library's code
  // returns  malformed  the relocation tables are
  // lifetime until the library is closed
  // thread   before the library's code runs
  static Result<OperatorCalls> record(const ElfFile& elf, std::uintptr_t base,
                                      TraceRecorder& recorder);

  static constexpr std::size_t max_recorded = 1024;

  // A redirected operator's place among all of the process.
  struct Release {
    void operator()(RecordedOperator* place) const;
  };
  using Place = std::unique_ptr<RecordedOperator, Release>;

 private:
  std::vector<Place> places_;
};

}  // namespace gantry
