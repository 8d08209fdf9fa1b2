"""Files of a site on disk: written into a folder of its own, or compared with one."""

from __future__ import annotations

import re
import stat
from collections.abc import Iterator
from pathlib import Path

import msgspec

from mcp_proxy_conformance.catalogue.bounded import MOST_OF_REPORT, read_bytes
from mcp_proxy_conformance.report.site.folder import SHOWN, BadRecord
from mcp_proxy_conformance.report.site.pages import FORMAT, Files

MARK = "data.json"
"""The file by which a folder is known as a site, whose other files may be removed."""
KEPT = (".git", ".nojekyll")
"""What may be in the folder of a site beside its files, and stays."""
_OWN = re.compile(
    r"(?:index|clauses|disagreements|rules)\.html|style\.css|data\.json|clauses/[^/]+\.html"
    r"|implementations/[^/]+/[^/]+\.html|badges/[^/]+/[^/]+\.(?:json|svg)"
)


class _Mark(msgspec.Struct):
    """The member of a site's data that says that it is one."""

    format: str


def write(files: Files, out: Path) -> None:
    """Write the files into a folder: new, empty, or of an earlier site, whose files are replaced.

    Other files of that site, and empty folders, are removed; `.git` and `.nojekyll` stay. Each file
    is a new one, so that nothing is written through a link or into a pipe.

    Raises:
        BadRecord: The folder holds something else.
        OSError: It cannot be written.
    """
    expect_site(files, out)
    for path in list(_there(out)):
        if path not in files and not path.endswith("/"):
            (out / path).unlink()
    for path in sorted(_there(out), reverse=True):
        if path.endswith("/"):
            (out / path).rmdir()
    for path in sorted(files, key=lambda path: path != MARK):
        place = out / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.unlink(missing_ok=True)
        place.write_bytes(files[path])


def difference(files: Files, out: Path) -> str:
    """Return a sentence on the first path that a folder lacks, has in excess or with other bytes.

    "" if the folder holds these files and no others, `.git` and `.nojekyll` aside.
    """
    there = set(_there(out))
    for path in sorted({*files, *there}):
        if path not in there:
            return f"{path} is missing"
        if path not in files:
            return f"{path} is not of this record"
        if not _has(out / path, files[path]):
            return f"{path} differs"
    return ""


def _has(place: Path, content: bytes) -> bool:
    """Whether a place is a file of this content, and not a link or a pipe."""
    there = place.lstat()
    is_alike = stat.S_ISREG(there.st_mode) and there.st_size == len(content)
    return is_alike and place.read_bytes() == content


def expect_site(files: Files, out: Path) -> None:
    """Raise BadRecord unless a folder is absent, empty, or an earlier site and nothing else.

    It is a site if its data.json says so. Of its files, one that is neither in `files` nor named as
    files of a site can be is refused.
    """
    if not out.exists() or (out.is_dir() and not any(out.iterdir())):
        return
    if not (out.is_dir() and _is_mark(out / MARK)):
        raise BadRecord(str(out), "it holds something else than a site", "name another --out")
    for path in _there(out):
        if path not in files and not path.endswith("/") and not _OWN.fullmatch(path):
            raise BadRecord(
                str(out),
                f"it has {path[:SHOWN]}, which no site has",
                "move it, or name another --out",
            )


def _is_mark(path: Path) -> bool:
    """Whether a file is the data of a site."""
    if path.is_symlink() or not path.is_file():
        return False
    try:
        return msgspec.json.decode(read_bytes(path, MOST_OF_REPORT), type=_Mark).format == FORMAT
    except (msgspec.DecodeError, ValueError, RecursionError):
        return False


def _there(out: Path) -> Iterator[str]:
    """Yield the path of every file in a folder, at any depth, and of each folder without any.

    The path of such a folder ends with a slash; those of KEPT are left out.
    """
    for path in sorted(out.rglob("*")):
        name = path.relative_to(out).as_posix()
        if name.partition("/")[0] in KEPT:
            continue
        if path.is_symlink() or not path.is_dir():
            yield name
        elif not any(each.is_symlink() or not each.is_dir() for each in path.rglob("*")):
            yield f"{name}/"
