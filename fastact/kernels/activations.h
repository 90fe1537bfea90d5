/* The maths of every activation, once: branch-free scalar functions for a compiler to vectorise.
 *
 * Every function is total: infinities, NaN, signed zeros and subnormals come out right. Every
 * constant is derived by coefficients.py. The largest errors stand in registry.h. */

#ifndef FASTACT_ACTIVATIONS_H
#define FASTACT_ACTIVATIONS_H

#include "derivatives.h"
#include "gelu.h"
#include "hard_cases.h"
#include "logistic.h"
#include "piecewise.h"

#endif
