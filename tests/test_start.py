"""What a fresh process loads: the modules that it needs, and of what is installed besides, nothing."""

import pkgutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pyarrow.parquet as pq
import pytest

import surelift as sl

RUN = "import sys; from surelift.cli.app import main; main(sys.argv[2:]); open(sys.argv[1], 'w').write(str([*sys.modules]))"
# What no command loads that does not need it, or that other packages load for nothing.
HEAVY = {
    "altair", "difflib", "gzip", "jinja2", "markdown_it", "matplotlib", "narwhals", "numba", "pandas", "polars",
    "pyarrow.dataset", "pygments", "rich.markdown", "rich.progress", "rich.syntax", "scipy", "sklearn", "statistics",
    "surelift.controls.fitting", "surelift.datasets", "surelift.decisions.monitor", "surelift.estimates",
    "surelift.importers.events", "surelift.learning", "surelift.reproduce", "surelift.results.report",
    "surelift.views.html", "surelift.views.plots", "tempfile", "torch",
}  # fmt: skip

MODULES = {
    "bounds", "datasets", "densities", "embeddings", "grids", "importers", "learning", "models", "policies", "results",
}  # fmt: skip


def loaded(folder: Path, *arguments: str) -> set[str]:
    """The modules that a command leaves behind."""
    command = [sys.executable, "-c", RUN, "modules", *arguments]
    subprocess.run(command, cwd=folder, capture_output=True, check=True)
    return set((folder / "modules").read_text().strip("[]").replace("'", "").split(", "))


def test_a_small_compare_loads_nothing_heavy(tmp_path: Path) -> None:
    pq.write_table(sl.datasets.shop(rounds=2_000).table, tmp_path / "shop.parquet")
    columns = ["--reward", "click", "--propensity", "propensity", "--policy", "p_better"]
    modules = loaded(tmp_path, "compare", "shop.parquet", *columns)
    assert "surelift.decisions.compare" in modules
    assert modules & (HEAVY | {"docstring_parser", "pyarrow.compute", "rich"}) == set()


@pytest.mark.parametrize("command", [(), ("check",), ("compare",), ("gate",)], ids=" ".join)
def test_help_loads_no_more_than_it_shows(command: tuple[str, ...], tmp_path: Path) -> None:
    modules = loaded(tmp_path, *command, "--help")
    assert "rich.console" in modules
    assert modules & (HEAVY | {"surelift.bounds", "surelift.results"}) == set()
    # The flags of the log are the fields of its traits, whose modules also read rows.
    assert command or modules & {"numpy", "pyarrow", "surelift.logs"} == set()


def test_importing_loads_nothing_at_all() -> None:
    code = "import sys, surelift; print(*[name for name in sys.modules if name.startswith(('surelift', 'numpy'))])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == {"surelift", "surelift.lazy", "surelift.version"}


@pytest.mark.parametrize("package", [sl, sl.importers, sl.results], ids=lambda package: package.__name__)
def test_names_that_are_imported_when_used(package: ModuleType) -> None:
    """They are listed, and remain what they are when all modules, one of which might have such a name, are loaded."""
    public = set(package.__all__)
    assert public - set(dir(package)) <= {"PolicyLearner"}
    for module in pkgutil.iter_modules(package.__path__):
        if module.name != "__main__":
            import_module(f"{package.__name__}.{module.name}")
    modules = {name for name in public if isinstance(getattr(package, name), ModuleType)}
    assert modules == (MODULES if package is sl else set())
    with pytest.raises(AttributeError, match=r"has no attribute 'compere'"):
        package.compere  # noqa: B018


def test_help_on_the_package_needs_no_torch() -> None:
    code = (
        "import sys; sys.modules['torch'] = None; import pydoc, surelift; "
        "print(pydoc.render_doc(surelift, renderer=pydoc.plaintext))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "compare(" in done.stdout
    assert "class Monitor" in done.stdout


def test_every_question_is_known_before_it_was_asked() -> None:
    code = "import surelift as sl; sl.Question.of('why', {'reward': 'r', 'propensity': 'q'}, 'p')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    questions = "check, compare, compare outcomes, estimate, evaluate, gate, power, profile, report, select, select by value"
    assert f"no question 'why'; the questions are {questions}." in done.stderr
