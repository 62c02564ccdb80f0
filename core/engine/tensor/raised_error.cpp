// SPDX-License-Identifier: Apache-2.0
#include "core/engine/tensor/raised_error.hpp"

#include "core/engine/tensor/object.hpp"

namespace gantry {

Error new_raised_error(std::string_view kind, std::string_view text) {
  Error error = invalid(Message::lines(text.empty() ? "an error without a text" : text))
                    .with_reason("HOST_CODE");
  gantry_error what{};
  what.kind = {kind.data(), kind.size()};
  what.message = {text.data(), text.size()};
  if (auto object = new_error(what); object.ok())
    error.raised = ObjectRef::adopt(&object->take()->header);
  return error;
}

}  // namespace gantry
