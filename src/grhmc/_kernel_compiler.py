"""How kernels are compiled: each once, and optimized once, together with all that it calls.

Numba optimizes every function and makes machine code of it, with all that it calls, before its callers are compiled,
and all of that again with each of them: for kernels that are ten calls deep this is most of the compilation. Here a
kernel that another one calls stays as it was lowered. What Python calls is linked with all that it reaches, optimized,
and compiled in one piece.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba.core import compiler
from numba.core.codegen import JITCodeLibrary
from numba.core.registry import CPUDispatcher


class KernelDispatcher(CPUDispatcher):
    """A kernel as Python calls it. To kernels that call it, it is `inner`.

    Parameters
    ----------
    function : callable
        The kernel in Python.
    options : dict
        Numba's options of `njit`.
    flags : dict
        Values of Numba's flags, for which it has no option.
    """

    def __init__(self, function: Callable[..., Any], options: dict[str, Any], flags: dict[str, Any]) -> None:
        options = {**options, "nopython": True}
        self._flag_values = flags
        super().__init__(function, targetoptions=options, pipeline_class=_EntryCompiler)
        self.inner = _InnerDispatcher(function, targetoptions=options, pipeline_class=_InnerCompiler)
        _set_flags(self, flags)
        _set_flags(self.inner, {**flags, "no_compile": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True})

    def compile_without_wrapper(self, argument_types: tuple[Any, ...]) -> Any:
        """Numba's compilation for these types, without the function by which Python would call it.

        What is left knows nothing of Python.
        """
        flags = {**self._flag_values, "no_cpython_wrapper": True}
        again: Any = KernelDispatcher(self.py_func, self.targetoptions, flags)
        return again._compiler.compile(argument_types, None)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Type of a call by a kernel, which is compiled for it."""
        return self.inner.get_call_template(args, kws)

    def get_overload(self, sig: Any) -> Any:
        """Under which key Numba keeps what a kernel calls."""
        return self.inner.get_overload(sig)


class _InnerDispatcher(CPUDispatcher):
    """A kernel that is only ever called by others."""

    def add_overload(self, cres: Any) -> None:
        """Keep a compilation; Python cannot call it."""
        self.overloads[tuple(cres.signature.args)] = cres


def _set_flags(dispatcher: Any, values: dict[str, Any]) -> None:
    def customize(flags: Any) -> Any:
        for name, value in values.items():
            setattr(flags, name, value)
        return flags

    dispatcher._compiler._customize_flags = customize


class _InnerCompiler(compiler.Compiler):
    """Lowers a kernel that others call, and leaves it at that."""

    def compile_extra(self, func: Any) -> Any:
        state = self.state
        state.library = InnerLibrary(state.targetctx.codegen(), func.__qualname__)
        result = super().compile_extra(func)
        result = result._replace(entry_point=result.library)
        state.targetctx.insert_user_function(result.library, result.fndesc, [result.library])
        return result


class _EntryCompiler(compiler.Compiler):
    """Compiles a kernel that Python calls, with all that it reaches."""

    def compile_extra(self, func: Any) -> Any:
        state = self.state
        state.library = EntryLibrary(state.targetctx.codegen(), func.__qualname__)
        state.library.enable_object_caching()
        return super().compile_extra(func)


class InnerLibrary(JITCodeLibrary):
    """Code of one kernel as it was lowered, and the libraries that it calls."""

    def finalize(self) -> None:
        """Nothing more comes: neither linked, nor optimized, nor compiled."""
        self._raise_if_finalized()
        self._finalized = True
        self._with_callees: Any = None

    def own_module(self) -> Any:
        """Its own code, to be linked any number of times."""
        return super()._get_module_for_linking()

    def _get_module_for_linking(self) -> Any:
        """Its code with that of all it reaches, for functions of others that call it."""
        if self._with_callees is None:
            self._with_callees = self.own_module().clone()
            _link_callees(self._with_callees, self)
        return self._with_callees


class EntryLibrary(JITCodeLibrary):
    """Code of a kernel that Python calls, with that of all it reaches."""

    def finalize(self) -> None:
        _link_callees(self._final_module, self)
        self._linking_libraries = []
        super().finalize()


def _link_callees(module: Any, library: JITCodeLibrary) -> None:
    """Add to a library's module what it reaches.

    A caller comes before all that it calls: LLVM leaves out what nobody has called yet.
    """
    callees = reachable(library)
    for callee in callees:
        library._reload_init.update(callee._reload_init)  # what is imported when code comes from the cache
        is_inner = isinstance(callee, InnerLibrary)
        module.link_in(callee.own_module() if is_inner else callee._get_module_for_linking(), preserve=True)
    defined = {f.name for callee in callees for f in callee.get_defined_functions()}
    missing = [f.name for f in module.functions if f.is_declaration and f.name in defined]
    if missing:
        raise AssertionError(f"{library.name} calls what was not linked: {missing}")


def reachable(library: JITCodeLibrary) -> list[JITCodeLibrary]:
    """The libraries that it calls, those that these call, and so on: each once, before all that it calls."""
    finished: dict[Any, None] = {}

    def finish(caller: JITCodeLibrary) -> None:
        for callee in caller._linking_libraries:
            if callee not in finished:
                if isinstance(callee, InnerLibrary):
                    finish(callee)
                finished[callee] = None

    finish(library)
    return list(reversed(finished))
