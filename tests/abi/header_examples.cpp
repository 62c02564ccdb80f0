// SPDX-License-Identifier: Apache-2.0
//
// The complete examples of the comments in sdk/cxx. tests/layers checks that each line of code in a
// header's first comment is in this file, which must compile.
//
// As gantry_add_plugin() defines them.
#define GANTRY_PLUGIN_ID "acme.npu"
#define GANTRY_PLUGIN_VERSION "1.0.0"
#include <gantry/call_streams.hpp>
#include <gantry/compact_tensor.hpp>
#include <gantry/convolution_call.hpp>
#include <gantry/cpu_tensor.hpp>
#include <gantry/cuda_architecture.hpp>
#include <gantry/demands.hpp>
#include <gantry/device_loss.hpp>
#include <gantry/device_spans.hpp>
#include <gantry/disk_cache.hpp>
#include <gantry/dmlc_stream.hpp>
#include <gantry/embed.hpp>
#include <gantry/embed/executor.hpp>
#include <gantry/fill.hpp>
#include <gantry/json_tree.hpp>
#include <gantry/kernel_args.hpp>
#include <gantry/library.hpp>
#include <gantry/matrix_product.hpp>
#include <gantry/message.hpp>
#include <gantry/notices.hpp>
#include <gantry/opaque.hpp>
#include <gantry/payload_writer.hpp>
#include <gantry/plugin.hpp>
#include <gantry/progress.hpp>
#include <gantry/quoted.hpp>
#include <gantry/recorder.hpp>
#include <gantry/run_outputs.hpp>
#include <gantry/stack_room.hpp>
#include <gantry/stacked_attention.hpp>
#include <gantry/storage_memory.hpp>
#include <gantry/subgraph_attributes.hpp>
#include <gantry/subgraph_module.hpp>
#include <gantry/system_library.hpp>
#include <gantry/trace.hpp>

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::examples {

void embedding(const gantry::Result<gantry::Tensor>& x) {
  auto runtime = gantry::Runtime::create();
  auto module = runtime->load("digits.so");
  auto model = runtime->model(*module, {"cpu"});
  auto digits = model->function();
  auto outputs = digits->run({{"x", *x}});
}

void linked(const gantry::Result<gantry::Runtime>& runtime) {
  auto model = gantry::system_library(*runtime);
}

void language_model(const gantry::Model& model, const gantry::Tensor& ids) {
  auto embed = model.function("embed");
  auto outputs = embed->run({{"ids", ids}});
}

Status kept_inputs(const gantry::ModelFunction& function, const gantry::Any& cache,
                   const std::vector<gantry::Tensor>& images) {
  GANTRY_TRY(gantry::Session session, gantry::Session::create(function));
  GANTRY_CHECK(session.bind("cache", cache));
  for (const gantry::Tensor& x : images) {
    GANTRY_CHECK(session.set_input("x", x));
    GANTRY_CHECK(session.run());
    GANTRY_TRY(const gantry::Any y, session.output("y"));
  }
  return {};
}

void explicit_executor(const gantry::Runtime& runtime, const gantry::Module& module,
                       const gantry::Tensor& x) {
  auto executor = gantry::Executor::create(runtime, module, {"cpu"});
  auto outputs = executor->run({{"x", x}});
}

Status levels(StackRoom& room) {
  room.enter();
  GANTRY_CHECK(room.check("function calls"));
  return {};
}

namespace boundary {
struct Device {
  Status synchronize(void* stream);
};
Result<Device*> device_at(void* self, std::int32_t i);

gantry_code synchronize(void* self, std::int32_t i, void* stream, gantry_status* status) {
  return gantry::abi_boundary(status, [&]() -> gantry::Status {
    GANTRY_TRY(Device* const device, device_at(self, i));
    return device->synchronize(stream);
  });
}

Status call_table(const gantry_device_table& table, void* self) {
  gantry::StatusBuffer status;
  const gantry_code code = table.synchronize(self, 0, nullptr, status.get());
  if (code != GANTRY_OK) return status.error(code, "synchronize of device acme:0");
  return {};
}
}  // namespace boundary

namespace opaque {
struct Cache {
  static constexpr const char* type_name = "acme.Cache";
};

Status make(const Host& host) {
  GANTRY_TRY(Value object, new_opaque(host, std::make_unique<Cache>()));
  GANTRY_TRY(Cache* const cache, opaque_of<Cache>(host, object.object()));
  static_cast<void>(cache);
  return {};
}
}  // namespace opaque

namespace progress {
struct Driver {
  void build(int* program);
};
void build(Host host, std::string_view name, Driver& driver, int* program) {
  const gantry::AnnouncedWork work(host, concat("compiling kernel ", quoted(name)));
  driver.build(program);
}
}  // namespace progress

namespace storages {
Result<StorageMemory::Block> allocate(const Host& host, const gantry_tensor& tensor,
                                      std::uint64_t bytes, std::string_view scope,
                                      const std::shared_ptr<StorageMemory::Pool>& pool,
                                      std::uint64_t limit) {
  using Row = std::int32_t;
  constexpr std::uint64_t max_bytes = 1 << 20;
  const auto memory = std::make_shared<StorageMemory>("acme.vm", limit);
  memory->add(pool);
  GANTRY_TRY(StorageMemory::Block block, memory->allocate(host, {tensor, bytes}, scope, *pool));
  HostMemory tables(host, memory, "tables of acme.vm", max_bytes);
  std::pmr::vector<Row> rows(&tables);
  return block;
}
}  // namespace storages

namespace subgraph {
struct Plugin {
  static constexpr const char* subgraph_key = "acme_json";
  Host host;
};

class Program {
 public:
  static Result<std::unique_ptr<Program>> build(Plugin&, const SubgraphCode&,
                                                std::span<const Value> constants);
  Status run(const gantry_env*, std::span<const gantry_tensor* const> arguments) const;
};
using Loaders = Types<SubgraphModule<Plugin, Program>>;
constexpr const gantry_loader_table* table = &loader_table<Plugin, SubgraphModule<Plugin, Program>>;

Result<Subgraph> read(Blob& blob) {
  GANTRY_TRY(const SubgraphPayload payload, read_subgraph_payload(blob.reader()));
  GANTRY_TRY(const Subgraph graph, read_json_subgraph(payload));
  return graph;
}

Status read_attributes(const SubgraphNode& node) {
  const SubgraphAttributes attributes(node);
  GANTRY_TRY(const auto strides, attributes.integers("strides"));
  GANTRY_TRY(const float epsilon, attributes.real("epsilon", 1e-5f));
  static_cast<void>(strides);
  static_cast<void>(epsilon);
  return {};
}

Status read_attention(const SubgraphNode& node, bool is_heads_outside,
                      std::span<const std::int64_t> shape) {
  GANTRY_TRY(auto stacked, StackedAttention::read(node, is_heads_outside));
  GANTRY_CHECK(stacked.set_shape(node, shape));
  const StackedAttention::Part queries = stacked.part(0);
  static_cast<void>(queries);
  return {};
}
}  // namespace subgraph

Status multiply(const Call& call) {
  GANTRY_TRY(const MatrixProduct product, matrix_product_of(call, 2, cpu_device_type));
  GANTRY_CHECK(check_product_types(call, product, {dtypes::float32}));
  return {};
}
Status convolve(const Call& call) {
  GANTRY_TRY(const Conv2dCall conv, read_conv2d(call));
  static_cast<void>(conv);
  return {};
}
Status use_elements(const Call& call) {
  GANTRY_TRY(const gantry_tensor* const x, compact_at(call, 0));
  const float* const elements = data_of<const float>(*x);
  static_cast<void>(elements);
  return {};
}

namespace payload {
struct Payload {
  std::string_view format;
  PayloadBytes kept;
};
Result<Payload> read_payload(Blob& blob) {
  Payload payload;
  GANTRY_TRY(payload.format, blob.reader().read_string("format"));
  payload.kept = blob.keep();
  return payload;
}
}  // namespace payload

namespace arguments {
struct Module {
  Result<Value> copy_input(std::string_view name, const gantry_tensor& from);
};
Result<Value> set_input(Module& module, const Call& call) {
  GANTRY_CHECK(call.count_is(2));
  GANTRY_TRY(const std::string_view name, call.text(0));
  GANTRY_TRY(const gantry_tensor* const from, call.tensor(1));
  return module.copy_input(name, *from);
}

constexpr gantry::Extent kRows[] = {'n', 64};
constexpr gantry::TensorSpec kInput{.dtype = gantry::dtypes::float32, .shape = kRows};
// Without a warning of -Wextra.
[[maybe_unused]] constexpr gantry::TensorSpec kAnywhere{.place = gantry::TensorPlace::any};

Result<std::int64_t> row_count(const Call& call) {
  gantry::Extents extents;
  GANTRY_TRY(const gantry_tensor* x, call.tensor(0, kInput, extents));
  const std::int64_t n = extents['n'];
  return x != nullptr ? n : 0;
}
}  // namespace arguments

Result<Value> new_matrix(const Host& host, gantry_device_id device) {
  const std::int64_t shape[] = {2, 3};
  GANTRY_TRY(Value made, host.tensor_new(compact_tensor(dtypes::float32, shape, device)));
  return made;
}

namespace values {
bool read(gantry_value result, gantry_tensor x) {
  gantry_value args[] = {int_value(3), tensor_ref_value(&x)};
  const std::optional<std::string_view> name = value_text(args[0]);
  gantry::Value owned = gantry::Value::adopt(result);
  return name.has_value();
}
Status describe(const gantry_host* raw, const Value& shape, gantry_value* result) {
  const gantry::Host host(raw);
  GANTRY_TRY(gantry::Value name, host.text("axpy"));
  GANTRY_TRY(gantry::Value info, host.map({{name, shape}}));
  *result = info.take();
  return {};
}
}  // namespace values

namespace errors {
struct ImportTree {
  explicit ImportTree(std::uint64_t count) : rows(count) {}
  std::uint64_t rows;
};
Result<ImportTree> read_tree(ByteReader& in) {
  GANTRY_TRY(const std::uint64_t count, in.read_u64("row count"));
  if (count < 2) {
    return malformed(in.offset(), "import tree has ", count, " row pointers, minimum is 2")
        .with_reason("TREE_ROWS");
  }
  return ImportTree(count);
}

Message undefined(std::string_view name, std::string_view path) {
  Message text("symbol ", name, " is undefined");
  text.at("in ", path);
  return text;
}
}  // namespace errors

namespace caches {
std::vector<std::uint8_t> compile(const std::string& source);
std::vector<std::uint8_t> binary_of(const std::string& cache_directory, const std::string& driver,
                                    const std::string& device, const std::string& source) {
  DiskCache cache({.directory = cache_directory + "/opencl"});
  const std::string key = DiskCache::key({"opencl program 1", driver, device, source});
  std::optional<std::vector<std::uint8_t>> binary = cache.load(key);
  if (!binary) {
    binary = compile(source);
    cache.store(key, *binary);
  }
  return *binary;
}
}  // namespace caches

namespace serializer {
struct Payload {
  std::string format, data;
  std::map<std::string, std::string> functions;
};
void rewrite(std::span<const std::uint8_t> bytes, std::uint64_t& consumed,
             const gantry_sink& sink) {
  Result<Payload> payload = read_with_dmlc(bytes, consumed, [](dmlc::Stream* strm) {
    Payload p;
    CHECK(strm->Read(&p.format));
    CHECK(strm->Read(&p.functions));
    CHECK(strm->Read(&p.data));
    return p;
  });
  SinkStream out(&sink);
  out.Write(payload->format);
}
}  // namespace serializer

namespace json {
Status check(std::string_view text) {
  GANTRY_TRY(const JsonTree tree, JsonTree::parse(text, {.name = "graph"}));
  const std::optional<JsonValue> nodes = tree.root().find("nodes");
  if (!nodes) return malformed(tree.root().offset(), "graph has no \"nodes\"");
  for (const JsonValue node : *nodes) {
    if (!node.is(JsonKind::object)) {
      return malformed(node.offset(), "node is ", name_of(node.kind()), ", not an object");
    }
  }
  return {};
}
}  // namespace json

namespace kernels {
void pass(const KernelArgument& argument);
Result<LaunchExtents> launch(const KernelInfo& info, std::span<const gantry_value> args,
                             const gantry_env* env) {
  GANTRY_TRY(const KernelCall kernel, KernelCall::parse(info));
  GANTRY_CHECK(kernel.check_count(args.size()));
  for (std::size_t i = 0; i < kernel.parameter_count(); ++i) {
    GANTRY_TRY(const KernelArgument argument, kernel.argument(i, args[i], env->device));
    pass(argument);
  }
  GANTRY_TRY(const LaunchExtents extents, kernel.extents(args));
  return extents;
}
}  // namespace kernels

namespace generators {

// cuda_architecture.hpp
gantry::Result<std::string> option_of(std::string_view target_arch) {
  GANTRY_TRY(const std::string_view number, cuda_architecture(target_arch));
  const std::string option = concat("--gpu-architecture=compute_", number);
  return option;
}

// payload_writer.hpp
gantry::Status save(const gantry::KernelTable& kernels, std::string_view code,
                    const gantry::Sink& sink) {
  PayloadWriter out;
  out.Write("ptx");
  write_kernel_table(out, kernels);
  out.Write(code);
  return sink.write(out.bytes());
}

// generator.hpp
class Compiler {
 public:
  gantry::Status build(const gantry::Build& what, const gantry::Sink& sink) {
    GANTRY_TRY(const gantry::JsonTree target, what.target());
    if (!target.root().is(JsonKind::object)) return invalid("target is no object");
    PayloadWriter payload;
    return sink.write(payload.bytes());
  }
  gantry::Status check(const gantry::Build& what) {
    if (what.requires_code()) return unavailable("no compiler");
    return {};
  }
};
static_assert(gantry::detail::HasBuild<Compiler>);
static_assert(gantry::detail::HasCheck<Compiler>);

}  // namespace generators

namespace recordings {
Status run(void* stream);
Status record(const Host& host, gantry_device_id device, void* stream) {
  GANTRY_TRY(const auto recorder, Recorder::create(host, device));
  GANTRY_TRY(Capture capture, recorder->begin());
  GANTRY_CHECK(run(recorder->stream()));
  GANTRY_TRY(Recording recording, capture.end());
  GANTRY_CHECK(recording.launch(stream));
  return {};
}
}  // namespace recordings

namespace drivers {
struct Driver {
  int (*init)(unsigned) = nullptr;
  int (*launch_ex)(const void*) = nullptr;
};
Status open(Driver& driver) {
  GANTRY_TRY(const Library library, Library::open("CUDA driver", {"libcuda.so.1"}));
  GANTRY_CHECK(library.bind(
      {required("cuInit", driver.init), optional("cuLaunchKernelEx", driver.launch_ex)}));
  return {};
}
}  // namespace drivers

// The classes of plugin.hpp, loader.hpp, module.hpp, method.hpp, sink.hpp and device.hpp.
class Plugin;

struct Stream {};
struct Event {};

struct Kernel {
  Status call(const Call& call);
};

class Module {
 public:
  static constexpr gantry::LoaderIdentity identity{.type_key = "acme.model"};

  static gantry::Result<std::unique_ptr<Module>> load(Plugin& plugin, gantry::Blob& blob);
  // Optional: GANTRY_VERDICT_*
  static gantry::Result<std::int32_t> check(Plugin& plugin, gantry::Blob& blob,
                                            std::int32_t device_index);

  static constexpr const char* type_name = "acme.model";
  static constexpr bool is_serial = true;

  // Functions with fixed names:
  static constexpr auto functions() {
    return std::array{gantry::method<&Module::run, "run()">,
                      gantry::method<&Module::input, "input(name or index)">,
                      gantry::method<&Module::set_input, "set_input(name, tensor)">};
  }
  // Functions with names from the payload, such as kernels:
  std::map<std::string, Kernel, std::less<>>& named_functions() { return kernels_; }

  gantry::Status save(const gantry::Sink& sink) const { return sink.write(kept_.bytes); }
  gantry::Status prepare(const gantry_env& env, std::span<const gantry_device_id> devices);

  Module(gantry::Host host, std::string_view note, gantry::PayloadBytes kept)
      : host_(host), note_(note), kept_(std::move(kept)) {}

 private:
  Status run(const Call& call);
  Result<Value> input(const Call& call);
  Status set_input(const Call& call);

  gantry::Host host_;
  std::string_view note_;
  gantry::PayloadBytes kept_;
  std::map<std::string, Kernel, std::less<>> kernels_;
};

// What a class may have instead of functions in a map, and of the manifest's identity.
class Found {
 public:
  static constexpr gantry::PluginIdentity identity{.id = "acme.npu", .version = "1.0.0"};
  static constexpr const char* type_name = "acme.found";

  Result<Kernel*> find(std::string_view name);
  std::vector<std::string_view> names() const;
};
[[maybe_unused]] const gantry_module_table* const found_table = &module_table<Found>;

class Executor {
 public:
  gantry::Result<const gantry::Placements*> placements(std::uint32_t function);
  gantry::Status run(const gantry_env& env, gantry::ExecutorRun& run);
};

namespace traces {
void build(const Host& host, const std::string& kernel) {
  const gantry::TracedWork work(host, concat("build ", kernel), "build");
}
void record(const Host& host, std::int64_t begin, std::int64_t end, const std::string& kernel) {
  const gantry::Trace trace(host);
  const std::uint64_t track = trace.track("opencl:0", "queue 1");
  if (trace.is_recording()) trace.span(track, begin, end, kernel, "kernel");
}
void launch(gantry::DeviceSpans<int>& spans, void* queue, const KernelCall& call,
            std::array<std::uint64_t, 3> grid, std::array<std::uint64_t, 3> block, int mark) {
  const std::int64_t begun = spans.launch_time();
  if (begun >= 0) spans.launched(queue, {call.name(), grid, block}, begun, std::move(mark));
}
}  // namespace traces

namespace losses {
struct Device {
  gantry::DeviceLoss loss;
};
Status launch(int kernel);
Status run(Device& device, int kernel) {
  GANTRY_CHECK(device.loss.check());
  return device.loss.recorded(launch(kernel));
}
}  // namespace losses

namespace memories {
Result<std::uint64_t> alignment_of(const Host& host, gantry_device_id device) {
  GANTRY_TRY(const Demands demands, demands_of(host, device));
  return demands.alignment;
}
Result<Value> cache_of(const Host& host, const gantry_tensor& like, const gantry_env* env) {
  GANTRY_TRY(const Value cache, host.tensor_new(like));
  GANTRY_CHECK(fill_zeros(host, *cache.tensor(), env));
  return cache;
}
}  // namespace memories

namespace notifications {
bool driver_calls_back(void* stream, void (*deliver)(void* self), void* one);
Status notify_after(Notices& notices, void* stream, void (*notify)(void*), void* argument) {
  Notices::One* const one = notices.add(notify, argument);
  if (!driver_calls_back(
          stream, [](void* self) { Notices::deliver(self); }, one))
    notices.withdraw(one);
  return {};
}
gantry_env env_on(const Call& call, gantry_device_id device) {
  const CallStreams streams(*call.env);
  const gantry_env env = streams.on(device);
  return env;
}
}  // namespace notifications

namespace outputs {
struct Machine {
  gantry::Result<gantry::Value> run(std::uint32_t function, const gantry_env* env,
                                    std::span<const gantry_value> inputs);
};
const gantry::Signature signature{{}, std::nullopt};
const gantry::Placements placed;

class Executor {
 public:
  gantry::Status run(const gantry_env& env, gantry::ExecutorRun& run);

 private:
  gantry::Host host_;
  Machine machine_;
};

gantry::Status Executor::run(const gantry_env& env, gantry::ExecutorRun& run) {
  GANTRY_TRY(gantry::Value result, machine_.run(run.function(), &env, run.inputs()));
  return gantry::pass_result({"main", signature, placed}, host_, env, std::move(result), run);
}
}  // namespace outputs

class Ensemble {
 public:
  gantry::Result<const gantry::ModelInfo*> model_info();
  gantry::Result<const gantry::Signature*> signature(std::uint32_t function);
  gantry::Result<std::unique_ptr<Executor>> executor_new(const gantry_env& env,
                                                         const gantry::ExecutorOptions& options);
};

const gantry_signature& signature_of(gantry::Signature& signature) {
  const gantry_signature& table = signature.table();
  return table;
}

class Device {
 public:
  static constexpr gantry::DeviceIdentity identity{.name = "acme", .type = 0};

  static gantry::Result<std::int32_t> count(Plugin& plugin);
  static gantry::Result<Device*> at(Plugin& plugin, std::int32_t index);

  gantry::Result<void*> alloc(const gantry_alloc& what);
  void free(void* data);
  gantry::Status copy(const gantry_copy& what, Stream* stream);

  gantry::Result<gantry::Attribute> attribute(std::int32_t kind) const;
  gantry::Status synchronize(Stream* stream);
  gantry::Result<Stream*> stream_create();
  void stream_destroy(Stream* stream);

  gantry::Status fill(const gantry::DeviceFill& what, Stream* stream);
  void trim();
  void free_in_stream(void* data, Stream* stream);
  gantry::Result<void*> host_address(void* data);
  gantry::Result<void*> memory_import(const gantry_external& what);
  gantry::Result<bool> event_reached(Event* event, std::int64_t timeout_ns);
  gantry::Status stream_notify(Stream* stream, void (*notify)(void*), void* argument);
  gantry::Result<Stream*> stream_import(void* handle);
  gantry::Result<void*> native_get(std::int32_t kind, void* object);
};

class Plugin {
 public:
  using Loaders = gantry::Types<Module>;
  using Devices = gantry::Types<Device>;

  explicit Plugin(gantry::Host given) : host(given) {}
  gantry::Host host;
};

gantry::Result<std::unique_ptr<Module>> Module::load(Plugin& plugin, gantry::Blob& blob) {
  GANTRY_TRY(const std::string_view note, blob.reader().read_string("note"));
  return std::make_unique<Module>(plugin.host, note, blob.keep());
}

}  // namespace gantry::examples

using gantry::examples::Plugin;
GANTRY_PLUGIN(Plugin);
