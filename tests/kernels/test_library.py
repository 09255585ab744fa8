from pathlib import Path

import pytest

from surelift.errors import UsageError
from surelift.kernels import library
from surelift.kernels.library import FILE, Library, compiled, loops_in_use


def test_a_library_that_does_not_load_is_refused_with_the_remedy(tmp_path: Path) -> None:
    path = tmp_path / FILE.name
    path.write_bytes(b"built for another machine")
    with pytest.raises(UsageError, match=r"does not load here: .* Install surelift again .* SURELIFT_LOOPS=numpy"):
        Library(path)


def test_it_says_why_numpy_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "compiled", compiled.__wrapped__)
    monkeypatch.delenv("SURELIFT_LOOPS", raising=False)
    monkeypatch.setattr(library, "FILE", tmp_path / FILE.name)
    assert loops_in_use() == "numpy, slower; no compiled library was built"

    (tmp_path / FILE.name).touch()
    monkeypatch.setenv("SURELIFT_LOOPS", "numpy")
    assert loops_in_use() == "numpy, slower; SURELIFT_LOOPS=numpy"


@pytest.mark.parametrize("wanted", ["avx2", "nonsense"])
def test_loops_that_are_named_but_not_there_are_refused(
    wanted: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(library, "FILE", tmp_path / FILE.name)
    monkeypatch.setenv("SURELIFT_LOOPS", wanted)
    with pytest.raises(UsageError, match=f"SURELIFT_LOOPS={wanted}: no compiled library was built"):
        compiled.__wrapped__()


def test_an_empty_setting_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SURELIFT_LOOPS", "")
    assert loops_in_use()
    compiled.__wrapped__()
    monkeypatch.setattr(library, "FILE", tmp_path / FILE.name)
    assert compiled.__wrapped__() is None
