"""Examples run, and the stubs say what there is."""

import ast
import doctest
import importlib.metadata
import importlib.resources
import inspect
import pathlib
import re

import pytest

import upsweep

STUBS = ast.parse(importlib.resources.files(upsweep).joinpath("__init__.pyi").read_text())
PACKAGE = pathlib.Path(__file__).parent.parent
REPOSITORY = PACKAGE.parent.parent


def run(text, name):
    """How many lines of examples a text has, all of which hold."""
    test = doctest.DocTestParser().get_doctest(text, {}, name, None, 0)
    said = []
    failed, tried = doctest.DocTestRunner().run(test, out=said.append)
    assert not failed, "".join(said)
    return tried


@pytest.mark.parametrize("name", upsweep.__all__)
def test_examples_of(name, tmp_path, monkeypatch):
    monkeypatch.setenv("UPSWEEP_CACHE_DIR", str(tmp_path))
    tried = run(getattr(upsweep, name).__doc__, name)
    assert tried or name in ("DeviceInfo", "Operator", "Report", "Traced")


def test_examples_of_the_module():
    assert run(upsweep.__doc__, "upsweep")


@pytest.mark.parametrize("folder", [PACKAGE, REPOSITORY])
def test_examples_of_readmes(folder, monkeypatch):
    text = (folder / "README.md").read_text()
    examples = "".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL))
    monkeypatch.chdir(REPOSITORY)
    assert run(examples, folder.name) >= 5


def test_the_version_is_that_of_the_package():
    assert upsweep.__version__ == importlib.metadata.version("upsweep")


def test_everything_has_a_stub():
    stubs = {node.name for node in STUBS.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    assert {name for name in stubs if not name.startswith("_")} == set(upsweep.__all__)


@pytest.mark.parametrize("stub", [node for node in STUBS.body if isinstance(node, ast.FunctionDef)], ids=lambda n: n.name)
def test_stubs_have_the_arguments(stub):
    arguments = stub.args
    wanted = [(argument.arg, "POSITIONAL_ONLY") for argument in arguments.posonlyargs]
    wanted += [(argument.arg, "POSITIONAL_OR_KEYWORD") for argument in arguments.args]
    wanted += [(arguments.vararg.arg, "VAR_POSITIONAL")] if arguments.vararg else []
    wanted += [(argument.arg, "KEYWORD_ONLY") for argument in arguments.kwonlyargs]
    signature = inspect.signature(getattr(upsweep, stub.name))
    found = [(name, parameter.kind.name) for name, parameter in signature.parameters.items()]
    assert found == wanted
    defaults = arguments.defaults + [default for default in arguments.kw_defaults if default]
    defaults = [ast.literal_eval(default) for default in defaults]
    real = [p.default for p in signature.parameters.values() if p.default is not inspect.Parameter.empty]
    assert real == defaults


@pytest.mark.parametrize("stub", [node for node in STUBS.body if isinstance(node, ast.ClassDef)], ids=lambda n: n.name)
def test_stubs_of_classes(stub):
    if stub.name.startswith("_"):
        return
    named = {node.name for node in stub.body if isinstance(node, ast.FunctionDef)}
    public = {name for name in vars(getattr(upsweep, stub.name)) if not name.startswith("_")}
    assert public == {name for name in named if not name.startswith("_")}
    assert named <= set(dir(getattr(upsweep, stub.name)))
