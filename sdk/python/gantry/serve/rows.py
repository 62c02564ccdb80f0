# SPDX-License-Identifier: Apache-2.0
"""Runs many rows at once, for models whose inputs and outputs have one entry for each row.

Nothing here can check that rows are independent of each other: the caller states it.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy

from gantry.serve.signature import Signature

Arrays = Mapping[str, numpy.ndarray]
Run = Callable[[Arrays], dict[str, numpy.ndarray]]


def run_requests(run: Run, requests: Sequence[Arrays], joinable: bool) -> list[dict | Exception]:
    """Run requests, each of which the signature accepts.

    joinable  whether requests may be joined along the first axis. Those whose other extents differ
              are run one after another
    returns   for each request its outputs, or why it failed
    """
    groups: dict[object, list[int]] = {}
    for i, feeds in enumerate(requests):
        extents = {a.shape[0] for a in feeds.values()} if joinable else set()
        alike = len(extents) == 1 and tuple((n, feeds[n].shape[1:]) for n in sorted(feeds))
        groups.setdefault(alike or i, []).append(i)
    answers: list[dict | Exception] = [RuntimeError()] * len(requests)
    for members in groups.values():
        try:
            found = _run_joined(run, [requests[i] for i in members])
        except Exception as error:  # of one group, the others are not concerned
            found = [error] * len(members)
        for i, answer in zip(members, found):
            answers[i] = answer
    return answers


def _run_joined(run: Run, requests: Sequence[Arrays]) -> list[dict]:
    if len(requests) == 1:
        return [run(requests[0])]
    names = requests[0].keys()
    counts = [next(iter(feeds.values())).shape[0] for feeds in requests]
    outputs = run({n: numpy.concatenate([feeds[n] for feeds in requests]) for n in names})
    _check_rows(outputs, sum(counts))
    ends = numpy.cumsum(counts)
    return [{n: o[end - k : end] for n, o in outputs.items()} for k, end in zip(counts, ends)]


def run_columns(run: Run, signature: Signature, columns: Arrays) -> dict[str, numpy.ndarray]:
    """Run the rows of a table.

    columns  one for each input. Its rows have the shape of the input, or that without the first
             extent; then as many rows are run at once as the first extent states, the last ones
             filled up with zeros
    returns  one for each output
    raises   ValueError  a column is missing, or does not fit its input
    """
    missing = [p.name for p in signature.inputs if p.name not in columns]
    if missing:
        raise ValueError(f"missing columns: {', '.join(missing)}; found: {', '.join(columns)}")
    inputs = {p.name: columns[p.name] for p in signature.inputs}
    count = len(next(iter(inputs.values())))
    if count == 0:
        return {p.name: p.zeros()[:0] for p in signature.outputs}
    whole = all(inputs[p.name].ndim == len(p.shape) + 1 for p in signature.inputs)
    if whole:
        steps = [{n: c[i] for n, c in inputs.items()} for i in range(count)]
    else:
        step = max(p.shape[0] if p.shape else 1 for p in signature.inputs)
        step = count if step < 0 else step
        steps = [_slice(inputs, at, step) for at in range(0, count, step)]
    results = []
    for feeds in steps:
        signature.check_arrays(feeds)
        results.append(run(feeds))
        if not whole:
            _check_rows(results[-1], step)
    if whole:
        return {n: numpy.stack([r[n] for r in results]) for n in results[0]}
    return {n: numpy.concatenate([r[n] for r in results])[:count] for n in results[0]}


def _slice(columns: Arrays, at: int, count: int) -> dict[str, numpy.ndarray]:
    """Return `count` rows from row `at` on, with rows of zeros after the last one."""
    rows = {n: c[at : at + count] for n, c in columns.items()}
    return {
        n: numpy.concatenate([r, numpy.zeros((count - len(r), *r.shape[1:]), r.dtype)])
        if len(r) < count
        else r
        for n, r in rows.items()
    }


def _check_rows(outputs: Arrays, count: int) -> None:
    for name, output in outputs.items():
        if output.ndim == 0 or output.shape[0] != count:
            raise RuntimeError(
                f'output "{name}" has shape {list(output.shape)}, the inputs have {count} rows: '
                "the model does not map row to row"
            )
