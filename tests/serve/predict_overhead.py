# SPDX-License-Identifier: Apache-2.0
"""Prints what the KServe adapter's predict adds to the model's run on a decoded request.

predict is awaited on the server's event loop. Subtracted are the run itself, on the thread that
awaits, and a predict that returns a constant. Minima in microseconds.
"""

import pathlib
import time

import kserve
import numpy
import uvloop

from gantry.serve.kserve import Model

GOLDEN = pathlib.Path(__file__).parents[1] / "golden" / "data" / "tvm-0.12"
LIMIT = 50


class Constant(kserve.Model):
    def __init__(self, answer):
        super().__init__("constant")
        self.answer = answer

    async def predict(self, payload, headers=None):
        return self.answer


async def least(function, times=20_000):
    seconds = []
    for _ in range(times):
        began = time.perf_counter()
        await function()
        seconds.append(time.perf_counter() - began)
    return min(seconds) * 1e6


async def main():
    model = Model("digits", str(GOLDEN / "digits_mlp_llvm.so"), threads=1)
    image = numpy.load(GOLDEN / "digits_mlp.input.npz")["x"][0]
    given = kserve.InferInput("x", [1, 64], "FP32")
    request = kserve.InferRequest("digits", [given], raw_inputs=[image.tobytes()], from_grpc=True)
    constant = Constant(await model.predict(request))

    async def run():
        model._served.run({"x": image})

    predict = await least(lambda: model.predict(request))
    alone, nothing = await least(run), await least(lambda: constant.predict(request))
    added = predict - alone - nothing
    print(
        f"predict {predict:.1f} us, run {alone:.1f} us, constant {nothing:.1f} us: "
        f"{added:.1f} us added, limit {LIMIT}"
    )


uvloop.run(main())
