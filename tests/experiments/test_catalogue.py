"""The catalogue: verdicts that can fail, records that are read instead of being computed twice, and the commands."""

import json
import math
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

import widelimit as wl
from widelimit.experiments import catalogue
from widelimit.experiments.catalogue.catalogue_entry import Asked, CatalogueEntry, Outcome, Seconds
from widelimit.experiments.catalogue.claims import NOT_COMPARABLE, Claim, Measurement, Parameter, Unmet, verdict
from widelimit.experiments.catalogue.drawing import Panel, arrows, bars, measured, published, theory
from widelimit.experiments.catalogue.reproduction import measuring, read, reproduce_entry
from widelimit.interfaces.catalogue_commands import QUICKLY_COMPILED
from widelimit.interfaces.cli import run

NEAR = Claim("value", "It is 1.", "Fig. 1", 1.0, "text", "near", 0.1, "by hand", "2")
CALLS = []


def measure(asked):
    """Two parts, the second of which can be interrupted."""
    first = asked.part("first", lambda: CALLS.append("first") or 1.0)
    second = asked.part("second", lambda: CALLS.append("second") or stopped() or asked.number("x"))
    lines = (theory("line", [0, 1], [0, 1]), measured("ours", [0, 1], [0, math.nan], 1, [0.1, 0.1]),
             published("paper", [0, 1], [0.5, 0.5]))  # fmt: skip
    return Outcome({"value": Measurement(first * second, 0.01)}, (Panel("P", "x", "y", lines),), ("a remark",))


def stopped():
    if os.environ.get("STOP") == "interrupt":
        raise KeyboardInterrupt
    if os.environ.get("STOP") == "kill":
        os.kill(os.getpid(), signal.SIGKILL)


def made(x=1.0, quick=None):
    return CatalogueEntry("one", "p1", "a number", (Parameter("x", x, "sure", quick=quick),), (NEAR,), Seconds(1, 2),
                          measure)  # fmt: skip


@pytest.fixture(autouse=True)
def _no_calls():
    CALLS.clear()


@pytest.mark.parametrize(
    ("kind", "value", "error", "word"),
    [
        ("near", 1.05, 0.0, "reproduced"), ("near", 1.05, 0.01, "reproduced"), ("near", 1.09, 0.02, "not comparable"),
        ("near", 1.11, 0.02, "not comparable"), ("near", 1.3, 0.02, "not reproduced"),
        ("at least", 1.0, 0.0, "reproduced"), ("at least", 0.9, 0.0, "not reproduced"),
        ("at most", 0.9, 0.01, "reproduced"), ("at most", 1.1, 0.01, "not reproduced"),
        ("near", math.nan, 0.0, "not reproduced"), ("at most", 0.0, math.nan, "not reproduced"),
        ("at least", math.inf, 0.0, "not reproduced"),
    ],
)  # fmt: skip
def test_a_verdict_follows_from_the_tolerance_and_the_error(kind, value, error, word):
    assert verdict(replace(NEAR, kind=kind), Measurement(value, error), False) == word


def test_a_setting_that_is_not_the_published_one_is_a_deviation():
    assert reproduce_entry(made(), False, None).verdict == "reproduced"
    found = reproduce_entry(made(2.0, quick=1.0), True, None)
    assert found.verdict == "reproduced with deviation" and found.entry.deviating(True) == ("x = 1.0 instead of 2.0",)
    assert not Parameter("x", 2.0, "chosen", quick=1.0).deviates(True)


def test_a_finished_entry_is_read_and_a_changed_one_is_run_again(tmp_path):
    first, second = (reproduce_entry(made(), False, tmp_path) for _ in range(2))
    assert CALLS == ["first", "second"] and (first.kept, second.kept) == (False, True)
    assert second.document() == first.document()
    reproduce_entry(made(1.01), False, tmp_path)
    assert CALLS == ["first", "second"] * 2


def test_words_that_are_written_after_a_run_leave_its_record_and_change_its_verdict(tmp_path):
    reproduce_entry(made(3.0), False, tmp_path)
    told = replace(made(3.0), title="another title", seconds=Seconds(3, 4), unmet=(Unmet("value", "3 is not 1"),))
    kept = reproduce_entry(told, False, tmp_path)
    assert kept.kept and kept.failures == [] and kept.verdict == "not reproduced"
    wide = replace(NEAR, tolerance=3.0)
    assert reproduce_entry(replace(told, claims=(wide,)), False, tmp_path).verdict == "reproduced"
    assert read(replace(told, claims=(wide, replace(wide, name="another"))), False, tmp_path) is None


@pytest.mark.parametrize(
    ("text", "same"),
    [("POINTS = 3\ndef f(x):\n    return x", True), ('"""Words."""\nPOINTS = 3  # enough\ndef f(x): return x', True),
     ("from a import b\nPOINTS = 3\ndef f(x):\n    'It.'\n    return x\nONE = CatalogueEntry(f)", True),
     ("POINTS = 4\ndef f(x): return x", False), ("POINTS = 3\ndef f(x): return -x", False)],
)  # fmt: skip
def test_a_record_is_known_by_the_code_that_measured_and_not_by_words(text, same):
    assert (measuring(text) == measuring("POINTS = 3\ndef f(x): return x")) == same


def moving(asked):
    """A histogram, arrows, and a film of two frames."""
    panel = Panel(
        "P", "x", "y", (bars("ours", [0, 1, 2], [1, 2]), *arrows("force", [[0, 0], [1, 1]], [[1, 0], [0, 1]]))
    )
    frames = tuple((Panel("F", "x", "y", (measured("at", [k], [k]),)),) for k in range(2))
    return Outcome({"value": Measurement(1.0)}, (panel,), film=frames)


def test_a_film_is_kept_in_the_record_and_written(tmp_path, monkeypatch, capsys):
    entry = replace(made(), measure=moving)
    monkeypatch.setattr(catalogue, "_ENTRIES", {"one": entry})
    assert run(["reproduce", "one", "--out", str(tmp_path)]) == 0
    assert {path.name for path in tmp_path.glob("one*")} == {"one.json", "one.png", "one.pdf", "one.gif"}
    kept = reproduce_entry(entry, False, tmp_path)
    assert kept.kept and kept.outcome == moving(None)


def test_a_damaged_record_is_replaced(tmp_path):
    reproduce_entry(made(), False, tmp_path)
    for wrong in ("{", "[]", json.dumps({"digest": "x"})):
        (tmp_path / "one.json").write_text(wrong)
        assert not reproduce_entry(made(), False, tmp_path).kept
    assert CALLS == ["first", "second"]  # its parts were still there


def test_an_interrupt_keeps_the_parts_that_were_finished(tmp_path, monkeypatch):
    monkeypatch.setenv("STOP", "interrupt")
    with pytest.raises(KeyboardInterrupt):
        reproduce_entry(made(), False, tmp_path)
    monkeypatch.delenv("STOP")
    assert reproduce_entry(made(), False, tmp_path).verdict == "reproduced"
    assert CALLS == ["first", "second", "second"]


@pytest.mark.slow
def test_a_kill_keeps_the_parts_that_were_finished(tmp_path):
    code = "import sys, pathlib, test_catalogue as t; t.reproduce_entry(t.made(), False, pathlib.Path(sys.argv[1]))"
    paths = os.pathsep.join([os.path.dirname(__file__), os.environ.get("PYTHONPATH", "")])
    killed = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], env={**os.environ, "STOP": "kill", "PYTHONPATH": paths}
    )
    assert killed.returncode == -signal.SIGKILL and not (tmp_path / "one.json").exists()
    (first,) = (tmp_path / "parts").glob("*/first.json")
    assert json.loads(first.read_text()) == 1.0


SOME = ("barron-line", "abam22-growth", "noise-free-energy")  # the cheapest
ALL_OF_SOME = """
import sys
from widelimit.experiments import catalogue
from widelimit.interfaces.cli import run
folder, *names = sys.argv[1:]
catalogue._ENTRIES = {name: catalogue.entry(name) for name in names}
sys.exit(run(["reproduce", "--all", "--quick", "--json", "--out", folder]))
"""


@pytest.mark.slow
def test_a_killed_catalogue_goes_on_without_repeating_what_is_finished(tmp_path):
    """kill −9 when the first record is there: it stays as it is, and the others follow."""
    words = [sys.executable, "-c", ALL_OF_SOME, str(tmp_path), *SOME]
    work = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    while not (finished := list(tmp_path.glob("*-quick.json"))):
        assert work.poll() is None
        time.sleep(0.02)
    work.kill()
    work.wait()
    first = {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in finished}
    assert 0 < len(first) < len(SOME)
    again = subprocess.run(words, capture_output=True, text=True)
    found = {one["entry"]["name"]: one for one in json.loads(again.stdout)}
    assert again.returncode == 0 and set(found) == set(SOME)
    for path, (when, contents) in first.items():
        assert (path.stat().st_mtime_ns, path.read_bytes()) == (when, contents)
        assert found[path.name.removesuffix("-quick.json")]["kept"]


def test_every_entry_stands_in_the_documentation():
    page = (Path(__file__).parents[2] / "docs" / "catalogue.md").read_text(encoding="utf-8")
    assert all(f"| `{entry.name}` | {entry.title} |" in page for entry in catalogue.entries())


OPEN = {
    ("agj21-samples", "s3"), ("mmm19-parts", "PDE–ND"), ("cm20-filtered-pca", "s4"),
    ("noise-particle-bias", "curved"), ("noise-particle-bias", "factor"),
}  # fmt: skip


@pytest.mark.catalogue
def test_quick_forms_fail_no_claim_and_leave_few_open(tmp_path):
    """The verdicts of docs/catalogue.md, from the records in WIDELIMIT_CATALOGUE if that names a folder."""
    folder = Path(os.environ.get("WIDELIMIT_CATALOGUE", tmp_path))
    if folder == tmp_path:
        assert run(["reproduce", "--all", "--quick", "--out", str(folder)]) == 0
    found = {entry.name: read(entry, True, folder).verdicts for entry in catalogue.entries()}
    assert {(name, claim) for name in found for claim, word in found[name].items() if word == NOT_COMPARABLE} <= OPEN


@pytest.mark.parametrize("entry", catalogue.entries(), ids=lambda entry: entry.name)
def test_every_entry_says_what_would_refute_it(entry):
    assert entry.claims and len({claim.name for claim in entry.claims}) == len(entry.claims)
    for claim in entry.claims:
        assert claim.sentence.endswith(".") and claim.locator and claim.reason and claim.falsifier
        assert (claim.tolerance > 0) == (claim.kind == "near")
        assert claim.published is not None or claim.source == "theory"
    assert entry.seconds.quick <= 60
    assert {one.claim for one in entry.unmet} <= {claim.name for claim in entry.claims}
    json.dumps(entry.document(), allow_nan=False)


def test_the_commands_list_show_and_reproduce(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(catalogue, "_ENTRIES", {"one": made(), "two": replace(made(3.0), name="two", paper="p2")})
    assert run(["list", "--paper", "p2", "--json"]) == 0
    assert [one["name"] for one in json.loads(capsys.readouterr().out)] == ["two"]
    assert run(["list"]) == 0 and run(["show", "one"]) == 0
    assert "refuted by: 2" in capsys.readouterr().out
    assert run(["reproduce", "one", "--out", str(tmp_path)]) == 0
    assert "reproduced" in capsys.readouterr().out
    assert run(["reproduce", "--all", "--json", "--out", str(tmp_path)]) == 1  # the second one is 3 instead of 1
    documents = json.loads(capsys.readouterr().out)
    assert [(one["verdict"], one["kept"]) for one in documents] == [("reproduced", True), ("not reproduced", False)]
    assert {path.name for path in tmp_path.glob("one*")} == {"one.json", "one.png", "one.pdf"}


def test_a_claim_that_is_known_to_fail_is_told_and_is_no_failure(tmp_path, monkeypatch, capsys):
    known = replace(made(3.0), unmet=(Unmet("value", "3 is not 1", "full"),))
    monkeypatch.setattr(catalogue, "_ENTRIES", {"one": known})
    assert run(["reproduce", "one", "--quick", "--out", str(tmp_path)]) == 1  # it is not known of this form
    assert "known not to be" not in capsys.readouterr().out
    assert run(["reproduce", "one", "--out", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "not reproduced" in out and "known not to be reproduced: value; 3 is not 1" in out


@pytest.mark.parametrize(("own", "found"), [(None, QUICKLY_COMPILED), ("--xla_dump_to=here", "--xla_dump_to=here")])
def test_quick_forms_are_compiled_quickly_unless_the_user_says_how(tmp_path, monkeypatch, own, found):
    monkeypatch.setattr(catalogue, "_ENTRIES", {"one": made(1.0)})
    monkeypatch.setenv("XLA_FLAGS", "whatever is put back afterwards")
    for form, flags in (([], own), (["--quick"], found)):
        monkeypatch.delenv("XLA_FLAGS", raising=False) if own is None else monkeypatch.setenv("XLA_FLAGS", own)
        assert run(["reproduce", "one", *form, "--out", str(tmp_path)]) == 0
        assert os.environ.get("XLA_FLAGS") == flags


def test_an_entry_that_diverges_does_not_stop_the_others(tmp_path, monkeypatch, capsys):
    def diverges(asked):
        raise wl.Diverged("SGD diverged at t = 1.", None)

    both = {"one": replace(made(), name="one", measure=diverges), "two": replace(made(), name="two")}
    monkeypatch.setattr(catalogue, "_ENTRIES", both)
    assert run(["reproduce", "--all", "--json", "--jobs", "1", "--out", str(tmp_path)]) == 1
    out, err = capsys.readouterr()
    assert [one["entry"]["name"] for one in json.loads(out)] == ["two"]
    assert "one: SGD diverged" in err
    assert "about 4 s in all: one 2 s, two 2 s" in err  # full forms say it beforehand, one after the other here


@pytest.mark.parametrize(
    "words",
    [["show", "nothing"], ["reproduce"], ["reproduce", "mmn18-risk", "--all"], ["list", "--paper", "x"],
     ["reproduce", "--all", "--jobs", "0"]],
)  # fmt: skip
def test_bad_words_are_answered_in_one_sentence(words, capsys):
    assert run(words) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_bad_arguments_are_refused():
    for bad in (lambda: catalogue.entry(3), lambda: catalogue.entries(3), lambda: catalogue.reproduce(3),
                lambda: catalogue.reproduce("mmn18-risk", quick=2),
                lambda: catalogue.reproduce("mmn18-risk", folder=3)):  # fmt: skip
        with pytest.raises(wl.InputError):
            bad()


def test_parameters_are_read_by_kind():
    asked = Asked({"d": 40, "deltas": (0.1, 0.2)})
    assert (asked.count("d"), asked.number("d"), asked.numbers("deltas"), asked["d"]) == (40, 40, (0.1, 0.2), 40)
    assert asked.store is None and asked.part("x", lambda: 3.0) == 3.0
