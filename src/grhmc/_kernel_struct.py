"""Structures that kernels receive by reference: many arrays under names, at the price of one pointer.

Numba passes a NamedTuple by value. For one with fifty arrays that is 350 machine words at every call, which costs
more time than a gradient and most of the compilation. A class decorated with `passed_by_reference` reaches kernels as
a pointer instead; attribute access reads the same in compiled code and in plain Python.

A member that is a NamedTuple is a pointer in compiled code, too: to where it lies in the structure. So each of its own
members is read where it is used. Read whole, it would be some fifty words to load, and to keep, wherever a path that is
hardly ever taken needs all of them.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, fields
from typing import Any, dataclass_transform

from numba import types
from numba.core import cgutils, typing
from numba.core.imputils import lower_getattr_generic
from numba.extending import NativeValue, models, register_model, typeof_impl, unbox


class StructType(types.Type):
    """Numba type of a structure passed by reference."""

    def __init__(self, class_name: str, members: tuple[tuple[str, types.Type], ...]) -> None:
        self.members = members
        described = ", ".join(f"{name}: {member}" for name, member in members)
        # Short: Numba writes the names of a function's arguments into that of every function that calls it.
        super().__init__(name=f"{class_name}_{hashlib.sha256(described.encode()).hexdigest()[:16]}")

    @property
    def as_tuple(self) -> types.Tuple:
        """The members as they lie in memory."""
        return types.Tuple([member for _, member in self.members])

    def index(self, name: str) -> int:
        """Place of a member, or -1."""
        for place, (member, _) in enumerate(self.members):
            if member == name:
                return place
        return -1


@register_model(StructType)
class StructModel(models.PrimitiveModel):
    """A pointer to the members."""

    def __init__(self, manager: Any, struct_type: StructType) -> None:
        pointee = manager[struct_type.as_tuple].get_value_type()
        super().__init__(manager, struct_type, pointee.as_pointer())


def _within(member: Any) -> StructType | None:
    """The type of a NamedTuple that lies in a structure; None for any other member."""
    if not isinstance(member, (types.NamedTuple, types.NamedUniTuple)):
        return None
    return StructType(member.instance_class.__name__, tuple(zip(member.fields, member.types, strict=True)))


@typing.templates.infer_getattr
class StructAttributes(typing.templates.AttributeTemplate):
    """Types of the members."""

    key = StructType

    def generic_resolve(self, struct_type: StructType, attribute: str) -> types.Type | None:
        """Type of one member."""
        place = struct_type.index(attribute)
        if place < 0:
            return None
        member = struct_type.members[place][1]
        return _within(member) or member


@lower_getattr_generic(StructType)
def _lower_member(context, builder, struct_type, value, attribute):
    place = struct_type.index(attribute)
    pointer = cgutils.gep_inbounds(builder, value, 0, place)
    within = _within(struct_type.members[place][1])
    if within is None:
        return builder.load(pointer)
    return builder.bitcast(pointer, context.get_value_type(within))


@unbox(StructType)
def _unbox_struct(struct_type, instance, c):
    tuple_type = struct_type.as_tuple
    slot = cgutils.alloca_once(c.builder, c.context.get_value_type(tuple_type))
    failed = cgutils.alloca_once_value(c.builder, cgutils.false_bit)
    for place, (name, member) in enumerate(struct_type.members):
        attribute = c.pyapi.object_getattr_string(instance, name)
        native = c.unbox(member, attribute)
        c.builder.store(native.value, cgutils.gep_inbounds(c.builder, slot, 0, place))
        with c.builder.if_then(native.is_error):
            c.builder.store(cgutils.true_bit, failed)
        c.pyapi.decref(attribute)  # the instance keeps its members alive during the call
    return NativeValue(slot, is_error=c.builder.load(failed))


@dataclass_transform()
def passed_by_reference(cls: type) -> type:
    """Make a class with annotated members a dataclass that kernels receive as a pointer."""
    struct = dataclass(eq=False)(cls)
    names = [field.name for field in fields(struct)]

    @typeof_impl.register(struct)
    def _typeof(value: Any, context: Any) -> StructType:
        # Once per instance: it takes a millisecond, and members may be replaced only by others of the same type.
        known = value.__dict__.get("_struct_type")
        if known is None:
            members = tuple((name, typeof_impl(getattr(value, name), context)) for name in names)
            known = value.__dict__["_struct_type"] = StructType(struct.__name__, members)
        return known

    return struct
