# SPDX-License-Identifier: Apache-2.0
"""Arrays as inputs and outputs: memory, strides, element types."""

import array
import gc
import types
import unittest
import weakref

import gantry
import numpy
import support


class OnlyDlPack:
    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class InputArrays(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.image = support.images()[0]
        cls.expected = support.expected_digits()[0]

    def setUp(self):
        self.model = gantry.Runtime(threads=1).load(support.DIGITS)

    def run_equal(self, x, **how):
        numpy.testing.assert_array_equal(self.model.run({"x": x}, **how), self.expected)

    def test_that_are_aligned_are_used_in_place(self):
        self.run_equal(support.aligned(self.image))

        self.assertEqual(self.model.copied_bytes, 0)

    def test_that_are_not_aligned_are_copied_once_and_counted(self):
        self.run_equal(support.not_aligned(self.image))

        self.assertEqual(self.model.copied_bytes, self.image.nbytes)

    def test_with_strides_are_copied_once_and_counted(self):
        wide = numpy.zeros((1, 128), "float32")
        wide[:, ::2] = self.image

        self.run_equal(wide[:, ::2])
        self.run_equal(numpy.asfortranarray(numpy.vstack([self.image, self.image]))[:1])

        self.assertEqual(self.model.copied_bytes, 2 * self.image.nbytes)

    def test_with_strides_that_are_no_multiples_of_an_element_are_copied(self):
        records = numpy.zeros((1, 64), "i1,f4")
        records["f1"] = self.image

        self.run_equal(records["f1"])
        self.assertGreaterEqual(self.model.copied_bytes, self.image.nbytes)
        with self.assertRaises(gantry.Error) as caught:
            self.model.run({"x": records["f1"]}, copy=False)
        self.assertEqual(caught.exception.reason, "COPY_REQUIRED")

    def test_that_go_backwards_are_copied(self):
        self.run_equal(self.image[:, ::-1].copy()[:, ::-1])

    def test_that_only_have_dlpack_are_used_in_place(self):
        for image in (support.aligned(self.image), support.aligned(self.image)[:, ::-1].copy()[:, ::-1]):
            self.run_equal(OnlyDlPack(image))

        self.assertEqual(self.model.copied_bytes, self.image.nbytes)

    def test_that_are_not_on_the_cpu_have_no_view_that_is_used(self):
        class OnDevice(numpy.ndarray):
            """As arrays of JAX on a GPU, whose type has the buffer protocol."""

            dtype = types.SimpleNamespace(name="bfloat16", itemsize=2)

            def view(self, *_):
                raise BufferError("is not on the CPU")

            def __dlpack__(self, **_):
                return image.__dlpack__()

            def __dlpack_device__(self):
                return (2, 0)

        image = self.image
        # the protocol has no dates
        self.run_equal(numpy.zeros(1, "M8[s]").view(OnDevice))

    def test_that_are_on_a_device_are_requested_in_the_order_of_the_default_stream(self):
        class OnDevice:
            """As arrays of CuPy and PyTorch; an old one knows no max_version."""

            def __init__(self, device, is_old):
                self.device, self.is_old, self.requests = device, is_old, []

            def __dlpack__(self, **options):
                self.requests.append(options)
                if self.is_old and "max_version" in options:
                    raise TypeError("unexpected keyword")
                return image.__dlpack__()

            def __dlpack_device__(self):
                return self.device

        image = self.image
        # CUDA's default stream is 1, that of ROCm 0, and the CPU has none.
        for device, stream in (((2, 0), {"stream": 1}), ((2, 3), {"stream": 1}), ((10, 0), {"stream": 0}),
                               ((1, 0), {}), ((4, 0), {})):
            for is_old in (False, True):
                x = OnDevice(device, is_old)
                self.run_equal(x)

                self.assertEqual(x.requests[0], {"max_version": (1, 0), **stream})
                self.assertEqual(x.requests[1:], [stream] if is_old else [])

    def test_are_used_in_place_at_multiples_of_128_bytes_only(self):
        memory = numpy.zeros(1024, "uint8")
        base = -memory.ctypes.data % 128
        for past in (0, 4, 16, 32, 64, 96, 128):
            x = memory[base + past : base + past + self.image.nbytes].view("float32").reshape(self.image.shape)
            x[...] = self.image
            before = self.model.copied_bytes

            self.run_equal(x)

            copied = self.model.copied_bytes - before
            self.assertEqual(copied, 0 if past % 128 == 0 else self.image.nbytes, past)

    def test_are_used_in_place_at_multiples_of_64_bytes_only_by_virtual_machines(self):
        model = gantry.load(support.RELAX / "mlp_dyn_llvm.so")
        memory = numpy.zeros(1024, "uint8")
        base = -memory.ctypes.data % 128
        for past in (0, 4, 16, 32, 64, 96, 128):
            x = memory[base + past : base + past + 384].view("float32").reshape(3, 32)
            x[...] = 1
            before = model.copied_bytes

            model.run([x])

            copied = model.copied_bytes - before
            self.assertEqual(copied, 0 if past % 64 == 0 else x.nbytes, past)

    def test_that_are_aligned_are_used_in_place_by_virtual_machines(self):
        model = gantry.load(support.RELAX / "mlp_dyn_llvm.so")
        x = gantry.empty((3, 32))
        x[...] = 1

        expected = model.run([x.copy()[::1]])
        copied = model.copied_bytes
        numpy.testing.assert_array_equal(model.run([x], copy=False), expected)

        self.assertEqual(model.copied_bytes, copied)

    def test_of_scope_host_are_arrays_of_the_cpu(self):
        x = gantry.empty((3, 32), "int32", scope="host")

        self.assertIsInstance(x, numpy.ndarray)
        self.assertEqual((x.shape, x.dtype), ((3, 32), numpy.int32))
        with self.assertRaises(gantry.Error) as raised:
            gantry.empty((3, 32), scope="global.texture")
        self.assertIn("global.texture", str(raised.exception))

    def test_whose_capsule_is_taken_are_refused(self):
        class Taken:
            def __dlpack__(self, **_):
                return capsule

            def __dlpack_device__(self):
                return (1, 0)

        capsule = self.image.__dlpack__()
        self.run_equal(Taken())
        with self.assertRaises(gantry.Error) as caught:
            self.model(x=Taken())
        self.assertEqual(caught.exception.reason, "ARRAY_FORMAT")

    def test_that_must_be_copied_are_refused_with_copy_false(self):
        wide = numpy.zeros((1, 128), "float32")

        for x in (wide[:, ::2], support.not_aligned(self.image)):
            with self.assertRaises(gantry.Error) as caught:
                self.model.run({"x": x}, copy=False)
            self.assertEqual(caught.exception.reason, "COPY_REQUIRED")
        self.run_equal(support.aligned(self.image), copy=False)

    def test_may_be_read_only(self):
        x = self.image.copy()
        x.flags.writeable = False

        self.run_equal(x)

    def test_may_be_of_the_standard_library(self):
        values = array.array("f", self.image.ravel().tolist())

        self.run_equal(memoryview(values).cast("B").cast("f", (1, 64)))

    def test_may_be_tensors_of_a_runtime(self):
        first = self.model.run({"x": self.image}, tensors=True)

        self.assertIsInstance(first, gantry.Tensor)
        numpy.testing.assert_array_equal(first.numpy(), self.expected)

    def test_are_not_kept(self):
        class Kept(numpy.ndarray):
            pass

        x = self.image.copy().view(Kept)
        alive = weakref.ref(x)
        self.run_equal(x)

        del x
        gc.collect()
        self.assertIsNone(alive())

    def test_of_another_dtype_are_refused(self):
        with self.assertRaisesRegex(gantry.Error, "float64.*expected float32\\[1, 64\\]") as caught:
            self.model(x=self.image.astype("float64"))

        self.assertEqual(caught.exception.code, gantry.Code.INVALID)
        self.assertEqual(caught.exception.reason, "ARGUMENT_DTYPE")

    def test_of_another_shape_are_refused(self):
        with self.assertRaisesRegex(gantry.Error, "float32\\[64\\], expected") as caught:
            self.model(x=self.image[0])

        self.assertEqual(caught.exception.reason, "ARGUMENT_SHAPE")

    def test_with_elements_that_no_tensor_has_are_refused(self):
        for x in (self.image.astype(">f4"), numpy.zeros(2, "f4,i4"), numpy.array(["a"])):
            with self.assertRaises(gantry.Error) as caught:
                self.model(x=x)
            self.assertEqual(caught.exception.reason, "ARRAY_FORMAT")

    def test_of_objects_are_refused(self):
        with self.assertRaises((gantry.Error, ValueError)):
            self.model(x=numpy.array([object()]))

    def test_are_not_sets(self):
        with self.assertRaisesRegex(TypeError, "<class 'set'> is no argument"):
            self.model(x={1.0})


class InputLists(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = gantry.load(support.DIGITS)
        cls.image = support.images()[0]
        cls.expected = support.expected_digits()[0]

    def test_are_arrays_of_the_stated_dtype(self):
        row = self.image[0].tolist()

        for given in ([row], (row,), (tuple(row),), [self.image[0]], [[int(v) for v in row]]):
            expected = self.model(x=numpy.array(given, "float32"))
            numpy.testing.assert_array_equal(self.model(x=given), expected)
            numpy.testing.assert_array_equal(self.model(given), expected)
        numpy.testing.assert_array_equal(self.model(x=[row]), self.expected)

    def test_of_virtual_machines_are_arrays_where_a_dtype_is_stated(self):
        model = gantry.load(support.RELAX / "mlp_dyn_llvm.so")
        rows = [[i / 8 for i in range(32)], [1.0] * 32]

        numpy.testing.assert_array_equal(model(rows), model(numpy.array(rows, "float32")))

    def test_of_another_shape_are_refused_as_arrays(self):
        with self.assertRaisesRegex(gantry.Error, 'input "x" of the model is float32\\[2\\], expected'):
            self.model(x=[1, 2])

    def test_with_items_that_the_dtype_does_not_have_are_refused(self):
        for given, text in (
            (["1"] * 64, "items are <U1, expected float32"),
            ([True] * 64, "items are bool, expected float32"),
            ([1e300] * 64, "items are not in the range of float32"),
            ([[1, 2], [3]], "."),
            ([object()], "."),
        ):
            with self.assertRaisesRegex(gantry.Error, '^input "x": ' + text) as caught:
                self.model(x=given)
            self.assertEqual(caught.exception.code, gantry.Code.INVALID)
            self.assertEqual(caught.exception.reason, "ARRAY_FORMAT")

    def test_must_be_copied(self):
        with self.assertRaisesRegex(gantry.Error, '^input "x" is a list, which must be copied') as caught:
            self.model.run({"x": self.image.tolist()}, copy=False)
        self.assertEqual(caught.exception.reason, "COPY_REQUIRED")

    def test_of_integers_are_never_wrapped_or_truncated(self):
        from gantry._arrays import array_of

        self.assertEqual(array_of([255, 0], "uint8").tolist(), [255, 0])
        self.assertEqual(array_of([], "int32").tolist(), [])
        self.assertEqual(array_of([2**63], "uint64").tolist(), [2**63])
        self.assertEqual(array_of([True, False], "bool8").tolist(), [True, False])
        for items, dtype in (([256], "uint8"), ([-1], "uint8"), ([2**63], "int64"), ([70000.0], "float16")):
            with self.assertRaises(OverflowError):
                array_of(items, dtype)
        for items, dtype in (([1.5], "int32"), ([1.0], "int32"), ([1], "bool"), ([1j], "float32")):
            with self.assertRaises(TypeError):
                array_of(items, dtype)


class OutputArrays(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = gantry.load(support.DIGITS)
        cls.image = support.images()[0]

    def refused(self, out, reason):
        with self.assertRaises(gantry.Error) as caught:
            self.model.run({"x": self.image}, out=out)
        self.assertEqual(caught.exception.reason, reason)

    def test_that_are_read_only_are_refused(self):
        out = numpy.empty((1, 10), "float32")
        out.flags.writeable = False

        self.refused(out, "READ_ONLY")

    def test_with_strides_are_refused(self):
        self.refused(numpy.empty((1, 20), "float32")[:, ::2], "ARGUMENT_STRIDES")

    def test_of_another_type_are_refused(self):
        self.refused(numpy.empty((1, 10), "float64"), "ARGUMENT_DTYPE")
        self.refused(numpy.empty((1, 11), "float32"), "ARGUMENT_SHAPE")

    def test_are_arrays(self):
        with self.assertRaisesRegex(TypeError, "<class 'float'> cannot be filled"):
            self.model.run({"x": self.image}, out=1.5)


class Tensors(unittest.TestCase):
    def test_describe_themselves(self):
        tensor = gantry.load(support.DIGITS).run({"x": support.images()[0]}, tensors=True)

        self.assertEqual((tensor.shape, tensor.dtype, tensor.nbytes), ((1, 10), "float32", 40))
        self.assertEqual((tensor.device, tensor.__dlpack_device__()), ("cpu:0", (1, 0)))
        self.assertEqual(repr(tensor), "<gantry.Tensor float32[1, 10] on cpu:0>")

    def test_share_their_memory_with_arrays(self):
        tensor = gantry.load(support.DIGITS).run({"x": support.images()[0]}, tensors=True)
        a, b, c = numpy.asarray(tensor), tensor.numpy(), numpy.from_dlpack(tensor)

        a[0, 0] = 42

        self.assertEqual((b[0, 0], c[0, 0]), (42, 42))
        self.assertEqual(memoryview(tensor).shape, (1, 10))

    def test_keep_their_memory_for_arrays(self):
        tensor = gantry.load(support.DIGITS).run({"x": support.images()[0]}, tensors=True)
        arrays = [numpy.asarray(tensor), numpy.from_dlpack(tensor)]
        del tensor
        gc.collect()

        for made in arrays:
            numpy.testing.assert_array_equal(made, support.expected_digits()[0])

    def test_export_capsules_that_nobody_takes(self):
        tensor = gantry.load(support.DIGITS).run({"x": support.images()[0]}, tensors=True)

        capsules = [tensor.__dlpack__(), tensor.__dlpack__(max_version=(1, 0))]
        del capsules

        self.assertEqual(tensor.numpy().shape, (1, 10))

    def test_export_no_copies(self):
        tensor = gantry.load(support.DIGITS).run({"x": support.images()[0]}, tensors=True)

        with self.assertRaisesRegex(BufferError, "exports no copies"):
            tensor.__dlpack__(copy=True)
        with self.assertRaisesRegex(BufferError, "exports no copies on other devices"):
            tensor.__dlpack__(dl_device=(2, 0))

    def test_convert_as_numpy_requests(self):
        tensor = gantry.load(support.DIGITS).run({"x": support.images()[0]}, tensors=True)

        self.assertEqual(tensor.__array__("float64").dtype, numpy.float64)
        self.assertFalse(numpy.shares_memory(tensor.__array__(copy=True), tensor.numpy()))

    def test_of_a_type_that_numpy_does_not_have_stay_tensors(self):
        model = gantry.load(support.RELAX / "dtypes_llvm.so")
        half, brain, *_ = model.run([numpy.arange(6, dtype="float32")], function="cast")

        self.assertEqual(half.dtype, numpy.float16)
        self.assertIsInstance(brain, gantry.Tensor)
        self.assertEqual(brain.dtype, "bfloat16")
        with self.assertRaises((BufferError, TypeError, ModuleNotFoundError)):
            memoryview(brain)


class EmptyArrays(unittest.TestCase):
    def test_are_aligned(self):
        made = gantry.empty((3, 5), "int16")

        self.assertEqual((made.shape, made.dtype), ((3, 5), numpy.int16))
        self.assertEqual(made.ctypes.data % 64, 0)

    def test_have_every_type_of_numpy(self):
        names = "bool8 int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128"
        for name in names.split():
            self.assertEqual(gantry.empty((2,), name).dtype, numpy.dtype(name.replace("bool8", "bool")))

    def test_have_a_known_type(self):
        with self.assertRaises(gantry.Error) as caught:
            gantry.empty((2,), "float33")

        self.assertEqual(caught.exception.reason, "DTYPE")
