"""The namespace that the array API's conformance suite tests: numpy's, with the functions of this package in it.

    ARRAY_API_TESTS_MODULE=array_api_namespace PYTHONPATH=path/of/this/folder pytest array_api_tests/test_statistical_functions.py \\
        array_api_tests/test_searching_functions.py array_api_tests/test_utility_functions.py \\
        array_api_tests/test_special_cases.py array_api_tests/test_signatures.py array_api_tests/test_has_names.py \\
        -k "sum or prod or min or max or mean or all or any or nonzero" --max-examples 1000

runs it in a clone of https://github.com/data-apis/array-api-tests. Complex numbers are left to numpy.
"""

import functools

import numpy

import upsweep

__array_api_version__ = "2024.12"

NAMES = (
    "all any argmax argmin count_nonzero cumulative_prod cumulative_sum max mean min nonzero prod sum"
).split()


def of_real_numbers(name):
    """A function of the package, and numpy's for complex numbers."""
    own, other = getattr(upsweep, name), getattr(numpy, name)

    @functools.wraps(own)
    def call(x, /, *arguments, **options):
        return (other if x.dtype.kind == "c" else own)(x, *arguments, **options)

    return call


def __getattr__(name):
    return of_real_numbers(name) if name in NAMES else getattr(numpy, name)
