# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares a schema with the one of the last release: what that promised to callers stays."""

from __future__ import annotations

from collections.abc import Iterator

from .model import Operator, Schema, SchemaError

Messages = Iterator[tuple[int, str]]  # line in the current schema, message

# What a caller sees of an argument, in the words of the schema.
INPUT_FACTS = ("list", "optional", "or_number", "default", "shape", "type", "type_unless", "ragged")
ATTRIBUTE_FACTS = ("type", "default")
OUTPUT_FACTS = ("list", "optional", "shape", "type", "levels")
# An operator that knew nothing of levels may learn of them.
NEW_FACTS = ("ragged", "levels")


def check(baseline: Schema, current: Schema) -> None:
    """Throws SchemaError with everything that breaks a promise of the baseline."""
    messages = []
    for released in baseline.operators:
        op = current.operator(released.name)
        if op is None:
            messages.append(
                (
                    1,
                    f"{released.name} was removed ({baseline.file}:{released.line}); "
                    "a released operator may not be removed",
                )
            )
            continue
        found = (
            *_arguments("input", released.inputs, op.inputs, op.lines["inputs"], INPUT_FACTS),
            *_arguments("output", released.outputs, op.outputs, op.lines["outputs"], OUTPUT_FACTS),
            *_arguments("attribute", released.attributes, op.attributes, op.lines["attributes"], ATTRIBUTE_FACTS),
            *_named_numbers(released, op),
            *_new_arguments(released, op),
            *_promises(released, op),
        )
        messages += [(line, f"{op.name}: {message}") for line, message in found]
    if messages:
        raise SchemaError([f"{current.file}:{line}: {message}" for line, message in sorted(messages)])


def _arguments(kind: str, released: list, current: list, line: int, facts: tuple[str, ...]) -> Messages:
    """Released arguments keep their names, places and facts; new ones follow them."""
    was, now = [entry.name for entry in released], [entry.name for entry in current]
    for place, name in enumerate(was):
        if name in now:
            continue
        if len(now) > place and now[place] not in was and len(now) == len(was):
            yield current[place].line, (
                f"{kind} {name} was renamed to {now[place]}; " f"a released {kind} may not be renamed"
            )
        else:
            yield line, f"{kind} {name} was removed; a released {kind} may not be removed"
    kept = [name for name in now if name in was]
    if kept != [name for name in was if name in now]:
        yield line, (
            f"{kind}s were reordered: {', '.join(kept)}, released as {', '.join(was)}; "
            f"released {kind}s may not be reordered"
        )
    elif set(was) <= set(now) and now[: len(was)] != was:
        new = next(entry for entry in current if entry.name not in was)
        yield new.line, f"new {kind} {new.name} stands before released ones; a new {kind} must come after them"

    for before in released:
        for after in current:
            if before.name == after.name:
                for fact in facts:
                    if fact in NEW_FACTS and not getattr(before, fact):
                        continue
                    if getattr(before, fact) != getattr(after, fact):
                        yield after.line, (
                            f"{kind} {after.name} was changed: {fact} is {_shown(getattr(after, fact))}, "
                            f"released as {_shown(getattr(before, fact))}; "
                            f"a released {kind} may not be changed"
                        )


def _named_numbers(released: Operator, op: Operator) -> Messages:
    """Released names keep their numbers; there may be new ones."""
    for before in released.attributes:
        after = op.attribute(before.name)
        if after is None:
            continue
        for name, number in before.names.items():
            if name not in after.names:
                yield after.line, (
                    f"the name {name} of attribute {after.name} was removed; a released name may not be removed"
                )
            elif after.names[name] != number:
                yield after.line, (
                    f"the name {name} of attribute {after.name} was changed: it is {_shown(after.names[name])}, "
                    f"released as {_shown(number)}; a released name may not be changed"
                )


def _new_arguments(released: Operator, op: Operator) -> Messages:
    """A call that was written for the released operator must still be complete."""
    for entry in op.inputs:
        if not entry.optional and entry.name not in {old.name for old in released.inputs}:
            yield entry.line, f"new input {entry.name} is mandatory; a new tensor input must be optional"
    for entry in op.outputs:
        if not entry.optional and entry.name not in {old.name for old in released.outputs}:
            yield entry.line, f"new output {entry.name} is mandatory; a new output must be optional"
    for entry in op.attributes:
        if entry.default is None and entry.name not in {old.name for old in released.attributes}:
            yield entry.line, f"new attribute {entry.name} has no default; a new attribute needs a default"


def _promises(released: Operator, op: Operator) -> Messages:
    if released.backward and op.backward != released.backward:
        yield op.lines["backward"], f"backward {released.backward} was withdrawn; a released backward may not be"
    for source, target in released.inplace:
        if (source, target) not in op.inplace:
            yield op.lines["inplace"], f"inplace ({source} -> {target}) was withdrawn; a released pair may not be"
    for name in released.no_need_buffer:
        kept = (
            name in op.no_need_buffer
            and op.no_need_buffer_unless in ("", released.no_need_buffer_unless)
            and op.no_need_buffer_attribute in ("", released.no_need_buffer_attribute)
        )
        if not kept:
            yield op.lines["no_need_buffer"], (
                f"no_need_buffer of input {name} was withdrawn; " "callers may have dropped its elements"
            )


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "none" if value is None or value == "" else str(value)
