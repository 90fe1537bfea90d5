"""fastact beside other libraries, in speed and in accuracy: ``python -m fastact.bench.peers``.

`peer` says what a peer is and `libraries` lists them; `workloads` says what is measured, `timing`
how, `caps` under which instruction sets; `goals` holds the ratios to reach, `latency_page` and
`accuracy_page` write the pages.
"""
