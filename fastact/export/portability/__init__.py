"""What other runtimes make of the exported models: ``python -m fastact.export.portability``.

`runtimes` lists them, `cases` makes the models and what they should give, `environments` installs
each runtime by itself, where a script of `runners` runs the models; `results` judges the outputs
and holds them against the table of targets, and `page` writes docs/portability.md.
"""
