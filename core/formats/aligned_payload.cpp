// SPDX-License-Identifier: Apache-2.0
#include "core/formats/aligned_payload.hpp"

#include "core/formats/aligned_output.hpp"
#include "core/formats/relay_code.hpp"
#include "core/formats/type_key.hpp"
#include "core/formats/vm_details.hpp"

#include <bit>

namespace gantry {

Status write_aligned_payload(std::string_view type_key, std::span<const std::uint8_t> payload,
                             const ExporterFacts& facts, const PayloadOutput& to) {
  if (!std::has_single_bit(to.alignment) || to.alignment > max_record_data_alignment) {
    return invalid("alignment is ", to.alignment, ", expected a power of two up to ",
                   max_record_data_alignment);
  }
  AlignedOutput out(to);
  if (const ArrayListForm* form = array_list_form(type_key))
    return write_aligned_list(*form, payload, out);
  if (type_key == relay_executable_key) return write_aligned_relay(payload, out);
  if (is_virtual_machine(type_key)) return write_aligned_relax(payload, facts.numbering, out);
  out.write(payload);
  return {};
}

}  // namespace gantry
