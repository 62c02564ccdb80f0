// SPDX-License-Identifier: Apache-2.0
//
// A backend that computes nothing, in C11: the smallest plugin that fulfils every duty of one. Copy
// it, rename it, and add your device. It needs no library but the C library.
//
//   payload of type key "example.null"     u64 length, then that many bytes: a note
//   functions of its module                 echo(x) -> x          note() -> the note
#include <gantry/gantry.h>

#include <stdlib.h>
#include <string.h>

// One for each runtime that uses the plugin.
typedef struct {
  // Borrowed; valid until destroy.
  const gantry_host* host;
} null_plugin;

// One for each payload.
typedef struct {
  const gantry_host* host;
  // Keeps the payload's bytes: the note is not copied.
  gantry_object* pin;
  gantry_bytes note;
} null_module;

static gantry_code out_of_memory(gantry_status* status) {
  return gantry_fail(status, GANTRY_EXHAUSTED, "MEMORY", "null backend: out of memory");
}

// ---- functions: self is the module, so that get_function allocates nothing ----------------------

static gantry_code echo(void* self, const gantry_env* env, const gantry_value* args, int32_t count,
                        gantry_value* result, gantry_status* status) {
  const null_module* module = self;
  (void)env;
  if (count != 1) {
    return gantry_fail(status, GANTRY_INVALID, "ARGUMENT_COUNT",
                       "null backend: echo takes 1 argument, a value");
  }
  gantry_bytes text;
  switch (args[0].kind) {
    // Borrowed for this call: it cannot be returned.
    case GANTRY_TENSOR_REF:
      return gantry_fail(status, GANTRY_INVALID, "ARGUMENT_KIND",
                         "null backend: echo cannot return a tensor that is passed by reference");
    // Borrowed too, but a text can be copied.
    case GANTRY_CSTRING:
    case GANTRY_BYTES_REF:
      gantry_value_bytes(&args[0], &text);
      return module->host->text_new(module->host,
                                    args[0].kind == GANTRY_CSTRING ? GANTRY_STRING : GANTRY_BYTES,
                                    text, result, status);
    default:
      if (args[0].kind >= GANTRY_OBJECT) gantry_retain(args[0].object);
      *result = args[0];
      return GANTRY_OK;
  }
}

static gantry_code note(void* self, const gantry_env* env, const gantry_value* args, int32_t count,
                        gantry_value* result, gantry_status* status) {
  const null_module* module = self;
  (void)env;
  (void)args;
  if (count != 0) {
    return gantry_fail(status, GANTRY_INVALID, "ARGUMENT_COUNT",
                       "null backend: note takes no argument");
  }
  return module->host->text_new(module->host, GANTRY_STRING, module->note, result, status);
}

static const gantry_function_table echo_table = {.struct_size = sizeof echo_table, .call = echo};
static const gantry_function_table note_table = {.struct_size = sizeof note_table, .call = note};

static const struct {
  const char* name;
  const char* doc;
  const gantry_function_table* table;
} functions[] = {
    {"echo", "echo(x) -> x", &echo_table},
    {"note", "note() -> the text in the payload", &note_table},
};
enum { function_count = sizeof functions / sizeof functions[0] };

// ---- the module ---------------------------------------------------------------------------------

static gantry_code get_function(void* self, gantry_bytes name, gantry_function* out,
                                gantry_status* status) {
  (void)status;
  for (int i = 0; i < function_count; ++i) {
    if (!gantry_bytes_equal(name, gantry_text(functions[i].name))) continue;
    out->self = self;
    out->table = functions[i].table;
    return GANTRY_OK;
  }
  // A normal result, which needs no text.
  return GANTRY_NOT_FOUND;
}

static gantry_code list_functions(void* self, const gantry_visitor* visitor,
                                  gantry_status* status) {
  (void)self;
  for (int i = 0; i < function_count; ++i) {
    const gantry_function_info info = {.struct_size = sizeof info,
                                       .name = gantry_text(functions[i].name),
                                       .doc = gantry_text(functions[i].doc)};
    const gantry_code code = visitor->visit(visitor->self, &info, status);
    if (code != GANTRY_OK) return code;
  }
  return GANTRY_OK;
}

// Writes the payload as it was loaded.
static gantry_code save_binary(void* self, const gantry_sink* sink, gantry_status* status) {
  const null_module* module = self;
  uint8_t length[8];
  for (int i = 0; i < 8; ++i) length[i] = (uint8_t)(module->note.size >> (8 * i));
  const gantry_code code = sink->write(sink->self, length, sizeof length, status);
  return code != GANTRY_OK ? code
                           : sink->write(sink->self, module->note.data, module->note.size, status);
}

static void destroy_module(void* self) {
  null_module* module = self;
  gantry_release(module->pin);
  free(module);
}

static const gantry_module_table module_table = {.struct_size = sizeof module_table,
                                                 .type_name = "example.null",
                                                 .destroy = destroy_module,
                                                 .get_function = get_function,
                                                 .list_functions = list_functions,
                                                 .save_binary = save_binary};

// ---- the loader ---------------------------------------------------------------------------------

static gantry_code malformed(gantry_status* status, const char* reason, const char* text,
                             uint64_t offset) {
  gantry_fail(status, GANTRY_MALFORMED, reason, text);
  if (status) status->offset = offset;
  return GANTRY_MALFORMED;
}

// Any bytes may be in a payload: every number is compared with what is left before it is used.
static gantry_code read_note(const gantry_blob* blob, gantry_bytes* note_out,
                             gantry_status* status) {
  uint64_t length = 0;
  if (blob->size < 8) {
    return malformed(status, "BLOB_TRUNCATED",
                     "null backend: payload is shorter than its length field", 0);
  }
  for (int i = 0; i < 8; ++i) length |= (uint64_t)blob->data[i] << (8 * i);
  if (length > blob->size - 8) {
    return malformed(status, "BLOB_TRUNCATED", "null backend: note is longer than its payload", 0);
  }
  if ((blob->flags & GANTRY_BLOB_EXACT) && length != blob->size - 8) {
    return malformed(status, "BLOB_TRAILING",
                     "null backend: payload has bytes after its note, expected none", 8 + length);
  }
  note_out->data = (const char*)blob->data + 8;
  note_out->size = length;
  return GANTRY_OK;
}

static gantry_code load_binary(void* self, const gantry_blob* blob, gantry_object* self_module,
                               gantry_module* module_out, uint64_t* consumed,
                               gantry_status* status) {
  const null_plugin* plugin = self;
  // For host->find: this backend looks nothing up.
  (void)self_module;
  gantry_bytes text;
  const gantry_code code = read_note(blob, &text, status);
  if (code != GANTRY_OK) return code;
  null_module* module = malloc(sizeof *module);
  if (!module) return out_of_memory(status);
  module->host = plugin->host;
  module->pin = blob->pin;
  module->note = text;
  gantry_retain(blob->pin);
  module_out->self = module;
  module_out->table = &module_table;
  *consumed = 8 + text.size;
  return GANTRY_OK;
}

static const gantry_loader_table loader = {.struct_size = sizeof loader,
                                           .flags = GANTRY_LOADER_PARALLEL,
                                           .type_key = "example.null",
                                           // The host. A device backend names its kind here.
                                           .device = NULL,
                                           .load_binary = load_binary};

// ---- the plugin ---------------------------------------------------------------------------------

// The identity, which the core reads from the file before it runs the plugin. gantry_add_plugin() takes it from the manifest.
GANTRY_NOTE(GANTRY_PLUGIN_ID, GANTRY_PLUGIN_VERSION);

static gantry_code create(const gantry_host* host, void** self, gantry_status* status) {
  null_plugin* plugin = malloc(sizeof *plugin);
  if (!plugin) return out_of_memory(status);
  plugin->host = host;
  *self = plugin;
  return GANTRY_OK;
}

static const gantry_loader_table* const loaders[] = {&loader};
static const gantry_plugin_table plugin_table = {.struct_size = sizeof plugin_table,
                                                 .abi = GANTRY_PLUGIN_ABI,
                                                 .id = GANTRY_PLUGIN_ID,
                                                 .version = GANTRY_PLUGIN_VERSION,
                                                 .loaders = loaders,
                                                 .loader_count = 1,
                                                 .create = create,
                                                 .destroy = free};

const gantry_plugin_table* gantry_plugin_query_v1(const gantry_host_info* host_info,
                                                  gantry_status* status) {
  if (host_info->abi.major != GANTRY_ABI_MAJOR) {
    gantry_fail(status, GANTRY_UNSUPPORTED, "ABI_RANGE",
                "plugin " GANTRY_PLUGIN_ID " " GANTRY_PLUGIN_VERSION
                " is built for ABI 1, this core has another: install the plugin that was built for "
                "this core");
    return NULL;
  }
  return &plugin_table;
}
