# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The steps sgd, momentum and adam on the parameters of a model, beside PyTorch's optimizers: those that fuse as much as
they can."""
import torch

from .common import NAMES, Case

LEARNING_RATE, BETAS, EPSILON, STEP, MU, DECAY = 1e-3, (0.9, 0.999), 1e-8, 3, 0.9, 0.01
STATES = {"sgd": (), "momentum": ("velocity",), "adam": ("moment1", "moment2")}
MODELS = {
    "26 tensors, 23.8 M": [512 * 512 * 9] * 10 + [12500] * 16,
    "300 tensors, 1.2 M": [12000] * 100 + [101] * 200,
    "1 tensor, 8 M": [8000001],
    "70 tensors of odd lengths, 5 M": [71429 + i for i in range(70)],
}


class Step(Case):
    """A step in place. 16-bit parameters have master parameters in float32."""

    def __init__(self, op, dtype, model):
        self.states, self.model = STATES[op], model
        self.has_master = dtype in ("f16", "bf16")
        self.lists = ["param", *self.states, *(["master_param"] if self.has_master else [])]
        super().__init__(op, dtype, [f"{name}_out" for name in self.lists])
        self.before = {}

    def name(self):
        return f"{self.op} {self.dtype} {self.model}"

    def tensors(self, device):
        sums = torch.float64 if self.dtype == "f64" else torch.float32
        values = {"grad": [self.random((size,), device) for size in MODELS[self.model]], "learning_rate": LEARNING_RATE,
                  "weight_decay": DECAY}
        for name in self.lists:
            made = [torch.randn(size, device=device) for size in MODELS[self.model]]
            if name == "moment2":
                made = [each.abs() + 0.5 for each in made]
            values[name] = values[f"{name}_out"] = [each.to(NAMES[self.dtype] if name == "param" else sums) for each in made]
        if self.op == "momentum":
            values["mu"] = MU
        if self.op == "adam":
            values |= {"beta1": BETAS[0], "beta2": BETAS[1], "beta1_pow": BETAS[0] ** STEP, "beta2_pow": BETAS[1] ** STEP,
                       "epsilon": EPSILON}
        if not self.before:  # the first set is checked
            self.before = {name: torch.cat(values[name]) for name in (*self.lists, "grad")}
        return values

    def bytes(self):
        element, sums = self.element_size(), 8 if self.dtype == "f64" else 4
        each = 2 * element + 2 * sums if self.has_master else 3 * element
        return sum(MODELS[self.model]) * (each + 2 * sums * len(self.states))

    def expected(self, values):
        wide = {name: tensor.double() for name, tensor in self.before.items()}
        param = wide["master_param" if self.has_master else "param"]
        gradient = wide["grad"] + DECAY * param
        after = {}
        if self.op == "sgd":
            step = gradient
        elif self.op == "momentum":
            step = after["velocity"] = MU * wide["velocity"] + gradient
        else:
            after["moment1"] = BETAS[0] * wide["moment1"] + (1 - BETAS[0]) * gradient
            after["moment2"] = BETAS[1] * wide["moment2"] + (1 - BETAS[1]) * gradient**2
            root = (after["moment2"] / (1 - BETAS[1] ** STEP)).sqrt()
            step = after["moment1"] / (1 - BETAS[0] ** STEP) / (root + EPSILON)
        after["param"] = param - LEARNING_RATE * step
        if self.has_master:
            after["master_param"] = after["param"]
        return {f"{name}_out": (after[name], 4.0) for name in self.lists}

    def torch_call(self, values, compiled):
        if compiled or self.has_master:
            return None
        params = [torch.nn.Parameter(each.clone()) for each in values["param"]]
        for param, grad in zip(params, values["grad"]):
            param.grad = grad
        options = {"lr": LEARNING_RATE, "weight_decay": DECAY, "fused": True}
        if self.op == "adam":
            optimizer = torch.optim.Adam(params, betas=BETAS, eps=EPSILON, **options)
        else:
            optimizer = torch.optim.SGD(params, momentum=MU if self.op == "momentum" else 0.0, **options)
        return optimizer.step


class CountNonfinite(Case):
    def __init__(self, dtype, model):
        super().__init__("count_nonfinite", dtype, ["count"])
        self.model = model

    def name(self):
        return f"{self.op} {self.dtype} {self.model}"

    def tensors(self, device):
        x = [self.random((size,), device) for size in MODELS[self.model]]
        x[0][7], x[-1][-1] = float("inf"), float("nan")
        return {"x": x, "count": torch.full((), -1, dtype=torch.int64, device=device)}

    def bytes(self):
        return sum(MODELS[self.model]) * self.element_size()

    def expected(self, values):
        if values["count"].item() != 2:
            raise RuntimeError(f"{self.name()}: count is wrong")
        return {}

    def torch_call(self, values, compiled):
        if compiled or self.dtype != "f32":
            return None
        found, one = torch.zeros((), device=values["count"].device), torch.ones((), device=values["count"].device)
        return lambda: torch._amp_foreach_non_finite_check_and_unscale_(values["x"], found, one)


def cases(device):
    listed = []
    for dtype in ("f32", "f16", "bf16", "f64"):
        models = MODELS if dtype in ("f32", "f16") else list(MODELS)[:1]
        listed += [Step(op, dtype, model) for op in STATES for model in models]
        listed += [CountNonfinite(dtype, model) for model in models]
    return listed
