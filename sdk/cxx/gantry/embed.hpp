// SPDX-License-Identifier: Apache-2.0
//
// gantry/embed.hpp - the API for C++ programs that embed gantry.
//
//     auto runtime = gantry::Runtime::create();
//     auto module  = runtime->load("digits.so");
//     auto model   = runtime->model(*module, {"cpu"});
//     auto digits  = model->function();
//     auto outputs = digits->run({{"x", *x}});
//
// The classes are a layer over the table of gantry/embed.h and are compiled into the program: no type
// of C++ crosses the boundary of libgantry, so one binary of it serves programs of every compiler and
// standard library.
//
// The classes are handles: copying one adds a reference. An object keeps everything that it needs
// alive, so handles may be destroyed in any order and on any thread. Errors are returned as Result
// (gantry/result.hpp), not thrown; memory that the program itself allocates may throw std::bad_alloc.
#pragma once

#include <gantry/embed/any.hpp>
#include <gantry/embed/function.hpp>
#include <gantry/embed/model.hpp>
#include <gantry/embed/module.hpp>
#include <gantry/embed/object.hpp>
#include <gantry/embed/options.hpp>
#include <gantry/embed/pool.hpp>
#include <gantry/embed/runtime.hpp>
#include <gantry/embed/session.hpp>
#include <gantry/embed/stream.hpp>
#include <gantry/embed/table.hpp>
#include <gantry/embed/task.hpp>
#include <gantry/embed/tensor.hpp>
#include <gantry/embed/timer.hpp>
#include <gantry/raised_error.hpp>
