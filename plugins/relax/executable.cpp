// SPDX-License-Identifier: Apache-2.0
#include "executable.hpp"

#include "refusal.hpp"

#include "core/format/aligned_payload.hpp"

#include <gantry/byte_reader.hpp>
#include <gantry/dmlc_stream.hpp>

#include <algorithm>
#include <numeric>
#include <utility>

namespace gantry::relax {
namespace {

constexpr std::uint64_t magic_first = 0xD225DE2F4214151D;
// With memory scopes.
constexpr std::uint64_t magic_second = 0xD225DE2F4214151E;
// All releases with Relax write it.
constexpr std::string_view code_version = "0.14";

// Reads a number of items, each of min_bytes at least.
Result<std::uint64_t> read_limited_count(ByteReader& in, std::uint64_t min_bytes, std::uint64_t max,
                                         const char* items) {
  const std::uint64_t at = in.offset();
  GANTRY_TRY(const std::uint64_t count, in.read_count(min_bytes, items));
  if (count > max) return refuse(at, items, ": count is ", count, ", maximum is ", max);
  return count;
}

Result<NumberView> read_number_view(ByteReader& in, const char* items) {
  GANTRY_TRY(const std::uint64_t count,
             read_limited_count(in, sizeof(std::int64_t), max_code_words, items));
  const std::uint64_t at = in.offset();
  GANTRY_TRY(const auto bytes, in.read_bytes(count * sizeof(std::int64_t), items));
  return NumberView(bytes, at);
}

Status read_parameter_names(ByteReader& in, Function& function) {
  const std::uint64_t at = in.offset();
  GANTRY_TRY(const std::uint64_t count, in.read_count(sizeof(std::uint64_t), "parameter names"));
  const bool is_packed = function.kind == FunctionKind::packed;
  if (!is_packed && count != 0 && count != function.parameter_count) {
    return refuse(at, "parameter names are ", count, ", expected none or ",
                  function.parameter_count);
  }
  function.parameter_names.resize(count);
  for (std::string_view& name : function.parameter_names) {
    GANTRY_TRY(name, in.read_string("parameter name"));
  }
  return {};
}

Status read_function(ByteReader& in, Function& function) {
  function.at = in.offset();
  GANTRY_TRY(const std::int32_t kind, in.read_i32("kind"));
  GANTRY_TRY(function.name, in.read_string("name"));
  if (kind < 0 || kind > 2) {
    return refuse(function.at, "kind is ", kind, ", range is 0 to 2 (packed, bytecode, VM-TIR)");
  }
  function.kind = static_cast<FunctionKind>(kind);
  Function::Stored& stored = function.stored;
  GANTRY_TRY(stored.begin, in.read_i64("first instruction"));
  GANTRY_TRY(stored.end, in.read_i64("end of the instructions"));
  const std::uint64_t parameters_at = in.offset();
  GANTRY_TRY(stored.parameter_count, in.read_i64("parameter count"));
  const std::int64_t parameters = stored.parameter_count;
  const std::uint64_t registers_at = in.offset();
  GANTRY_TRY(stored.register_count, in.read_i64("register count"));
  const std::int64_t registers = stored.register_count;
  if (function.kind != FunctionKind::packed) {
    const std::int64_t results = function.kind == FunctionKind::vm_tir ? 1 : 0;
    if (registers < results || registers > std::int64_t{max_registers}) {
      return refuse(registers_at, "register count is ", registers, ", range is ", results, " to ",
                    max_registers);
    }
    if (parameters < 0 || parameters > registers - results) {
      return refuse(parameters_at, "parameter count is ", parameters, ", range is 0 to ",
                    registers - results, ", register count is ", registers);
    }
    function.parameter_count = static_cast<std::uint32_t>(parameters);
    function.register_count = static_cast<std::uint32_t>(registers);
  }
  return read_parameter_names(in, function);
}

Result<std::vector<Function>> read_functions(ByteReader& in) {
  // i32, empty name, four i64, no parameter names
  constexpr std::uint64_t min_bytes = 4 + 8 + 4 * 8 + 8;
  GANTRY_TRY(const std::uint64_t count,
             read_limited_count(in, min_bytes, max_functions, "functions"));
  std::vector<Function> functions(count);
  for (std::size_t i = 0; i < count; ++i) {
    Status read = read_function(in, functions[i]);
    if (!read.ok()) return in_function(std::move(read).error(), i, functions[i].name);
  }
  return functions;
}

// Compares the instructions of functions with their number, which the file states later.
Status check_ranges(Executable& executable) {
  const std::size_t count = executable.instruction_offsets.size();
  for (std::size_t i = 0; i < executable.functions.size(); ++i) {
    Function& function = executable.functions[i];
    if (function.kind != FunctionKind::bytecode) continue;
    const auto [begin, end] = std::pair(function.stored.begin, function.stored.end);
    if (begin < 0 || begin >= end || end > static_cast<std::int64_t>(count)) {
      return in_function(refuse(function.range_at(), "instructions are ", begin, " up to ", end,
                                ", expected a part of 0 up to ", count),
                         i, function.name);
    }
    function.begin = static_cast<std::uint32_t>(begin);
    function.end = static_cast<std::uint32_t>(end);
  }
  return {};
}

Result<std::vector<std::uint32_t>> order_by_name(const std::vector<Function>& functions) {
  std::vector<std::uint32_t> order(functions.size());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::sort(order, {}, [&](std::uint32_t i) { return std::pair(functions[i].name, i); });
  const auto same =
      std::ranges::adjacent_find(order, {}, [&](std::uint32_t i) { return functions[i].name; });
  if (same != order.end()) {
    const std::uint32_t second = *std::next(same);
    return in_function(refuse(functions[second].at, "name is that of function ", *same), second,
                       functions[second].name);
  }
  return order;
}

Result<std::vector<Constant>> read_constants(ByteReader& in, Numbering numbering) {
  GANTRY_TRY(const std::uint64_t count,
             read_limited_count(in, min_constant_bytes, max_constants, "constants"));
  std::vector<Constant> constants;
  constants.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    auto constant = read_constant(in, numbering);
    if (!constant.ok()) return std::move(constant).error().at("in constant ", i);
    constants.push_back(std::move(*constant));
  }
  return constants;
}

// A memory scope as the file states it. Its index is compared with the number of constants, which
// follows later.
struct ScopeRecord {
  std::int64_t constant = 0;
  std::string_view scope;
  std::uint64_t at = 0;
};

Result<std::vector<ScopeRecord>> read_scopes(ByteReader& in) {
  // i64 and an empty text
  GANTRY_TRY(const std::uint64_t count, in.read_count(8 + 8, "memory scopes"));
  std::vector<ScopeRecord> scopes(count);
  for (ScopeRecord& scope : scopes) {
    scope.at = in.offset();
    GANTRY_TRY(scope.constant, in.read_i64("constant of a memory scope"));
    GANTRY_TRY(scope.scope, in.read_string("memory scope"));
  }
  return scopes;
}

Status add_scopes(const std::vector<ScopeRecord>& records, Executable& executable) {
  const std::size_t count = executable.constants.size();
  for (const ScopeRecord& record : records) {
    if (record.constant < 0 || record.constant >= static_cast<std::int64_t>(count)) {
      return refuse(record.at, "memory scope ", quoted(record.scope), " is of constant ",
                    record.constant, ", constant count is ", count);
    }
    executable.memory_scopes.push_back({static_cast<std::uint32_t>(record.constant), record.scope});
  }
  return {};
}

Status check_version(ByteReader& in) {
  const std::uint64_t at = in.offset();
  GANTRY_TRY(const std::string_view version, in.read_string("version"));
  if (version == code_version) return {};
  Error error = unsupported("version is ", quoted(version), ", expected ", quoted(code_version))
                    .with_reason("BLOB_FORMAT");
  error.offset = at;
  return error;
}

Result<Executable> read_fields(ByteReader& in, Numbering numbering) {
  const std::uint64_t at = in.offset();
  GANTRY_TRY(const std::uint64_t magic, in.read_u64("magic"));
  if (magic != magic_first && magic != magic_second) {
    return refuse(at, "magic is ", Hex{magic}, ", expected ", Hex{magic_first}, " or ",
                  Hex{magic_second});
  }
  GANTRY_CHECK(check_version(in));
  Executable executable;
  executable.numbering = numbering;
  executable.has_scopes = magic == magic_second;
  GANTRY_TRY(executable.functions, read_functions(in));
  std::vector<ScopeRecord> scopes;
  if (executable.has_scopes) {
    GANTRY_TRY(scopes, read_scopes(in));
  }
  GANTRY_TRY(executable.constants, read_constants(in, numbering));
  GANTRY_CHECK(add_scopes(scopes, executable));
  GANTRY_TRY(executable.instruction_offsets, read_number_view(in, "instruction offsets"));
  GANTRY_TRY(executable.words, read_number_view(in, "words"));
  GANTRY_CHECK(check_ranges(executable));
  GANTRY_TRY(executable.by_name, order_by_name(executable.functions));
  return executable;
}

// Reads code that ends with these bytes.
Result<Executable> read_whole_code(ByteReader in, Numbering numbering) {
  auto executable = read_fields(in, numbering);
  if (executable.ok() && !in.at_end()) {
    return refuse(in.offset(), "code has ", in.left(),
                  " bytes after its last field, expected none");
  }
  return executable;
}

Result<Executable> read_sized_code(ByteReader in, Numbering numbering) {
  if (numbering != Numbering::unknown) return read_whole_code(in, numbering);
  auto best = read_whole_code(in, Numbering::packed);
  for (const Numbering other : {Numbering::ffi_0_21, Numbering::ffi}) {
    if (best.ok()) break;
    auto executable = read_whole_code(in, other);
    // The tags that lead furthest are most likely those of the file.
    if (executable.ok() || executable.error().offset > best.error().offset) {
      best = std::move(executable);
    }
  }
  return best;
}

bool begins_with_magic(ByteReader in) {
  const auto magic = in.read_u64("magic");
  return magic.ok() && (*magic == magic_first || *magic == magic_second);
}

void write_function(SinkStream& out, const Function& function) {
  out.Write(static_cast<std::int32_t>(function.kind));
  out.write_text(function.name);
  out.Write(function.stored.begin);
  out.Write(function.stored.end);
  out.Write(function.stored.parameter_count);
  out.Write(function.stored.register_count);
  out.Write<std::uint64_t>(function.parameter_names.size());
  for (const std::string_view name : function.parameter_names) out.write_text(name);
}

void write_numbers(SinkStream& out, const NumberView& numbers) {
  out.Write<std::uint64_t>(numbers.size());
  out.write(numbers.bytes());
}

void write_parts(const Executable& executable, SinkStream& out) {
  if (executable.code_bytes) out.Write<std::uint64_t>(*executable.code_bytes);
  out.Write<std::uint64_t>(executable.has_scopes ? magic_second : magic_first);
  out.write_text(code_version);
  out.Write<std::uint64_t>(executable.functions.size());
  for (const Function& function : executable.functions) write_function(out, function);
  if (executable.has_scopes) {
    out.Write<std::uint64_t>(executable.memory_scopes.size());
    for (const MemoryScope& scope : executable.memory_scopes) {
      out.Write<std::int64_t>(scope.constant);
      out.write_text(scope.scope);
    }
  }
  out.Write<std::uint64_t>(executable.constants.size());
  for (const Constant& constant : executable.constants)
    write_constant(out, constant, executable.numbering);
  write_numbers(out, executable.instruction_offsets);
  write_numbers(out, executable.words);
}

}  // namespace

std::optional<std::uint32_t> Executable::find(std::string_view name) const {
  const auto name_of = [&](std::uint32_t i) { return functions[i].name; };
  const auto found = std::ranges::lower_bound(by_name, name, {}, name_of);
  if (found == by_name.end() || name_of(*found) != name) return std::nullopt;
  return *found;
}

Result<Executable> read_executable(Blob& blob) {
  ByteReader& in = blob.reader();
  const auto read = [&]() -> Result<Executable> {
    if (blob.numbering() == Numbering::ffi || begins_with_magic(in)) {
      const bool is_known = blob.numbering() != Numbering::unknown;
      return read_fields(in, is_known ? blob.numbering() : Numbering::ffi);
    }
    const std::uint64_t at = in.offset();
    GANTRY_TRY(const std::string_view code, in.read_string("code"));
    GANTRY_TRY(
        Executable sized,
        read_sized_code(ByteReader::of_text(code, at + sizeof(std::uint64_t)), blob.numbering()));
    sized.code_bytes = code.size();
    return sized;
  };
  GANTRY_TRY(Executable executable, read());
  executable.kept = blob.keep();
  return executable;
}

Status write_executable(const Executable& executable, const Sink& sink) {
  SinkStream out(&sink.raw());
  if (sink.alignment() == 0) {
    write_parts(executable, out);
    return {};
  }
  ExporterFacts facts;
  facts.numbering = static_cast<ExporterFacts::Numbering>(executable.numbering);
  return write_aligned_payload("relax.VMExecutable", executable.kept.bytes, facts,
                               {out, out.position(), sink.alignment()});
}

}  // namespace gantry::relax
