# The variants and the compiler's flags, which setup.py and fastact.mk read: NAME = words.

# The variants of each architecture, best first. Elsewhere there is "scalar" alone.
FASTACT_VARIANTS_x86_64 = avx512 avx2 scalar
FASTACT_VARIANTS_aarch64 = neon
FASTACT_VARIANTS_arm64 = neon

# The CPU features that a variant needs. A feature is both a compiler flag, -m<feature>, and what
# dispatch.h asks the CPU for.
FASTACT_FEATURES_avx512 = avx512f avx512dq avx512vl avx512bw fma
FASTACT_FEATURES_avx2 = avx2 fma

# f16c is asked for by dispatch.h itself. Compilers prefer 256-bit vectors even where 512-bit ones
# are there.
FASTACT_FLAGS_avx512 = -mf16c -mprefer-vector-width=512
FASTACT_FLAGS_avx2 = -mf16c

# What every C file is compiled with:
#   -ffp-contract=off      a multiply-add is fused where the source says so, so that variants agree
#   -fno-math-errno, -fno-trapping-math   needed to vectorise; neither changes a result
FASTACT_FLAGS = -std=c11 -O3 -ffp-contract=off -fno-math-errno -fno-trapping-math
