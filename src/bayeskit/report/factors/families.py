"""How the factor of a numeric attribute is written, family by family."""

from __future__ import annotations

from typing import Any

from bayeskit.estimation.gaussian import Gaussian
from bayeskit.estimation.kernel_density import KernelDensity
from bayeskit.estimation.poisson import Poisson
from bayeskit.estimation.student import Student
from bayeskit.report.fractions import centre, number, short

DENSITIES = (Gaussian, Student, KernelDensity, Poisson)


def is_used(conditional: Any, i: int) -> bool:
    """Tell whether the i-th attribute of a conditional is a factor; a constant one is not."""
    match conditional:
        case Gaussian() | Student():
            return bool(conditional.used[i])
        case KernelDensity():
            return bool(conditional.sd[i] > 0.0)
        case Poisson():
            return bool(conditional.rates[:, i].any())
    return True


def density_working(conditional: Any, i: int, k: int, x: float) -> str:
    """Write the distribution of the i-th attribute in class k, at x.

    Examples
    --------
    >>> import numpy as np
    >>> one = np.array([[1.0]])
    >>> normal = Gaussian(one * 0.525, one * 0, one * 0.0092, one * 0.0959, np.array([True]), np.array([0]))
    >>> density_working(normal, 0, 0, 0.6)
    'N(0.6; μ=0.525, σ²=0.0092)'
    """
    match conditional:
        case Gaussian():
            mean = centre(float(conditional.mean[k, i]), float(conditional.deviation[k, i]))
            return f"N({number(x)}; μ={mean}, σ²={short(conditional.variance[k, i])})"
        case Student():
            scale = float(conditional.scale[k, i])
            freedom, mean = conditional.freedom[k, i], centre(float(conditional.mean[k, i]), scale)
            return f"t({number(x)}; ν={short(freedom)}, μ={mean}, s={short(scale)})"
        case KernelDensity():
            return f"kernel({number(x)}; h={short(conditional.deviations[i, k] * conditional.sd[i])})"
        case Poisson():
            return f"Pois({number(x)}; λ={short(conditional.rates[k, i])})"
    return ""
