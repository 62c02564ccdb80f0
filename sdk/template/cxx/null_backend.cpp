// SPDX-License-Identifier: Apache-2.0
//
// A backend that computes nothing, in C++20: the smallest plugin that fulfils every duty of one.
// Copy it, rename it, and add your device.
//
//   payload of type key "example.null"     u64 length, then that many bytes: a note
//   functions of its module                 echo(x) -> x          note() -> the note
#include <gantry/plugin.hpp>

#include <array>
#include <memory>
#include <string_view>

namespace null_backend {

using gantry::Blob;
using gantry::Call;
using gantry::Result;
using gantry::Value;

struct Plugin;

// One for each payload.
class Module {
 public:
  // Without a device: its functions run on the host.
  static constexpr gantry::LoaderIdentity identity{.type_key = "example.null", .is_parallel = true};
  static Result<std::unique_ptr<Module>> load(Plugin& plugin, Blob& blob);

  static auto functions() {
    return std::array{gantry::method<&Module::echo, "echo(x)">,
                      gantry::method<&Module::note, "note()">};
  }
  // Writes the payload as it was loaded.
  gantry::Status save(const gantry::Sink& sink) const { return sink.write(kept_.bytes); }

 private:
  Module(gantry::Host host, std::string_view note, gantry::PayloadBytes kept)
      : host_(host), note_(note), kept_(std::move(kept)) {}

  Result<Value> echo(const Call& call) const {
    GANTRY_CHECK(call.count_is(1));
    return host_.keep(call.args[0]);
  }
  Result<Value> note(const Call& call) const {
    GANTRY_CHECK(call.count_is(0));
    return host_.text(note_);
  }

  gantry::Host host_;
  // A view into the payload: the note is not copied.
  std::string_view note_;
  gantry::PayloadBytes kept_;
};

// One for each runtime that uses the plugin.
struct Plugin {
  using Loaders = gantry::Types<Module>;

  explicit Plugin(gantry::Host given) : host(given) {}
  gantry::Host host;
};

// Any bytes may be in a payload: the reader compares every number with what is left.
Result<std::unique_ptr<Module>> Module::load(Plugin& plugin, Blob& blob) {
  GANTRY_TRY(const std::string_view note, blob.reader().read_string("note"));
  return std::unique_ptr<Module>(new Module(plugin.host, note, blob.keep()));
}

}  // namespace null_backend

GANTRY_PLUGIN(null_backend::Plugin);
