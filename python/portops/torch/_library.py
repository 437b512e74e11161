# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# mypy: disable-error-code="no-untyped-call, misc, unused-ignore"
"""Makes a custom operator of PyTorch, portops::NAME, of every operator in the schema.

Its arguments are the inputs and attributes in the schema's order, all of them given: of an input that may be a number the
tensor and the number (`Tensor? weight, float weight_number`), of a ragged one the values and the levels (`Tensor x, Tensor[]
x_levels`), of an optional output whether it is wanted. A gradient takes `bool[] wanted`, and gives the gradients that are:
one for each output, or for each tensor of a list. Steps of optimizers write their operands.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Callable, NamedTuple, Optional, Union

import torch
from torch import Tensor

from .. import _core
from .._core import Context, Ragged
from .._declarations import Input, Operator, Output
from .._schema import OPERATORS
from . import _shapes
from ._ragged import levels_of

library = torch.library.Library("portops", "DEF")

#: Attributes that become extents, which a compiler may not know.
EXTENTS = ("shape", "sections", "height", "padded_length")
TYPES = {"boolean": "bool", "integer": "int", "number": "float", "integers": "int[]", "text": "str"}

Slot = Callable[[Sequence[Any]], Any]

# --- arguments ----------------------------------------------------------------------------------------------------


class Argument(NamedTuple):
    """An argument of a custom operator: its declaration, and its name in _shapes.py."""

    declaration: str
    name: str


def input_arguments(entry: Input, written: bool) -> list[Argument]:
    name = entry.name
    levels = Argument(f"Tensor[] {name}_levels", f"{name}_levels")
    if entry.ragged == "levels":
        return [levels]
    if entry.is_list:
        values = Argument(f"{'Tensor(a!)[]' if written else 'Tensor[]'} {name}", name)
        return [values, levels] if entry.ragged == "true" else [values]
    if entry.ragged in ("true", "optional"):
        return [Argument(f"Tensor {name}", name), levels]
    if entry.or_number:
        kind = "Tensor(a!)?" if written else "Tensor?"
        return [Argument(f"{kind} {name}", name), Argument(f"float {name}_number", f"{name}_number")]
    kind = "Tensor?" if entry.optional else "Tensor(a!)" if written else "Tensor"
    return [Argument(f"{kind} {name}", name)]


def arguments_of(op: Operator) -> list[Argument]:
    written = {source for source, _ in op.inplace} if op.is_step else set()
    arguments = [argument for entry in op.inputs for argument in input_arguments(entry, entry.name in written)]
    for place, argument in enumerate(each for each in arguments if "(a!)" in each.declaration):
        index = arguments.index(argument)
        alias = "abcdefgh"[place]
        arguments[index] = argument._replace(declaration=argument.declaration.replace("(a!)", f"({alias}!)"))
    for attribute in op.attributes:
        kind = TYPES[attribute.type]
        if attribute.name in EXTENTS:
            kind = kind.replace("int", "SymInt")
        arguments.append(Argument(f"{kind} {attribute.name}", attribute.name))
    if op.is_gradient:
        return [*arguments, Argument("bool[] wanted", "wanted")]
    if op.is_step:
        return arguments
    optional = [output.name for output in op.outputs if output.optional]
    return [*arguments, *(Argument(f"bool {name}_wanted", f"{name}_wanted") for name in optional)]


def returns_of(op: Operator) -> str:
    if op.is_step:
        return "()"
    if op.is_gradient or op.outputs[0].is_list:
        return "Tensor[]"
    return "Tensor" if len(op.outputs) == 1 else "(" + ", ".join("Tensor" for _ in op.outputs) + ")"


# --- where and how calls run --------------------------------------------------------------------------------------

_CONTEXTS = {
    (deterministic, math): Context(deterministic=deterministic, math=math)
    for deterministic in (None, True)
    for math in ("ieee", "tf32")
}
_DETERMINISTIC = Context(deterministic=True)
_matmul = torch.backends.cuda.matmul


def host_context() -> Optional[Context]:
    """What PyTorch's switches say; a `portops.context` around a call goes before them."""
    return _DETERMINISTIC if torch.are_deterministic_algorithms_enabled() else None


def device_context() -> Context:
    deterministic = True if torch.are_deterministic_algorithms_enabled() else None
    return _CONTEXTS[deterministic, "tf32" if _matmul.fp32_precision == "tf32" else "ieee"]


# --- kernels ------------------------------------------------------------------------------------------------------


def slots_of(op: Operator) -> Optional[list[Slot]]:
    """How the core's inputs and attributes come from the custom operator's arguments; None: they are the same."""
    slots: list[Slot] = []
    index = 0
    are_same = True
    for entry in op.inputs:
        slots.append(_slot(entry, index))
        count = len(input_arguments(entry, False))
        are_same = are_same and count == 1 and entry.ragged != "levels" and not (entry.is_list and entry.optional)
        index += count
    for _ in op.attributes:
        slots.append(_item(index))
        index += 1
    return None if are_same else slots


def _item(index: int) -> Slot:
    return lambda given: given[index]


def _slot(entry: Input, index: int) -> Slot:
    if entry.ragged == "levels":
        return lambda given: levels_of(given[index])
    if entry.ragged == "true" and entry.is_list:
        return lambda given: _ragged_list(given[index], given[index + 1])
    if entry.ragged in ("true", "optional"):
        return lambda given: _made_ragged(given[index], given[index + 1])
    if entry.or_number:
        return lambda given: given[index + 1] if given[index] is None else given[index]
    if entry.is_list and entry.optional:
        return lambda given: given[index] or None
    return _item(index)


def _made_ragged(values: Tensor, levels: Sequence[Tensor]) -> Any:
    made = levels_of(levels)
    return values if made is None else Ragged(values, made)


def _ragged_list(values: Sequence[Tensor], levels: Sequence[Tensor]) -> list[Any]:
    depth = len(levels) // len(values) if values else 0
    return [_made_ragged(each, levels[i * depth : (i + 1) * depth]) for i, each in enumerate(values)]


def _values(result: Any) -> Any:
    return result.values if isinstance(result, Ragged) else result


#: The extension's operators by name.
cores = {op.name: _core.Operator(op.name, in_autograd=True) for op in OPERATORS.values()}


def kernel_of(op: Operator, context: Callable[[], Optional[Context]]) -> Callable[..., Any]:
    name = op.name
    slots = slots_of(op)
    count = len(op.inputs) + len(op.attributes)

    def inputs(given: Sequence[Any]) -> Sequence[Any]:
        return given[:count] if slots is None else [slot(given) for slot in slots]

    if op.is_step:
        return _step_kernel(op, inputs, context)
    if op.is_gradient:
        return _gradient_kernel(op, inputs, context)
    if len(op.outputs) == 1:
        if slots is None:
            return lambda *given: cores[name](*given, None, context())
        if op.outputs[0].levels:
            return lambda *given: _values(cores[name](*inputs(given), None, context()))
        return lambda *given: cores[name](*inputs(given), None, context())
    return _kernel_of_several(op, inputs, context)


def _kernel_of_several(op: Operator, inputs: Any, context: Any) -> Callable[..., Any]:
    name = op.name
    optional = len([output for output in op.outputs if output.optional])
    always = len(op.outputs) - optional  # they stand first

    def kernel(*given: Any) -> tuple[Tensor, ...]:
        wanted = given[len(given) - optional :]
        results = cores[name](*inputs(given[: len(given) - optional]), *[None] * always, *wanted, context())
        device = _values(results[0]).device
        return tuple(
            torch.empty(0, dtype=torch.int64, device=device) if each is None else _values(each) for each in results
        )

    return kernel


def _gradient_kernel(op: Operator, inputs: Any, context: Any) -> Callable[..., Any]:
    name = op.name
    count = len(op.outputs)
    if op.outputs[0].is_list:
        variables = op.outputs[0].shape.names[0]
        index = [argument.name for argument in arguments_of(op)].index(variables)

        def list_kernel(*given: Any) -> list[Tensor]:
            wanted = given[-1]
            made = [each.new_empty(each.shape) if is_wanted else None for each, is_wanted in zip(given[index], wanted)]
            cores[name](*inputs(given[:-1]), made, context())
            return [each for each in made if each is not None]

        return list_kernel

    def kernel(*given: Any) -> list[Tensor]:
        results = cores[name](*inputs(given[:-1]), *given[-1], context())
        if count == 1:
            return [_values(results)]
        return [_values(each) for each in results if each is not None]

    return kernel


def _step_kernel(op: Operator, inputs: Any, context: Any) -> Callable[..., Any]:
    name = op.name
    names = [argument.name for argument in arguments_of(op)]
    sources = {target: names.index(source) for source, target in op.inplace}
    written = [sources[output.name] for output in op.outputs]

    def kernel(*given: Any) -> None:
        outputs = [given[index] or None if isinstance(given[index], (list, tuple)) else given[index] for index in written]
        cores[name](*inputs(given), *outputs, context())
        for output in outputs:
            for tensor in output if isinstance(output, (list, tuple)) else (output,):
                if tensor is not None and not tensor.is_inference():
                    torch.autograd.graph.increment_version(tensor)

    return kernel


# --- shapes -------------------------------------------------------------------------------------------------------


_OWN_TYPES = {"i64": torch.int64, "f64": torch.float64}


def _dtype(output: Output, like: Tensor, parameter: Optional[Tensor]) -> torch.dtype:
    """That of an output, in a call whose tensors are as this one, and whose parameters are as the other."""
    if output.type == "parameters":
        return like.dtype if parameter is None else parameter.dtype
    if output.type == "sums":
        return torch.float64 if like.dtype is torch.float64 else torch.float32
    return _OWN_TYPES[output.type] if output.type else like.dtype


def fake_of(op: Operator) -> Callable[..., Any]:
    """What a compiler takes for the kernel: results of the same extents and types, without elements."""
    names = [argument.name for argument in arguments_of(op)]
    family = op.name[: -len("_grad")] if op.is_gradient else op.name
    typed = next(entry.name for entry in op.inputs if entry.type is None)
    parameters = [entry.name for entry in op.inputs if entry.type == "parameters"]
    first = names[0]

    def made(output: Output, given: dict[str, Any]) -> Any:
        like = given[typed][0] if isinstance(given[typed], (list, tuple)) else given[typed]
        if output.is_list:
            dtype = _dtype(output, like, None)
            return [like.new_empty(extents, dtype=dtype) for extents in _shapes.list_extents(output.shape, given)]
        name = output.name[: -len("_grad")] if op.is_gradient else output.name
        parameter = next((given[each] for each in parameters if given[each] is not None), None)
        dtype = _dtype(output, like, parameter)
        return like.new_empty(_shapes.extents(family, name, output.shape, given), dtype=dtype)

    def fake(*arguments: Any) -> Any:
        given = dict(zip(names, arguments))
        if op.is_step:
            return None
        if op.is_gradient:
            if op.outputs[0].is_list:
                return [each for each, is_wanted in zip(made(op.outputs[0], given), given["wanted"]) if is_wanted]
            return [made(output, given) for output, is_wanted in zip(op.outputs, given["wanted"]) if is_wanted]
        results = []
        for output in op.outputs:
            if output.optional and not given[f"{output.name}_wanted"]:
                results.append(given[first].new_empty((0,), dtype=torch.int64))
            else:
                results.append(made(output, given))
        return results[0] if len(results) == 1 else tuple(results)

    return fake


# --- calls below autograd -----------------------------------------------------------------------------------------

_PLAIN_TYPES = (Tensor, torch.nn.Parameter)
_below_autograd = torch._C._AutoDispatchBelowAutograd


def _make_is_watched() -> tuple[Callable[[], bool], Callable[[], bool]]:
    """Whether a mode, a transformation, a tracer, a compiler or a profiler is at work, and whether autocast is; where a
    PyTorch does not tell, they may be."""
    try:
        keys, key_set = torch._C.DispatchKey, torch._C.DispatchKeySet
        nobody = (key_set(keys.BackendSelect) | key_set(keys.ADInplaceOrView)).raw_repr()
        modes, has_function_mode = torch._C._dispatch_tls_local_include_set, torch._C._is_torch_function_mode_enabled
        is_profiled, is_autocast = torch._C._autograd._profiler_enabled, torch._C._is_any_autocast_enabled
        is_compiling = torch.compiler.is_compiling
    except AttributeError:
        return lambda: True, lambda: True
    return lambda: is_compiling() or modes().raw_repr() != nobody or has_function_mode() or is_profiled(), is_autocast


_is_watched, _is_any_autocast_enabled = _make_is_watched()

_INTEGERS = (list, tuple)
#: By how an argument is declared: what the dispatcher would hand on as it is.
_EXACT_TYPES = {
    "bool": (bool,),
    "int": (int,),
    "SymInt": (int,),
    "float": (float, int),
    "int[]": _INTEGERS,
    "SymInt[]": _INTEGERS,
    "str": (str,),
}


def places_of_tensors(op: Operator) -> tuple[list[int], list[int]]:
    """Which arguments of the custom operator are tensors, and which are lists of them."""
    declarations = [argument.declaration for argument in arguments_of(op)]
    tensors = [i for i, each in enumerate(declarations) if each.startswith(("Tensor ", "Tensor? "))]
    return tensors, [i for i, each in enumerate(declarations) if each.startswith("Tensor[] ")]


class Call:
    """Calls an operator for those who have dealt with autograd: its kernel itself, where PyTorch's dispatcher would come
    to that and to nothing else. Its passes, there and back to Python, take as long as all the rest of a call. Modes,
    transformations and subclasses of tensors, as compilers have them, and profilers see all calls."""

    def __init__(self, op: Operator):
        self.dispatched = getattr(torch.ops.portops, op.name).default
        self.kernels = {False: kernel_of(op, host_context), True: kernel_of(op, device_context)}
        self.tensors, self.lists = places_of_tensors(op)
        kinds = [argument.declaration.split()[0] for argument in arguments_of(op)]
        self.exact = [(index, _EXACT_TYPES[kind]) for index, kind in enumerate(kinds) if kind in _EXACT_TYPES]

    def __call__(self, *given: Any) -> Any:
        on_gpu = self.is_on_gpu(given)
        if on_gpu is not None:
            return self.kernels[on_gpu](*given)
        with _below_autograd():
            return self.dispatched(*given)

    def is_exact(self, given: Sequence[Any]) -> bool:
        """Whether what is no tensor is of its very type, so that the dispatcher would convert nothing."""
        for index, types in self.exact:
            value = given[index]
            if type(value) not in types or (types is _INTEGERS and any(type(each) is not int for each in value)):
                return False
        return True

    def is_on_gpu(self, given: Sequence[Any]) -> Optional[bool]:
        """None where somebody else may have to see the call."""
        if _is_watched():
            return None
        on_gpu = False
        tensors = [given[index] for index in self.tensors]
        for index in self.lists:
            tensors += given[index]
        for tensor in tensors:
            if tensor is None:
                continue
            if type(tensor) not in _PLAIN_TYPES or tensor.layout is not torch.strided:
                return None
            if tensor.is_neg() or tensor._is_zerotensor():
                return None
            if tensor.is_cuda:
                on_gpu = True
            elif not tensor.is_cpu:
                return None
        return on_gpu


#: Of all operators, by name.
calls: dict[str, Call] = {}


# --- gradients ----------------------------------------------------------------------------------------------------


def _stand_in(like: Tensor, extents: Sequence[Any], dtype: Optional[torch.dtype] = None) -> Tensor:
    """For a tensor of which only the extents are read: one element, wherever one looks."""
    if like.shape == extents and dtype in (None, like.dtype):
        return like
    return like.new_empty_strided(tuple(extents), (0,) * len(extents), dtype=dtype)


class Autograd:
    """What autograd does for an operator: what it keeps for the gradient, and how the gradient is called."""

    def __init__(self, op: Operator, gradient: Operator):
        self.op = op
        self.gradient = gradient
        self.call = calls[gradient.name]
        forward = [argument.name for argument in arguments_of(op)]
        self.arguments = [argument.name for argument in arguments_of(gradient)][:-1]
        outputs = {output.name: index for index, output in enumerate(op.outputs)}
        grads = {f"{output.name}_grad": index for index, output in enumerate(op.outputs)}
        self.several = len(op.outputs) > 1
        self.wanted = {outputs[o.name]: forward.index(f"{o.name}_wanted") for o in op.outputs if f"{o.name}_wanted" in forward}
        self.out_list = op.outputs[0].is_list
        lists = {entry.name for entry in gradient.inputs if entry.is_list}
        tensors = {entry.name for entry in gradient.inputs if entry.ragged != "levels"}

        # Where each argument of the gradient comes from: ("tensor", i), ("output", i) and ("tensors", i), which are kept,
        # ("plain", i), or ("grad", i).
        self.sources: list[tuple[str, int]] = []
        for name in self.arguments:
            if name in grads:
                self.sources.append(("grad", grads[name]))
            elif name in forward:
                is_list = name in lists or name.endswith("_levels")
                kind = "tensors" if is_list else "tensor" if name in tensors else "plain"
                self.sources.append((kind, forward.index(name)))
            else:
                self.sources.append(("output", outputs[name]))

        variables = [output.name[: -len("_grad")] for output in gradient.outputs]
        self.variables = [forward.index(name) for name in variables]
        self.list_variable = gradient.outputs[0].is_list
        self.grad_index = grads[next(name for name in self.arguments if name in grads)]
        self.count = len(forward)
        self.unneeded = {self.arguments.index(name) for name in gradient.no_need_buffer}
        unless = [f"{name}_grad" for name in variables]
        self.unless = unless.index(gradient.no_need_buffer_unless) if gradient.no_need_buffer_unless else -1
        self.needs_buffer = _shapes.NEEDS_BUFFER.get(gradient.name)
        attribute = gradient.no_need_buffer_attribute
        self.attribute = forward.index(attribute) if attribute else -1

    def unneeded_in(self, needs: Sequence[Any], inputs: Sequence[Any]) -> set[int]:
        if self.unless >= 0 and needs[self.variables[self.unless]]:
            return set()
        if self.needs_buffer is not None and self.needs_buffer(inputs[self.attribute]):
            return set()
        return self.unneeded

    def setup(self, ctx: Any, needs: Sequence[Any], inputs: Sequence[Any], output: Any) -> None:
        """Keeps what the gradient takes: tensors, and of those whose elements it does not read the extents alone."""
        unneeded = self.unneeded_in(needs, inputs)
        saved: list[Any] = []
        plan: list[Any] = []  # of each argument: how many tensors were kept, extents, a value, or none
        for place, (kind, index) in enumerate(self.sources):
            if kind == "grad":
                plan.append(None)
            elif kind == "plain":
                plan.append(inputs[index])
            elif kind == "tensors":
                tensors = inputs[index]
                if place in unneeded:
                    plan.append([tuple(each.shape) for each in tensors])
                else:
                    plan.append(len(tensors))
                    saved += tensors
            else:
                tensor = inputs[index] if kind == "tensor" else output[index] if self.several else output
                if place in unneeded and tensor is not None:
                    plan.append((tensor.shape, tensor.dtype))
                else:
                    plan.append(None)
                    not_made = kind == "output" and index in self.wanted and not inputs[self.wanted[index]]
                    saved.append(None if not_made else tensor)
        ctx.plan = plan
        ctx.unneeded = unneeded
        if self.out_list:
            ctx.extents = [tuple(each.shape) for each in output]
        ctx.save_for_backward(*saved)

    def backward(self, ctx: Any, needs: Sequence[Any], grads: Sequence[Any]) -> Optional[list[Any]]:
        """The gradients of the arguments, lists for lists; None where nothing came."""
        grad = self._whole(ctx, grads) if self.out_list else grads[self.grad_index]
        if grad is None:
            return None
        results: list[Any] = [None] * self.count
        like = grad[0] if self.out_list else grad
        saved = iter(ctx.saved_tensors)
        arguments: list[Any] = []
        for place, (kind, _) in enumerate(self.sources):
            plan = ctx.plan[place]
            if kind == "grad":
                arguments.append(grad)
            elif kind == "plain":
                arguments.append(plan)
            elif place in ctx.unneeded and plan is not None:
                is_list = kind == "tensors"
                arguments.append([_stand_in(like, each) for each in plan] if is_list else _stand_in(like, *plan))
            elif kind == "tensors":
                arguments.append([next(saved) for _ in range(plan)])
            else:
                arguments.append(next(saved))
        # With create_graph the gradient is a call like any other, for autograd to see.
        call = self.call.dispatched if torch.is_grad_enabled() else self.call
        if self.list_variable:
            index = self.variables[0]
            wanted = list(needs[index])
            made = iter(call(*arguments, wanted))
            results[index] = [next(made) if is_wanted else None for is_wanted in wanted]
            return results
        wanted = [needs[index] for index in self.variables]
        made = iter(call(*arguments, wanted))
        for index, is_wanted in zip(self.variables, wanted):
            if is_wanted:
                results[index] = next(made)
        return results

    def _whole(self, ctx: Any, grads: Any) -> Any:
        """The gradients of all tensors of a list, zeros for those that nobody used."""
        given = next((each for each in grads if each is not None), None)
        if given is None:
            return None
        return [given.new_zeros(size) if each is None else each for each, size in zip(grads, ctx.extents)]


class Refusal:
    """That of an operator without a gradient, to whoever wants one."""

    def __init__(self, op: Operator):
        self.message = (
            f"portops.torch: portops::{op.name} is not differentiable: gradients of gradients are not computed"
            if op.is_gradient
            else f"portops.torch: portops::{op.name} has no gradient"
        )

    def setup(self, ctx: Any, needs: Sequence[Any], inputs: Sequence[Any], output: Any) -> None:
        pass

    def backward(self, ctx: Any, needs: Sequence[Any], grads: Sequence[Any]) -> Optional[list[Any]]:
        raise RuntimeError(self.message)


# torch.library.register_autograd does the same, but looks through the operator's declaration in every call, and through
# the structure of lists: that costs three times as much as all the rest.
def autograd_of(op: Operator, rule: Union[Autograd, Refusal], call: Call) -> Callable[..., Any]:
    """The operator's kernel for tensors of which some may want gradients."""
    count = len(arguments_of(op))
    tensors, lists = call.tensors, call.lists
    gives_list = returns_of(op) == "Tensor[]"
    # Outputs of a type of their own have no gradient: what is made of them is not to look as if they had one of 0.
    has_constants = len(op.outputs) > 1 and not op.is_gradient
    constant = [i for i, output in enumerate(op.outputs) if output.type and has_constants]

    class Plain(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, *given: Any) -> Any:
            result = call(*given)
            ctx.set_materialize_grads(False)
            ctx.mark_non_differentiable(*(result[i] for i in constant))
            rule.setup(ctx, ctx.needs_input_grad, given, result)
            return tuple(result) if gives_list else result

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            results = rule.backward(ctx, ctx.needs_input_grad, grads)
            return (None,) * count if results is None else tuple(results)

    class WithLists(torch.autograd.Function):
        """Takes the items of lists as arguments of their own, behind the lists' lengths."""

        @staticmethod
        def forward(ctx: Any, lengths: tuple[int, ...], *given: Any) -> Any:
            inputs = _gathered(given, lengths)
            result = call(*inputs)
            ctx.set_materialize_grads(False)
            ctx.mark_non_differentiable(*(result[i] for i in constant))
            ctx.lengths = lengths
            rule.setup(ctx, _gathered(ctx.needs_input_grad[1:], lengths), inputs, result)
            return tuple(result) if gives_list else result

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            needs = ctx.needs_input_grad[1:]
            results = rule.backward(ctx, _gathered(needs, ctx.lengths), grads)
            return (None, *([None] * len(needs) if results is None else _spread(results, ctx.lengths)))

    def wants_gradient(given: Sequence[Any]) -> bool:
        for index in tensors:
            if given[index] is not None and given[index].requires_grad:
                return True
        return any(each.requires_grad for index in lists for each in given[index])

    def kernel(*given: Any) -> Any:
        if not torch.is_grad_enabled() or not wants_gradient(given):
            return call(*given)
        if lists:
            lengths = tuple(len(value) if index in lists else -1 for index, value in enumerate(given))
            result = WithLists.apply(lengths, *_spread(given, lengths))  # type: ignore[no-untyped-call]
        else:
            result = Plain.apply(*given)  # type: ignore[no-untyped-call]
        return list(result) if gives_list else result

    return kernel


def _spread(values: Sequence[Any], lengths: Sequence[int]) -> list[Any]:
    spread: list[Any] = []
    for value, length in zip(values, lengths):
        if length < 0:
            spread.append(value)
        else:
            spread += [None] * length if value is None else value
    return spread


def _gathered(spread: Sequence[Any], lengths: Sequence[int]) -> list[Any]:
    items = iter(spread)
    return [next(items) if length < 0 else [next(items) for _ in range(length)] for length in lengths]


# --- autocast -----------------------------------------------------------------------------------------------------

_HALVES = (torch.float16, torch.bfloat16)


def _type_for(rule: str, device: str, tensors: Sequence[Tensor]) -> Optional[torch.dtype]:
    if rule == "narrow":
        return torch.get_autocast_dtype(device)
    if rule == "wide":
        return torch.float32
    types = {tensor.dtype for tensor in tensors}
    if len(types) < 2:
        return None
    return torch.float32 if torch.float32 in types or types == set(_HALVES) else types.pop()


def autocast_of(op: Operator, device: str) -> Callable[..., Any]:
    call = getattr(torch.ops.portops, op.name).default
    rule = op.autocast

    def is_cast(value: Any) -> bool:
        if not isinstance(value, Tensor) or value.device.type != device:
            return False
        return value.dtype is torch.float32 or value.dtype in _HALVES

    def kernel(*given: Any) -> Any:
        tensors = [each for value in given for each in (value if isinstance(value, (list, tuple)) else (value,))]
        dtype = _type_for(rule, device, [each for each in tensors if is_cast(each)])

        def cast(value: Any) -> Any:
            if isinstance(value, (list, tuple)):
                return [cast(each) for each in value]
            return value.to(dtype) if is_cast(value) else value

        with torch.autocast(device, enabled=False):
            return call(*(given if dtype is None else map(cast, given)))

    return kernel


# --- registration -------------------------------------------------------------------------------------------------


def define(op: Operator) -> None:
    arguments = ", ".join(argument.declaration for argument in arguments_of(op))
    library.define(f"{op.name}({arguments}) -> {returns_of(op)}", tags=(torch.Tag.pt2_compliant_tag,))
    calls[op.name] = Call(op)
    library.impl(op.name, calls[op.name].kernels[False], "CPU")
    library.impl(op.name, calls[op.name].kernels[True], "CUDA")
    torch.library.register_fake(f"portops::{op.name}", fake_of(op), lib=library)


def entry_of(op: Operator, call: Call, kernel: Callable[..., Any]) -> Callable[..., Any]:
    """What this package's functions call: the kernel for autograd itself, where nobody else would see the call."""
    has_rule = bool(op.autocast)

    def entry(*given: Any) -> Any:
        if call.is_on_gpu(given) is None or (has_rule and _is_any_autocast_enabled()) or not call.is_exact(given):
            return call.dispatched(*given)
        return kernel(*given)

    return entry


#: The operators by name, as this package's functions call them.
entries: dict[str, Callable[..., Any]] = {}

for _op in OPERATORS.values():
    define(_op)
for _op in OPERATORS.values():
    if _op.is_step:
        entries[_op.name] = calls[_op.name].dispatched
    else:
        _rule = Autograd(_op, OPERATORS[_op.backward]) if _op.backward else Refusal(_op)
        _kernel = autograd_of(_op, _rule, calls[_op.name])
        library.impl(_op.name, _kernel, "Autograd")
        entries[_op.name] = entry_of(_op, calls[_op.name], _kernel)
    if _op.autocast:
        library.impl(_op.name, autocast_of(_op, "cpu"), "AutocastCPU")
        library.impl(_op.name, autocast_of(_op, "cuda"), "AutocastCUDA")
