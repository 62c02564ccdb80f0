# SPDX-License-Identifier: Apache-2.0
"""Models on a GPU, and tensors of PyTorch, JAX and CuPy there. Skipped where no CUDA device is.

tests/gpu/python runs this file on a machine with a GPU.
"""

import concurrent.futures
import ctypes
import importlib
import os
import time
import unittest

import gantry
import numpy
import support
from test_scripts import Player

FINDS_GPU = {
    "torch": lambda torch: torch.cuda.is_available(),
    "jax": lambda jax: jax.default_backend() == "gpu",
    "cupy": lambda cupy: cupy.cuda.runtime.getDeviceCount() > 0,
}


def imported(name: str):
    """Returns a package, or the text why it is not used."""
    try:
        package = importlib.import_module(name)
        return package if FINDS_GPU[name](package) else f"{name} finds no GPU"
    except Exception as error:
        return f"{name}: {error}"


ON_GPU = any(device["name"] == "cuda" for device in gantry.default_runtime().devices())
if not ON_GPU and "GANTRY_CONFIG_GANTRY_CUDA__LIBRARY" in os.environ:
    raise AssertionError("the driver that the environment names has no device")
torch, jax, cupy = (imported(name) if ON_GPU else "there is no CUDA device" for name in FINDS_GPU)
DIGITS = support.TVM / "digits_mlp_cuda_ptx75.so"


def expected_digits() -> numpy.ndarray:
    return numpy.load(support.TVM / "digits_mlp_llvm.expected.npz")["output"]


def assert_close(found, expected):
    numpy.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


@unittest.skipUnless(ON_GPU, "there is no CUDA device")
class CudaModels(unittest.TestCase):
    def setUp(self):
        self.image = support.images()[0]
        self.expected = expected_digits()[0]

    def test_take_and_return_arrays_of_numpy(self):
        model = gantry.load(DIGITS, device="cuda:0")

        assert_close(model(x=self.image), self.expected)

    def test_run_on_the_device_of_a_call(self):
        model = gantry.load(DIGITS)

        assert_close(model.run({"x": self.image}, device="cuda:0"), self.expected)

    def test_return_tensors_on_their_device(self):
        result = gantry.load(DIGITS, device="cuda:0").run({"x": self.image}, tensors=True)

        self.assertEqual((result.device, result.__dlpack_device__()), ("cuda:0", (2, 0)))
        assert_close(result.numpy(), self.expected)

    def test_keep_their_results_during_later_runs(self):
        model = gantry.load(DIGITS, device="cuda:0", executors=1)
        first = model.run({"x": self.image}, tensors=True)

        model.run({"x": support.images()[1]}, tensors=True)

        assert_close(first.numpy(), self.expected)

    def test_run_on_many_threads(self):
        model = gantry.load(DIGITS, device="cuda:0", executors=4)
        images, expected = support.images(), expected_digits()

        with concurrent.futures.ThreadPoolExecutor(8) as threads:
            results = list(threads.map(lambda image: model(x=image), images))

        assert_close(numpy.stack(results), expected[: len(results)].reshape(numpy.stack(results).shape))

    def test_are_recorded_and_replayed(self):
        model = gantry.load(DIGITS, device="cuda:0", executors=1, capture=True)

        for image, expected in list(zip(support.images(), expected_digits()))[:8]:
            assert_close(model(x=image), expected)

    def test_of_today_have_the_results_that_tvm_computed(self):
        for name in ("cnn", "cnn_dyn"):
            with self.subTest(script=name):
                player = Player(f"{name}_cuda", device="cuda:0", tolerance=1e-4)
                self.assertGreater(player.play(self), 0)


@unittest.skipIf(isinstance(torch, str), torch)
class CudaTensorsOfTorch(unittest.TestCase):
    def setUp(self):
        self.model = gantry.load(DIGITS, device="cuda:0")
        self.image = torch.from_numpy(support.images()[0]).cuda()
        self.expected = expected_digits()[0]

    def test_are_inputs_without_a_copy(self):
        assert_close(self.model.run({"x": self.image}, copy=False), self.expected)

        self.assertEqual(self.model.copied_bytes, 0)

    def test_are_used_after_the_work_that_writes_them(self):
        image = torch.zeros_like(self.image)
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            torch.cuda._sleep(1_000_000_000)
            image.copy_(self.image, non_blocking=True)
            result = self.model.run({"x": image})

        assert_close(result, self.expected)

    def test_use_the_memory_of_results(self):
        tensor = self.model.run({"x": self.image}, tensors=True)
        made = torch.from_dlpack(tensor)

        self.assertEqual(made.device, torch.device("cuda", 0))
        made[0, 0] = 42
        torch.cuda.synchronize()
        self.assertEqual(tensor.numpy()[0, 0], 42)
        del tensor
        self.assertEqual(made[0, 0].item(), 42)

    def test_are_filled(self):
        out = torch.empty((1, 10), device="cuda")

        self.assertIs(self.model.run({"x": self.image}, out=out), out)
        assert_close(out.cpu().numpy(), self.expected)

    def test_with_strides_are_copied(self):
        wide = torch.zeros((1, 128), device="cuda")
        wide[:, ::2] = self.image

        assert_close(self.model(x=wide[:, ::2]), self.expected)
        # to the CPU, and back to the device
        self.assertEqual(self.model.copied_bytes, 2 * 256)

    def test_are_inputs_of_virtual_machines(self):
        model = gantry.load(support.RELAX / "cnn_cuda.so", device="cuda:0")
        x = numpy.load(support.RELAX / "cnn_llvm.npz")["c0_a0"]

        assert_close(model.run([torch.from_numpy(x).cuda()]), model.run([x]))

    def test_of_the_cpu_are_copied_to_the_device(self):
        assert_close(self.model(x=self.image.cpu()), self.expected)

    def test_run_on_the_device_beside_other_work(self):
        square = torch.rand((1024, 1024), device="cuda")
        stream = torch.cuda.Stream()
        for image, expected in list(zip(support.images(), expected_digits()))[:50]:
            with torch.cuda.stream(stream):
                product = square @ square
            assert_close(self.model(x=torch.from_numpy(image).cuda()), expected)
        assert_close(product.cpu().numpy(), (square @ square).cpu().numpy())


@unittest.skipIf(isinstance(torch, str), torch)
class CudaDriver(unittest.TestCase):
    """Properties of NVIDIA's driver on which plugins/cuda relies."""

    def setUp(self):
        self.driver = ctypes.CDLL("libcuda.so.1")
        # the thread's context is that of PyTorch
        torch.cuda.synchronize()
        self.stream = torch.cuda.Stream()

    def call(self, name, *args):
        self.assertEqual(getattr(self.driver, name)(*args), 0, name)

    def test_waits_for_work_when_it_frees_memory(self):
        memory = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(memory), ctypes.c_size_t(1 << 20))
        with torch.cuda.stream(self.stream):
            torch.cuda._sleep(1_000_000_000)

        started = time.monotonic()
        self.call("cuMemFree_v2", memory)

        self.assertGreater(time.monotonic() - started, 0.1)
        self.assertTrue(self.stream.query())

    def test_loads_code_while_a_stream_is_captured(self):
        code = b".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry nothing() { ret; }\n"
        stream = ctypes.c_void_p(self.stream.cuda_stream)
        module, kernel, graph = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
        relaxed = 2

        self.call("cuStreamBeginCapture_v2", stream, relaxed)
        self.call("cuModuleLoadData", ctypes.byref(module), code)
        self.call("cuModuleGetFunction", ctypes.byref(kernel), module, b"nothing")
        self.call("cuLaunchKernel", kernel, 1, 1, 1, 1, 1, 1, 0, stream, None, None)
        self.call("cuStreamEndCapture", stream, ctypes.byref(graph))

        self.assertTrue(graph.value)
        self.call("cuGraphDestroy", graph)
        self.call("cuModuleUnload", module)


@unittest.skipIf(isinstance(jax, str), jax)
class CudaArraysOfJax(unittest.TestCase):
    def setUp(self):
        self.model = gantry.load(DIGITS, device="cuda:0")
        self.image = support.images()[0]
        self.expected = expected_digits()[0]

    def test_are_inputs_without_a_copy(self):
        assert_close(self.model.run({"x": jax.numpy.asarray(self.image)}, copy=False), self.expected)

        self.assertEqual(self.model.copied_bytes, 0)

    def test_use_the_memory_of_results(self):
        tensor = self.model.run({"x": self.image}, tensors=True)

        made = jax.numpy.from_dlpack(tensor)

        del tensor
        assert_close(numpy.asarray(made), self.expected)


@unittest.skipIf(isinstance(cupy, str), cupy)
class CudaArraysOfCuPy(unittest.TestCase):
    def setUp(self):
        self.model = gantry.load(DIGITS, device="cuda:0")
        self.image = cupy.asarray(support.images()[0])
        self.expected = expected_digits()[0]

    def test_are_inputs_without_a_copy(self):
        assert_close(self.model.run({"x": self.image}, copy=False), self.expected)

        self.assertEqual(self.model.copied_bytes, 0)

    def test_that_go_backwards_are_copied(self):
        assert_close(self.model(x=self.image[:, ::-1].copy()[:, ::-1]), self.expected)

        self.assertEqual(self.model.copied_bytes, 2 * self.image.nbytes)

    def test_use_the_memory_of_results(self):
        tensor = self.model.run({"x": self.image}, tensors=True)

        made = cupy.from_dlpack(tensor)

        del tensor
        assert_close(cupy.asnumpy(made), self.expected)


if __name__ == "__main__":
    unittest.main()
