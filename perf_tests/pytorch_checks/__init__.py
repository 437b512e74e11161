# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The families of check_with_pytorch.py: by name, each a common.Check."""
from .add import AddCheck
from .concat import ConcatCheck
from .deform_conv2d import DeformConv2dCheck
from .p_norm import PNormCheck
from .reshape import ReshapeCheck
from .sequence import SequenceCheck
from .sparse_rows import SparseRowsCheck
from .trace import TraceCheck

FAMILIES = {"p_norm": PNormCheck, "deform_conv2d": DeformConv2dCheck, "add": AddCheck, "reshape": ReshapeCheck,
            "trace": TraceCheck, "concat": ConcatCheck, "sequence": SequenceCheck, "sparse_rows": SparseRowsCheck}
