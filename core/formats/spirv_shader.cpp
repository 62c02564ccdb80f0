// SPDX-License-Identifier: Apache-2.0
#include "core/formats/spirv_shader.hpp"

#include <gantry/quoted.hpp>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace gantry {
namespace {

// Numbers of the SPIR-V specification.
enum SpirvOpcode : std::uint32_t {
  op_entry_point = 15,
  op_execution_mode = 16,
  op_capability = 17,
  op_type_struct = 30,
  op_type_array = 28,
  op_type_runtime_array = 29,
  op_type_pointer = 32,
  op_function = 54,
  op_variable = 59,
  op_decorate = 71,
  op_member_decorate = 72
};
enum : std::uint32_t {
  model_gl_compute = 5,
  mode_local_size = 17,
  decoration_block = 2,
  decoration_binding = 33,
  decoration_descriptor_set = 34,
  decoration_offset = 35,
  storage_uniform_constant = 0,
  storage_uniform = 2,
  storage_push_constant = 9,
  storage_storage_buffer = 12
};

struct EntryPoint {
  std::uint32_t function;
  std::string name;
};
struct Pointer {
  std::uint32_t storage;
  std::uint32_t type;
};
struct Variable {
  std::uint32_t id;
  // Id of its pointer type.
  std::uint32_t type;
  std::uint32_t storage;
  // Offset in the payload, for messages.
  std::uint64_t at;
};

class ShaderReader {
 public:
  ShaderReader(ShaderBytes bytes, std::uint64_t at, std::string_view kernel)
      : bytes_(bytes), at_(at), kernel_(kernel) {}

  Result<ShaderFacts> read() {
    GANTRY_CHECK(read_header());
    // Declarations precede the first function.
    for (std::size_t word = 5; word < count();) {
      const std::uint32_t size = word_at(word) >> 16;
      if (size == 0 || size > count() - word) {
        return wrong(word, "instruction is ", size, " words long, range is 1 to ", count() - word);
      }
      const std::uint32_t opcode = word_at(word) & 0xffff;
      if (opcode == op_function) break;
      GANTRY_CHECK(read_instruction(opcode, word, size));
      word += size;
    }
    GANTRY_CHECK(choose_entry_point());
    for (const Variable& variable : variables_) GANTRY_CHECK(location(variable));
    facts_.storage_bindings.assign(bound_.begin(), bound_.end());
    return std::move(facts_);
  }

 private:
  std::size_t count() const { return bytes_.size() / 4; }
  std::uint32_t word_at(std::size_t i) const {
    std::uint32_t word;
    std::memcpy(&word, bytes_.data() + 4 * i, sizeof word);
    return word;
  }
  std::uint64_t offset_of(std::size_t word) const { return at_ + 4 * word; }

  template <class... Parts>
  Error wrong(std::size_t word, const Parts&... parts) const {
    return malformed(offset_of(word), "shader of kernel ", quoted(kernel_), ": ", parts...)
        .with_reason("SHADER");
  }
  template <class... Parts>
  Error refused(const Parts&... parts) const {
    return unsupported("shader of kernel ", quoted(kernel_), ": ", parts...).with_reason("SHADER");
  }

  Status read_header() {
    if (count() < 5) return wrong(0, "has ", count(), " words, minimum is 5");
    const std::uint32_t magic = word_at(0);
    if (magic == __builtin_bswap32(spirv_magic))
      return wrong(0, "is big-endian, payloads are little-endian");
    if (magic != spirv_magic) {
      return wrong(0, "begins with ", Hex{magic}, ", expected ", Hex{spirv_magic});
    }
    facts_.version = word_at(1);
    if ((facts_.version & 0xff0000ffu) != 0 || facts_.version >> 16 != 1) {
      return wrong(1, "version is ", Hex{facts_.version}, ", known is 1.x");
    }
    return {};
  }

  Status needs(std::size_t word, std::uint32_t size, std::uint32_t min) const {
    if (size >= min) return {};
    return wrong(word, "instruction ", word_at(word) & 0xffff, " has ", size, " words, minimum is ",
                 min);
  }

  Status read_instruction(std::uint32_t opcode, std::size_t word, std::uint32_t size) {
    switch (opcode) {
      case op_capability:
        GANTRY_CHECK(needs(word, size, 2));
        facts_.capabilities.push_back(word_at(word + 1));
        return {};
      case op_entry_point:
        return read_entry_point(word, size);
      case op_execution_mode:
        GANTRY_CHECK(needs(word, size, 3));
        if (word_at(word + 2) == mode_local_size) {
          GANTRY_CHECK(needs(word, size, 6));
          local_sizes_[word_at(word + 1)] = {word_at(word + 3), word_at(word + 4),
                                             word_at(word + 5)};
        }
        return {};
      case op_decorate:
        GANTRY_CHECK(needs(word, size, 3));
        decorations_[{word_at(word + 1), word_at(word + 2)}] = size > 3 ? word_at(word + 3) : 0;
        return {};
      case op_member_decorate:
        GANTRY_CHECK(needs(word, size, 4));
        if (word_at(word + 3) == decoration_offset) {
          GANTRY_CHECK(needs(word, size, 5));
          offsets_[{word_at(word + 1), word_at(word + 2)}] = word_at(word + 4);
        }
        return {};
      case op_type_struct:
        GANTRY_CHECK(needs(word, size, 2));
        struct_sizes_[word_at(word + 1)] = size - 2;
        return {};
      case op_type_array:
      case op_type_runtime_array:
        GANTRY_CHECK(needs(word, size, 3));
        arrays_.insert(word_at(word + 1));
        return {};
      case op_type_pointer:
        GANTRY_CHECK(needs(word, size, 4));
        pointers_[word_at(word + 1)] = {word_at(word + 2), word_at(word + 3)};
        return {};
      case op_variable:
        GANTRY_CHECK(needs(word, size, 4));
        variables_.push_back(
            {word_at(word + 2), word_at(word + 1), word_at(word + 3), offset_of(word)});
        return {};
      default:
        return {};
    }
  }

  Status read_entry_point(std::size_t word, std::uint32_t size) {
    GANTRY_CHECK(needs(word, size, 4));
    if (word_at(word + 1) != model_gl_compute) return {};
    const auto text = bytes_.subspan(4 * (word + 3), 4 * (size - 3));
    const auto end = std::find(text.begin(), text.end(), std::uint8_t{0});
    if (end == text.end()) return wrong(word + 3, "name of an entry point is not terminated");
    entry_points_.push_back({word_at(word + 2), std::string(text.begin(), end)});
    return {};
  }

  Status choose_entry_point() {
    if (entry_points_.empty()) return wrong(0, "has no entry point for compute");
    const auto named = std::ranges::find(entry_points_, kernel_, &EntryPoint::name);
    if (named == entry_points_.end() && entry_points_.size() != 1) {
      return wrong(0, "has ", entry_points_.size(), " entry points, none has the kernel's name");
    }
    EntryPoint& chosen = named == entry_points_.end() ? entry_points_.front() : *named;
    facts_.entry_point = std::move(chosen.name);
    if (const auto size = local_sizes_.find(chosen.function); size != local_sizes_.end()) {
      facts_.local_size = size->second;
      for (const std::uint32_t extent : facts_.local_size) {
        if (extent == 0) return wrong(0, "local size has an extent of 0");
      }
    }
    return {};
  }

  std::optional<std::uint32_t> decoration(std::uint32_t id, std::uint32_t kind) const {
    const auto found = decorations_.find({id, kind});
    return found == decorations_.end() ? std::nullopt : std::optional(found->second);
  }

  Status location(const Variable& variable) {
    if (variable.storage != storage_uniform && variable.storage != storage_storage_buffer &&
        variable.storage != storage_push_constant && variable.storage != storage_uniform_constant) {
      return {};
    }
    const std::size_t word = (variable.at - at_) / 4;
    const auto pointer = pointers_.find(variable.type);
    if (pointer == pointers_.end()) {
      return wrong(word, "variable ", variable.id, " has type ", variable.type,
                   ", which is not a pointer");
    }
    const std::uint32_t type = pointer->second.type;
    if (variable.storage == storage_push_constant) {
      return place_scalars(word, type, ScalarLocation::push_constants, 0);
    }
    if (decoration(variable.id, decoration_descriptor_set).value_or(0) != 0) {
      return refused("variable ", variable.id, " is in descriptor set ",
                     *decoration(variable.id, decoration_descriptor_set), ", expected 0");
    }
    const auto binding = decoration(variable.id, decoration_binding);
    if (!binding) return wrong(word, "variable ", variable.id, " has no binding");
    if (variable.storage == storage_uniform_constant || arrays_.contains(type)) {
      return refused("binding ", *binding, " is not a buffer; textures are not supported");
    }
    if (variable.storage == storage_uniform && decoration(type, decoration_block)) {
      return place_scalars(word, type, ScalarLocation::uniform_buffer, *binding);
    }
    if (!bound_.insert(*binding).second)
      return wrong(word, "binding ", *binding, " is bound twice");
    return {};
  }

  Status place_scalars(std::size_t word, std::uint32_t type, ScalarLocation where,
                       std::uint32_t binding) {
    if (facts_.scalar_location != ScalarLocation::none) return refused("has two blocks of scalars");
    const auto members = struct_sizes_.find(type);
    if (members == struct_sizes_.end()) return wrong(word, "block of scalars is not a struct");
    facts_.scalar_location = where;
    facts_.scalar_binding = binding;
    for (std::uint32_t member = 0; member < members->second; ++member) {
      const auto offset = offsets_.find({type, member});
      if (offset == offsets_.end()) return wrong(word, "scalar ", member, " has no offset");
      facts_.scalar_offsets.push_back(offset->second);
    }
    return {};
  }

  // Id, and decoration or member.
  using Key = std::pair<std::uint32_t, std::uint32_t>;

  ShaderBytes bytes_;
  std::uint64_t at_;
  std::string_view kernel_;
  ShaderFacts facts_;
  std::vector<EntryPoint> entry_points_;
  std::map<std::uint32_t, std::array<std::uint32_t, 3>> local_sizes_;
  std::map<Key, std::uint32_t> decorations_;
  std::map<Key, std::uint32_t> offsets_;
  std::map<std::uint32_t, std::uint32_t> struct_sizes_;
  std::set<std::uint32_t> arrays_;
  // Bindings of storage buffers.
  std::set<std::uint32_t> bound_;
  std::map<std::uint32_t, Pointer> pointers_;
  std::vector<Variable> variables_;
};

}  // namespace

Result<ShaderFacts> read_shader(ShaderBytes bytes, std::uint64_t at, std::string_view kernel) {
  return ShaderReader(bytes, at, kernel).read();
}

Result<std::uint32_t> match_shader(const ShaderFacts& facts, const ShaderInterface& kernel) {
  const auto refuse = [&](const auto&... why) {
    return malformed(kernel.at, "shader of kernel ", quoted(kernel.kernel), ": ", why...)
        .with_reason("SHADER");
  };
  for (const std::uint32_t binding : facts.storage_bindings) {
    if (binding >= kernel.buffer_count) {
      return refuse("binds a buffer at ", binding, ", the kernel has ", kernel.buffer_count);
    }
  }
  const auto& offsets = facts.scalar_offsets;
  if (offsets.size() != kernel.scalar_sizes.size()) {
    return refuse("has ", offsets.size(), " scalars, the kernel has ", kernel.scalar_sizes.size());
  }
  const bool has_scalars = facts.scalar_location != ScalarLocation::none;
  const bool is_uniform = facts.scalar_location == ScalarLocation::uniform_buffer;
  if (has_scalars && kernel.uniform != is_uniform) {
    return refuse("reads its scalars from ", kernel.uniform ? "push constants" : "a uniform buffer",
                  ", its flags state ", kernel.uniform ? "a uniform buffer" : "push constants");
  }
  if (kernel.uniform && has_scalars && facts.scalar_binding != kernel.buffer_count) {
    return refuse("binds its scalars at ", facts.scalar_binding, ", expected ",
                  kernel.buffer_count);
  }
  // maxUniformBufferRange is at least this on every device.
  constexpr std::uint32_t max_bytes = 1 << 14;
  std::uint32_t bytes = 0;
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    if (offsets[i] > max_bytes - 8 || offsets[i] % 4 != 0) {
      return refuse("scalar ", i, " is at ", offsets[i], ", range is 0 to ", max_bytes - 8,
                    " in steps of 4");
    }
    bytes = std::max(bytes, offsets[i] + kernel.scalar_sizes[i]);
  }
  return bytes;
}

std::string spirv_version_text(std::uint32_t version) {
  return concat(version >> 16, '.', version >> 8 & 0xff);
}

}  // namespace gantry
