"""Asks from Python what `fastact compare` answers: ReLU or GELU, under a latency budget.

Needs fastact[report]; with fastact[html], it also writes a page.
"""

import tempfile
from pathlib import Path

from fastact import bench, export

# A network that comes with fastact. The second question is about a model of one's own: here one
# that was trained with ReLU, in a file.
answer = bench.compare("digits", profile="custom", budget_ms=1.0, runs=500, kernels=False)
print(answer.verdict.sentence)
for m in answer.measurements:
    print(f"{m.name:15} p50 {m.latency.p50_ms:.4f} ms, {m.ratio:.2f} times the ReLU model's")

with tempfile.TemporaryDirectory() as folder:
    path = export.save(export.cnn("resnet8", "relu", opset=17), Path(folder, "resnet8.onnx"))
    answer = bench.compare(model=path, activations=["relu", "gelu"], runs=500, kernels=False)
for m in answer.measurements:
    change = (
        "as it is" if not m.retrain else f"outputs change by {m.output_change:.0%}, train again"
    )
    print(f"{m.name:15} p50 {m.latency.p50_ms:.4f} ms, {change}")
    if m.split is not None:
        fusion, arithmetic = m.split.fusion_us, m.split.arithmetic_us
        print(f"{'':15} {fusion:.1f} us for lost fusion, {arithmetic:.1f} us for arithmetic")
