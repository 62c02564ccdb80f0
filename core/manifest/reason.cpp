// SPDX-License-Identifier: Apache-2.0
#include "core/manifest/reason.hpp"

namespace gantry {
namespace {
constexpr Reason kAll[] = {reason::not_found,
                           reason::unreadable,
                           reason::manifest_directory,
                           reason::masked,
                           reason::replaced_by,
                           reason::shadowed_by,
                           reason::duplicate_of,
                           reason::yaml_syntax,
                           reason::yaml_duplicate_key,
                           reason::yaml_too_large,
                           reason::yaml_not_utf8,
                           reason::yaml_control_character,
                           reason::yaml_tab,
                           reason::yaml_too_deep,
                           reason::yaml_alias,
                           reason::yaml_tag,
                           reason::yaml_second_document,
                           reason::yaml_type,
                           reason::yaml_unknown_key,
                           reason::yaml_missing_key,
                           reason::yaml_range,
                           reason::schema_version,
                           reason::manifest_value,
                           reason::config_key,
                           reason::config_value,
                           reason::drop_in_key,
                           reason::abi_range,
                           reason::struct_size,
                           reason::query_missing,
                           reason::function_missing,
                           reason::table_limit,
                           reason::key_duplicate,
                           reason::key_not_offered,
                           reason::query_failed,
                           reason::id_mismatch,
                           reason::version_mismatch,
                           reason::abi_mismatch,
                           reason::replaced_during_load,
                           reason::not_elf,
                           reason::truncated,
                           reason::not_a_file,
                           reason::executable,
                           reason::elf_broken,
                           reason::library_missing,
                           reason::library_path,
                           reason::wrong_machine,
                           reason::exec_stack,
                           reason::static_tls,
                           reason::lib_needed_missing,
                           reason::symbol_missing,
                           reason::version_needed,
                           reason::linker,
                           reason::isa,
                           reason::target,
                           reason::no_device_node,
                           reason::driver_missing,
                           reason::file_missing,
                           reason::driver_too_old,
                           reason::filtered,
                           reason::disabled,
                           reason::create_failed,
                           reason::driver_ended,
                           reason::no_plugin,
                           reason::not_chosen,
                           reason::pin_unserved};
}  // namespace

std::span<const Reason> all_reasons() { return kAll; }

Reason reason_of(std::string_view tag) {
  for (const Reason& reason : kAll) {
    if (reason.tag == tag) return reason;
  }
  return {0, tag};
}

std::string name_of(const Reason& reason) {
  return concat("GANTRY-D", reason.number, " ", reason.tag);
}

}  // namespace gantry
