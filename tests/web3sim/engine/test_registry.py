import subprocess
import sys

import pytest

from web3sim.engine.registry import engine


def test_engines_are_found_by_name():
    assert engine("pyevm").name == "pyevm"
    assert engine("pyevm-blocks").name == "pyevm-blocks"


def test_an_unknown_engine_is_named_with_those_there_are():
    with pytest.raises(LookupError, match="no EVM engine 'revm'; there are pyevm, pyevm-blocks"):
        engine("revm")


def test_the_library_comes_with_the_first_engine_without_its_bls12_381():
    program = (
        "import sys; from web3sim.engine import interface, registry\n"
        "assert not {'eth', 'gmpy2', 'py_ecc'} & set(sys.modules), 'too early'\n"
        "registry.engine('pyevm')\n"
        "assert 'eth' in sys.modules and 'py_ecc.bls' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
