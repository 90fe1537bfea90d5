"""What the activations are like, and what fastact's kernels cost, computed and measured."""
