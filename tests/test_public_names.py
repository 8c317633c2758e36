"""The value of `conspectus.X` does not depend on earlier imports."""

from __future__ import annotations

import subprocess
import sys
from types import ModuleType

import pytest

import conspectus

MOST = 45
"""Limit of public names: a newcomer must be able to look through all of them."""

EACH = """
import conspectus, pkgutil, sys
names = {*conspectus.__all__, *(m.name for m in pkgutil.iter_modules(conspectus.__path__) if m.name != "__main__")}
names |= {"map", "status", "nothing"}
if sys.argv[1] == "after":
    for module in pkgutil.walk_packages(conspectus.__path__, "conspectus."):
        if not module.name.endswith("__main__"):
            try:
                __import__(module.name)
            except (ImportError, conspectus.ConspectusError):  # an extra that is not installed
                pass
for name in sorted(names):
    value = getattr(conspectus, name, None)
    print(name, type(value).__name__, getattr(value, "__module__", None), getattr(value, "__name__", None))
"""


@pytest.mark.long
def test_a_name_means_the_same_before_and_after_everything_is_imported():
    told = [
        subprocess.run([sys.executable, "-c", EACH, when], check=True, capture_output=True, text=True).stdout
        for when in ("before", "after")
    ]
    assert told[0] == told[1]
    assert "map NoneType" in told[0]
    assert "status NoneType" in told[0]


def test_no_public_name_is_a_module_and_all_are_listed():
    assert dir(conspectus) == sorted(conspectus.__all__)
    assert len(conspectus.__all__) <= MOST
    for name in conspectus.__all__:
        assert not isinstance(getattr(conspectus, name), ModuleType)
        assert getattr(conspectus, name).__doc__


def test_a_name_of_the_command_line_leads_to_that_of_the_package():
    with pytest.raises(AttributeError, match="draw_map"):
        _ = conspectus.map  # type: ignore[attr-defined]
