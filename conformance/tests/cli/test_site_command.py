"""`site` on the command line: exit codes, and the sentence of each."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner, Result
from records import add

from mcp_proxy_conformance.cli import main


def site(folder: Path, out: Path, *options: str) -> Result:
    """Run `site FOLDER --out OUT` with these options, in this process; return its result."""
    return CliRunner().invoke(main, ["site", str(folder), "--out", str(out), *options])


def test_it_writes_a_site_that_check_accepts(tmp_path: Path) -> None:
    """`site` exits with 0, and so does `site --check` after it.

    After a new report --check exits with 1, names a missing file, and writes nothing.
    """
    folder, out = tmp_path / "record", tmp_path / "site"
    add(folder, "alpha", "1.0", {"ROB.flag": "fail"})

    made, same = site(folder, out), site(folder, out, "--check")
    add(folder, "alpha", "2.0")
    other = site(folder, out, "--check")

    assert (made.exit_code, same.exit_code, other.exit_code) == (0, 0, 1)
    assert made.output.startswith(f"{out / 'index.html'}: 1 report, ")
    assert other.output == f"{out}: badges/alpha/2.0.json is missing; make the site again\n"
    assert "2.0" not in (out / "index.html").read_text(encoding="utf-8")


def test_a_bad_folder_is_one_sentence_and_exit_2(tmp_path: Path) -> None:
    """`site` exits with 2 and one line for a record or an --out that it cannot use.

    That is a bad or missing report, an --out inside the record, or one with something else.
    """
    folder = tmp_path / "record"
    (add(folder, "alpha", "1.0") / "report.json").write_text("{", encoding="utf-8")
    good = tmp_path / "good"
    add(good, "alpha", "1.0")

    results = [
        site(folder, tmp_path / "site"),
        site(folder, tmp_path / "site", "--check"),
        site(good, good / "site"),
        site(good, folder),
        site(tmp_path / "none", tmp_path / "site"),
    ]

    assert [result.exit_code for result in results] == [2, 2, 2, 2, 2]
    assert all(result.output.count("\n") == 1 for result in results)
    assert not (tmp_path / "site").exists()


def test_check_of_a_missing_site_exits_with_1(tmp_path: Path) -> None:
    """`site --check` of a site that was never made exits with 1 and makes none."""
    add(tmp_path / "record", "alpha", "1.0")

    result = site(tmp_path / "record", tmp_path / "site", "--check")

    assert result.exit_code == 1
    assert not (tmp_path / "site").exists()


def test_a_record_inside_its_site_is_refused(tmp_path: Path) -> None:
    """`site` exits with 2 for a DIR inside --out, and the record stays."""
    folder, out = tmp_path / "record", tmp_path / "site"
    add(folder, "alpha", "1.0")
    site(folder, out)
    folder.rename(out / "record")

    result = site(out / "record", out)

    assert result.exit_code == 2
    assert f"the record is inside {out}" in result.output
    assert (out / "record" / "alpha" / "1.0" / "report.json").exists()


def test_a_link_to_itself_is_one_sentence_and_exit_2(tmp_path: Path) -> None:
    """`site` exits with 2 and one line if DIR or --out is a link that leads to itself."""
    add(tmp_path / "record", "alpha", "1.0")
    loop = tmp_path / "loop"
    loop.symlink_to(loop)

    results = [site(loop, tmp_path / "site"), site(tmp_path / "record", loop)]

    assert [result.exit_code for result in results] == [2, 2]
    assert all(result.output.count("\n") == 1 for result in results)
