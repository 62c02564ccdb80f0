// SPDX-License-Identifier: Apache-2.0
//
// A model that the library has read: its inputs and outputs, and runs of it.
#pragma once

#include "runtime.hpp"

#include <gantry/parameter_info.hpp>
#include <gantry/signature.hpp>

#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace ort {

class Session {
 public:
  // returns  MALFORMED    the library refuses the model
  //          UNSUPPORTED  an operator that the library lacks; an input or output that is no tensor,
  //                       or of a dtype that gantry does not have (DTYPE)
  static gantry::Result<std::unique_ptr<Session>> create(const Runtime& runtime,
                                                         std::string_view model);

  const gantry::Signature& signature() const { return *signature_; }

  // inputs   [in]   compact, in host memory
  // outputs  [in]   tensors that are filled; NULL: the library allocates the output
  // returns  all outputs; after a failure the content of tensors to fill is undefined
  // thread   any, in parallel
  gantry::Result<std::vector<Owned<OrtValue>>> run(
      std::span<const gantry_tensor* const> inputs,
      std::span<const gantry_tensor* const> outputs) const;
  // Describes a tensor of the library.
  //
  // shape    [out]  of the tensor, which refers to it
  gantry::Result<gantry_tensor> tensor_of(OrtValue* value, std::vector<std::int64_t>& shape) const;

 private:
  Session(const Runtime& runtime, Owned<OrtSession> session)
      : runtime_(runtime), session_(std::move(session)) {}
  gantry::Status describe();
  gantry::Result<gantry::ParameterInfo> info_of(bool is_input, std::size_t index) const;
  gantry::Result<Owned<OrtValue>> value_over(const gantry_tensor& tensor) const;

  const Runtime& runtime_;
  const Owned<OrtSession> session_;
  std::unique_ptr<const gantry::Signature> signature_;
  // in the signature
  std::vector<const char*> input_names_, output_names_;
};

}  // namespace ort
