"""The C kernels of fastact, and the script that derives their constants."""
