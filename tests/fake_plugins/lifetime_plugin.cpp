// SPDX-License-Identifier: Apache-2.0
//
// A plugin that detects calls that are too late: after its static destructors, or in a forked
// child. Type key "test.lifetime"; the payload is a string that selects the behaviour of
// load_binary, and the name of a function selects the function's.
//
//     payload  "sleep": load_binary waits at a cancellation point until it is cancelled
//              "leave": it calls pthread_exit()
//              "cancel": it cancels its thread, and returns
//     name     "one": returns 1
//              "sleep": waits like load_binary
//              "exit": calls exit(0)
//              "destroys": returns the number of destroyed modules
//              "start": creates a thread-local object of the calling thread, and starts a thread
//              with another one, which runs until the first object is destroyed
//              "join": waits for that thread; returns the number of destroyed thread-local objects
#include <gantry/gantry.h>
#include <gantry/abi_boundary.hpp>
#include <gantry/byte_reader.hpp>

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

namespace {

using gantry::Status;

// Status of a process in which a function was called too late.
constexpr int kCalledTooLate = 99;

std::atomic<bool> is_destroyed = false;
std::atomic<pid_t> process = 0;
std::atomic<int> destroys = 0;

// One object is created when the library is opened and one by the first call. Both are destroyed
// before the library's data.
struct Static {
  ~Static() { is_destroyed = true; }
};
Static of_the_library;

void enter(const char* function) {
  static Static of_a_function;
  if (process == 0) process = getpid();
  if (!is_destroyed && process == getpid()) return;
  std::fprintf(stderr, "lifetime plugin: %s is called too late\n", function);
  _exit(kCalledTooLate);
}

std::atomic<int> thread_locals_destroyed = 0;
struct OfAThread {
  ~OfAThread() { ++thread_locals_destroyed; }
};
std::thread* worker = nullptr;

void start_worker() {
  static thread_local OfAThread of_the_caller;
  (void)&of_the_caller;
  worker = new std::thread([] {
    static thread_local OfAThread of_the_worker;
    (void)&of_the_worker;
    while (thread_locals_destroyed == 0) usleep(1000);
  });
}

int join_worker() {
  worker->join();
  delete worker;
  return thread_locals_destroyed;
}

// Waits for a moment at a cancellation point if GANTRY_TEST_WAIT is set.
[[gnu::constructor]] void wait_when_opened() {
  if (std::getenv("GANTRY_TEST_WAIT") != nullptr) usleep(60 * 1000);
}

// usleep() is a cancellation point.
void sleep_until_cancelled() {
  for (;;) usleep(1000);
}

template <int Number>
gantry_code call(void*, const gantry_env*, const gantry_value*, std::int32_t, gantry_value* result,
                 gantry_status* status) {
  return gantry::abi_boundary(status, [&]() -> Status {
    enter("call");
    if (Number == 1) sleep_until_cancelled();
    if (Number == 2) std::exit(0);
    if (Number == 4) start_worker();
    result->kind = GANTRY_INT;
    result->i = Number == 3 ? destroys.load() : Number == 5 ? join_worker() : 1;
    return {};
  });
}

template <int Number>
constexpr gantry_function_table function{sizeof(gantry_function_table), 0, nullptr, call<Number>};
constexpr struct {
  const char* name;
  const gantry_function_table* table;
} functions[] = {{"one", &function<0>},      {"sleep", &function<1>}, {"exit", &function<2>},
                 {"destroys", &function<3>}, {"start", &function<4>}, {"join", &function<5>}};

gantry_code get_function(void* self, gantry_bytes name, gantry_function* out, gantry_status*) {
  enter("get_function");
  for (const auto& [known, table] : functions) {
    if (gantry_bytes_equal(name, gantry_text(known)) == 0) continue;
    *out = {self, table};
    return GANTRY_OK;
  }
  return GANTRY_NOT_FOUND;
}

void destroy_module(void*) {
  enter("destroy of a module");
  // A cancellation point.
  usleep(1000);
  ++destroys;
}

const gantry_module_table module_table{.struct_size = sizeof(gantry_module_table),
                                       .flags = 0,
                                       .type_name = "test.lifetime",
                                       .destroy = destroy_module,
                                       .get_function = get_function};

gantry_code load_binary(void*, const gantry_blob* blob, gantry_object*, gantry_module* module,
                        std::uint64_t* consumed, gantry_status* status) {
  return gantry::abi_boundary(status, [&]() -> Status {
    enter("load_binary");
    gantry::ByteReader in({blob->data, blob->size});
    GANTRY_TRY(const std::string_view order, in.read_string("order"));
    if (order == "sleep") sleep_until_cancelled();
    if (order == "leave") pthread_exit(nullptr);
    if (order == "cancel") pthread_cancel(pthread_self());
    *consumed = in.offset();
    *module = {nullptr, &module_table};
    return {};
  });
}

const gantry_loader_table loader{.struct_size = sizeof(gantry_loader_table),
                                 .flags = 0,
                                 .type_key = "test.lifetime",
                                 .device = nullptr,
                                 .load_binary = load_binary};
const gantry_loader_table* const loaders[] = {&loader};

gantry_code create(const gantry_host*, void**, gantry_status*) {
  enter("create");
  return GANTRY_OK;
}
void destroy(void*) { enter("destroy"); }

const gantry_plugin_table plugin{.struct_size = sizeof(gantry_plugin_table),
                                 .flags = 0,
                                 .abi = GANTRY_PLUGIN_ABI,
                                 .id = "test.lifetime",
                                 .version = "1.0.0",
                                 .loaders = loaders,
                                 .loader_count = 1,
                                 .create = create,
                                 .destroy = destroy};

}  // namespace

GANTRY_NOTE("test.lifetime", "1.0.0");

const gantry_plugin_table* gantry_plugin_query_v1(const gantry_host_info*, gantry_status*) {
  return &plugin;
}
