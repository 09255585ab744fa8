"""Compile the loops in C when surelift is built: with this machine's compiler, or else with one that pip fetches.

SURELIFT_COMPILER says otherwise: a command, ``zig`` for the fetched one, or ``none``. CFLAGS and LDFLAGS are respected.
"""

import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface
from packaging.tags import platform_tags

WANTED = os.environ.get("SURELIFT_COMPILER", "")
KERNELS = Path(__file__).parent / "src" / "surelift" / "kernels"
SYSTEM = sys.platform
LIBRARY = "loops" + {"win32": ".dll", "darwin": ".dylib"}.get(SYSTEM, ".so")
PROCESSOR = {"amd64": "x86_64", "arm64": "aarch64"}.get(platform.machine().lower(), platform.machine())
FLAGS = [
    "-O3", "-std=c11", "-fvisibility=hidden", "-ffp-contract=fast", "-fno-math-errno", "-fno-trapping-math",
    "-fno-signed-zeros", "-fopenmp-simd", *(["-fPIC"] if SYSTEM != "win32" else []),
]  # fmt: skip
AVX2 = ["-mavx2", "-mfma"]
AVX512 = [*AVX2, "-mavx512f", "-mavx512dq", "-mavx512vl", "-mavx512bw", "-mprefer-vector-width=512"]
INSTRUCTION_SETS = {"baseline": [], **({"avx2": AVX2, "avx512": AVX512} if PROCESSOR == "x86_64" else {})}
PLATFORMS = list(platform_tags())
GLIBC = any("manylinux" in tag for tag in PLATFORMS)
ZIG_REQUIREMENT = "ziglang>=0.13"


class Compiler:
    def __init__(self, command: list[str]) -> None:
        self.command = [*command, *shlex.split(os.environ.get("CFLAGS", ""))]
        self.link = [*shlex.split(os.environ.get("LDFLAGS", "")), *(["-lm"] if SYSTEM != "win32" else [])]
        self.platform = next(tag for tag in PLATFORMS if "manylinux" not in tag and "musllinux" not in tag)
        if SYSTEM == "linux":
            self.link.append("-Wl,--no-undefined")

    def run(self, *arguments: str | Path) -> None:
        done = subprocess.run([*self.command, *map(str, arguments)], capture_output=True, text=True)
        if done.returncode:
            raise OSError(f"{shlex.join(map(str, done.args))}\n{done.stderr or done.stdout}")

    def build(self, folder: Path) -> Path:
        """The library, in a folder of its own."""
        sources = KERNELS / "c"
        parts = {name: [f"-DISA={name}", *flags, sources / "all.c"] for name, flags in INSTRUCTION_SETS.items()}
        parts["detect"] = [sources / "detect.c"]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(lambda name: self.run(*FLAGS, *parts[name], "-c", "-o", folder / f"{name}.o"), parts))
        self.run("-shared", "-o", folder / LIBRARY, *(folder / f"{name}.o" for name in parts), *self.link)
        return folder / LIBRARY

    def works(self) -> bool:
        """Whether it finds the headers and libraries of C: a compiler may be there without them."""
        with tempfile.TemporaryDirectory() as folder:
            try:
                self.run(*FLAGS, "-shared", "-o", Path(folder) / LIBRARY, KERNELS / "c" / "detect.c", *self.link)
            except OSError:
                return False
        return True


class Zig(Compiler):
    """A C compiler from a package, for machines that have none."""

    def __init__(self) -> None:
        # A target is always named: without one, zig takes this machine's instruction set as the baseline.
        target = {"win32": "windows-gnu", "darwin": "macos"}.get(SYSTEM, "linux-gnu.2.17" if GLIBC else "linux-musl")
        super().__init__([sys.executable, "-m", "ziglang", "cc", "-target", f"{PROCESSOR}-{target}"])
        if SYSTEM == "linux":
            # Only the C library: zig would first compile a runtime of its own, which takes 20 seconds.
            self.link += ["-nostdlib", "-lc", "-s"]
        if SYSTEM == "linux" and GLIBC:
            self.platform = f"manylinux_2_17_{PROCESSOR}.manylinux2014_{PROCESSOR}"


def choose_compiler() -> Compiler | None:
    if WANTED not in ("", "zig", "none"):
        return Compiler(shlex.split(WANTED))
    # On Windows, GCC misaligns the stack for AVX (its bug 54412).
    if not WANTED and SYSTEM != "win32":
        for name in (os.environ.get("CC", ""), "cc", "gcc", "clang"):
            command = shlex.split(name)
            if command and shutil.which(command[0]) and (compiler := Compiler(command)).works():
                return compiler
    fetched = SYSTEM in ("linux", "darwin", "win32") and PROCESSOR in ("x86_64", "aarch64")
    return Zig() if WANTED == "zig" or (fetched and WANTED != "none") else None


class LoopsBuildHook(BuildHookInterface):
    def dependencies(self) -> list[str]:
        return [ZIG_REQUIREMENT] if isinstance(choose_compiler(), Zig) else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        self.scratch = tempfile.TemporaryDirectory()
        compiler, library = choose_compiler(), None
        try:
            library = compiler.build(Path(self.scratch.name)) if compiler else None
        except OSError as error:
            if WANTED:
                raise
            self.app.display_warning(f"surelift: the compiler failed, so NumPy will do its work, slower.\n{error}")
        if version == "editable":
            put_beside_the_sources(library)
        elif compiler and library:
            build_data["force_include"][str(library)] = f"surelift/kernels/{LIBRARY}"
            build_data["pure_python"] = False
            build_data["tag"] = f"py3-none-{compiler.platform}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        self.scratch.cleanup()


def put_beside_the_sources(library: Path | None) -> None:
    """Rename, so that no process ever sees half a library; one that was not built replaces an old one too."""
    target = KERNELS / LIBRARY
    if library is None:
        target.unlink(missing_ok=True)
        return
    with tempfile.NamedTemporaryFile(dir=KERNELS, prefix=".loops-", delete=False) as beside:
        beside.write(library.read_bytes())
    os.chmod(beside.name, 0o755)
    os.replace(beside.name, target)


class ReadmeMetadataHook(MetadataHookInterface):
    """The README, as an index shows it."""

    def update(self, metadata: dict[str, Any]) -> None:
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        found = re.search(r'__version__ = "(.+)"', (KERNELS.parent / "version.py").read_text(encoding="utf-8"))
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": with_whole_links(text, metadata["urls"]["Source"], f"v{found[1]}"),
        }


def with_whole_links(text: str, repository: str, tag: str) -> str:
    """Links and pictures within the repository, as addresses: on the page of an index there are no files beside."""

    def whole(found: re.Match[str]) -> str:
        kind = "raw" if re.search(r"\.(png|svg|gif|jpe?g|webp)$", found[2]) else "blob"
        return f"{found[1]}{repository}/{kind}/{tag}/{found[2].removeprefix('./')}"

    return re.sub(r"""(\]\(|(?:src|srcset|href)=["'])(?![a-z]+:|#|/)([^)\s"']+)""", whole, text)
