// SPDX-License-Identifier: Apache-2.0
//
// sdk/embed/digits.c in Rust, without crates: digits MODEL IMAGES
//
// The records are those of gantry/embed.h and the headers that it includes. Their layout never changes; the table only grows,
// so its first part is enough. `bindgen gantry/embed.h` writes all of it.
use std::ffi::{c_void, CStr};
use std::os::raw::c_char;
use std::{env, mem, process, ptr, slice};

type Object = *mut c_void;
const TENSOR_REF: i32 = 7;
// of gantry_object, which a tensor follows
const OBJECT_BYTES: usize = 24;

#[repr(C)]
struct Bytes {
    data: *const u8,
    size: u64,
}
#[repr(C)]
#[derive(Clone, Copy)]
struct Value {
    kind: i32,
    small_size: u32,
    pointer: *mut c_void,
}
#[repr(C)]
#[derive(Clone, Copy)]
struct Tensor {
    data: *mut f32,
    device: [i32; 2],
    ndim: i32,
    dtype: [u8; 4],
    shape: *const i64,
    strides: *const i64,
    byte_offset: u64,
}
#[repr(C)]
struct Status {
    struct_size: u32,
    code: i32,
    text: *mut c_char,
    text_capacity: u32,
    text_size: u32,
    error: Object,
    offset: u64,
    native_code: i64,
    native_domain: [c_char; 16],
    reason: [c_char; 32],
}
#[repr(C)]
struct Run {
    struct_size: u32,
    flags: u32,
    function: Bytes,
    input_names: *const Bytes,
    inputs: *const Value,
    input_count: u32,
    output_count: u32,
    outputs: *mut Value,
    result: Value,
    copied_bytes: u64,
    task: Object,
    stream: Object,
    streams: *const c_void,
    stream_count: u32,
    zero: u32,
}
#[repr(C)]
struct Embed {
    struct_size: u32,
    zero: u32,
    version: *const c_char,
    retain: extern "C" fn(Object),
    release: extern "C" fn(Object),
    runtime_new: extern "C" fn(*const c_void, *mut Object, *mut Status) -> i32,
    host: usize,
    device_find: usize,
    load_file: extern "C" fn(Object, Bytes, *const c_void, *mut Object, *mut Status) -> i32,
    tensors_read: extern "C" fn(Object, Bytes, *mut Value, *mut Status) -> i32,
    tensor_foreign: usize,
    model_new: extern "C" fn(Object, *const c_void, *mut Object, *mut Status) -> i32,
    model_functions: usize,
    model_signature: usize,
    run: extern "C" fn(Object, *mut Run, *mut Status) -> i32,
    // load_memory to load_linked
    others: [usize; 18],
    items_get: extern "C" fn(Object, *mut *const Value, *mut u64, *mut Status) -> i32,
}
#[link(name = "gantry")]
extern "C" {
    fn gantry_embed_query_v1() -> *const Embed;
}

fn bytes(text: &str) -> Bytes {
    Bytes {
        data: text.as_ptr(),
        size: text.len() as u64,
    }
}

// Calls a function of the table, and ends the program with the text of its error.
fn check(call: impl FnOnce(*mut Status) -> i32) {
    let mut text = [0 as c_char; 1024];
    let mut status: Status = unsafe { mem::zeroed() };
    status.struct_size = mem::size_of::<Status>() as u32;
    status.text = text.as_mut_ptr();
    status.text_capacity = text.len() as u32;
    if call(&mut status) != 0 {
        eprintln!("digits: {}", unsafe { CStr::from_ptr(text.as_ptr()) }.to_string_lossy());
        process::exit(1);
    }
}

fn main() {
    let arguments: Vec<String> = env::args().collect();
    if arguments.len() != 3 {
        eprintln!("digits: usage: digits MODEL IMAGES");
        process::exit(1);
    }
    let embed = unsafe { &*gantry_embed_query_v1() };
    let (mut runtime, mut module, mut model) = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
    let none = Value {
        kind: 0,
        small_size: 0,
        pointer: ptr::null_mut(),
    };
    let mut tensors = none;
    let (mut items, mut count) = (ptr::null(), 0);
    check(|status| (embed.runtime_new)(ptr::null(), &mut runtime, status));
    check(|status| (embed.load_file)(runtime, bytes(&arguments[1]), ptr::null(), &mut module, status));
    check(|status| (embed.model_new)(module, ptr::null(), &mut model, status));
    check(|status| (embed.tensors_read)(runtime, bytes(&arguments[2]), &mut tensors, status));
    check(|status| (embed.items_get)(tensors.pointer, &mut items, &mut count, status));

    // The first tensor, float32[images, 1, 64], is passed as one float32[1, 64] after the other; items[0] is its name.
    let images = unsafe {
        *((*items.add(1)).pointer as *const u8)
            .add(OBJECT_BYTES)
            .cast::<Tensor>()
    };
    let pixels = unsafe { slice::from_raw_parts(images.data, *images.shape as usize * 64) };
    let mut scores = [0f32; 10];
    for image in pixels.chunks_exact(64) {
        let tensor = |data: *mut f32, shape: &[i64; 2]| Tensor {
            data,
            ndim: 2,
            shape: shape.as_ptr(),
            strides: ptr::null(),
            ..images
        };
        let mut input = tensor(image.as_ptr() as *mut f32, &[1, 64]);
        let mut output = tensor(scores.as_mut_ptr(), &[1, 10]);
        let value = |tensor: &mut Tensor| Value {
            kind: TENSOR_REF,
            small_size: 0,
            pointer: tensor as *mut _ as *mut c_void,
        };
        let input = value(&mut input);
        let mut output = value(&mut output);
        let mut run: Run = unsafe { mem::zeroed() };
        run.struct_size = mem::size_of::<Run>() as u32;
        run.inputs = &input;
        run.input_count = 1;
        run.outputs = &mut output;
        run.output_count = 1;
        check(|status| (embed.run)(model, &mut run, status));
        let best = (0..10).fold(0, |best, digit| if scores[digit] > scores[best] { digit } else { best });
        println!("{best}");
    }
    for object in [tensors.pointer, model, module, runtime] {
        (embed.release)(object);
    }
}
