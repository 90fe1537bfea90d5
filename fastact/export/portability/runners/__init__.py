"""The scripts that an environment's own Python executes: NumPy and the runtime are all they need.

`child` goes through the models; each ``run_*`` has a function that loads and runs one model.
"""
