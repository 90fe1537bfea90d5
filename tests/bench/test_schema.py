"""The data that --json writes: its schema, and the files that earlier versions wrote."""

import dataclasses
import json
from pathlib import Path

import jsonschema
import pytest

import fastact.bench
from fastact import export
from fastact.bench import SCHEMA, bench, compare, history

FOLDER = Path(__file__).with_name("data")
WHOLE = json.loads(Path(fastact.bench.__file__).with_name("comparison.schema.json").read_text())


def check(data, part=None):
    schema = WHOLE if part is None else {**WHOLE["$defs"][part], "$defs": WHOLE["$defs"]}
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate(json.loads(json.dumps(data)))


def test_a_comparison_follows_the_schema_and_survives_json(comparison):
    data = comparison.to_dict()
    assert json.loads(json.dumps(data)) == data
    assert data["schema"] == SCHEMA == WHOLE["properties"]["schema"]["const"]
    check(data)


def test_with_everything_that_can_be_left_out():
    model = export.cnn("resnet8", "gelu")
    check(compare(model=model, runs=3, kernels=True, activations=["relu", "gelu"]).to_dict())


def test_a_bench_follows_the_schema(tmp_path):
    path = export.save(export.cnn("digits", "relu"), tmp_path / "m.onnx")
    data = bench([path], runs=3, budget_ms=1.0).to_dict()
    assert json.loads(json.dumps(data)) == data
    check(data, "bench")


def test_the_schema_describes_every_field(comparison):
    fields = {field.name for field in dataclasses.fields(comparison.measurements[0])}
    assert fields <= {*WHOLE["$defs"]["measurement"]["properties"]}


@pytest.mark.parametrize("wrong", [{"schema": 1}, {"weights": "mine"}, {"models": []}, {"new": 1}])
def test_what_does_not_follow_the_schema(comparison, wrong):
    with pytest.raises(jsonschema.ValidationError):
        check({**comparison.to_dict(), **wrong})


@pytest.mark.parametrize("path", sorted(FOLDER.glob("compare_schema*.json")), ids=lambda p: p.stem)
def test_files_of_earlier_versions_stay_readable(path, comparison):
    before = history.read(path)
    assert before.network == "digits"
    found, _ = history.changes(comparison, before)
    assert [change.name for change in found] == [m.name for m in comparison.measurements]
    assert all(change.ratio > 0 for change in found)


def test_there_is_a_file_of_every_version():
    names = [path.name for path in sorted(FOLDER.glob("compare_schema*.json"))]
    assert names == [f"compare_schema{version}.json" for version in range(1, SCHEMA + 1)]
    assert [json.loads((FOLDER / name).read_text())["schema"] for name in names] == [1, 2]
