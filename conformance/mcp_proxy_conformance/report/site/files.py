"""Files of a site on disk: written into a folder of its own, or compared with one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from mcp_proxy_conformance.report.site.folder import BadRecord
from mcp_proxy_conformance.report.site.pages import FORMAT, Files

MARK = "data.json"
"""The file by which a folder is known as a site, whose other files may be removed."""


def write(files: Files, out: Path) -> None:
    """Write the files into a folder, new or of an earlier site, whose further files are removed.

    Raises:
        BadRecord: The folder holds something else.
        OSError: It cannot be written.
    """
    expect_site(out)
    for path in list(_there(out)):
        if path not in files or (out / path).is_symlink():
            (out / path).unlink()
    for path, content in files.items():
        place = out / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    folders = {path.rpartition("/")[0] for path in files}
    for folder in sorted((path for path in out.glob("[!.]*/**") if path.is_dir()), reverse=True):
        name = folder.relative_to(out).as_posix()
        if name not in folders and not any(folder.iterdir()):
            folder.rmdir()


def difference(files: Files, out: Path) -> str:
    """Return the first file, by path, that a folder lacks, has beside them, or has otherwise.

    It is a sentence; "" if the folder holds these files and no others.
    """
    there = set(_there(out))
    for path in sorted({*files, *there}):
        if path not in there:
            return f"{path} is missing"
        if path not in files:
            return f"{path} is not of this record"
        if (out / path).is_symlink() or (out / path).read_bytes() != files[path]:
            return f"{path} differs"
    return ""


def expect_site(out: Path) -> None:
    """Raise BadRecord if a folder is neither absent, empty nor a site."""
    if not out.exists() or (out.is_dir() and not any(out.iterdir())):
        return
    mark = out / MARK
    if not (out.is_dir() and mark.is_file() and FORMAT in mark.read_text("utf-8", "replace")):
        raise BadRecord(str(out), "it holds something else than a site", "name another --out")


def _there(out: Path) -> Iterator[str]:
    """Yield the path of every file in a folder, at any depth; hidden folders at the top are not."""
    for path in sorted(out.rglob("*")):
        name = path.relative_to(out).as_posix()
        if not name.startswith(".") and (path.is_symlink() or not path.is_dir()):
            yield name
