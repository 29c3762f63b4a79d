"""Everything public shows how it is called, and the example runs."""

import doctest
import inspect
import sys

import pytest

import widelimit as wl
from widelimit.frozen import Value

MODULES = tuple(name for names in wl._MODULES.values() for name in names)


def public():
    """Every public function and class by name: kinds that a module has beside its constructors are left out."""
    names = {name: getattr(wl, name) for name in wl.__all__ if name not in MODULES}
    for home in MODULES:
        members = {name: getattr(getattr(wl, home), name) for name in dir(getattr(wl, home)) if name[0].islower()}
        names |= {f"{home}.{name}": member for name, member in members.items() if not isinstance(member, Value)}
    return names


def example_of(name):
    member = public()[name]
    space = dict(vars(sys.modules[member.__module__]))
    return doctest.DocTestParser().get_doctest(inspect.getdoc(member), space, name, None, 0)


def left_out(name):
    """Whether the tests of docstrings pass over some of an example."""
    return any(one.options.get(doctest.SKIP) for one in example_of(name).examples)


@pytest.mark.parametrize("name", public())
def test_help_shows_an_example(name):
    """Most run with the other tests of docstrings."""
    assert example_of(name).examples


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in public() if left_out(name)])
def test_the_example_runs(name):
    """Those that need PyTorch or a minute; the others run where they stand."""
    if name.startswith("torch."):
        pytest.importorskip("torch")
    found = example_of(name)
    for one in found.examples:
        one.options.pop(doctest.SKIP, None)
    assert doctest.DocTestRunner(verbose=False).run(found).failed == 0
