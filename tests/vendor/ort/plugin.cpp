// SPDX-License-Identifier: Apache-2.0
//
// acme.onnxruntime - ONNX models as payloads, run by ONNX Runtime's library.
#include "plugin.hpp"

GANTRY_PLUGIN(ort::Plugin);
