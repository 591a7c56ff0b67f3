"""Where a finding about an event is, and which other places it names."""

from __future__ import annotations

import mpslint

REWARD = """import gymnasium as gym
import torch

envs = gym.vector.SyncVectorEnv([lambda: gym.make("CartPole-v1")])
obs, reward, done, cut, info = envs.step([0])
{}
"""


def test_float64_among_what_a_call_returns_is_found_where_it_goes_to_the_gpu() -> None:
    """The call isn't a cast: what it returns has other parts. It's named as the place that the dtype comes from."""
    (finding,) = mpslint.check(REWARD.format('x = torch.tensor(reward, device="mps")'), target={"torch": "2.8.0"}).findings

    assert (finding.rule, finding.line) == ("MPS116", 6)
    assert "float64 comes from here" in str(finding.related)


def test_a_cast_to_float64_is_found_where_it_is() -> None:
    """It's the cast that has to change, not the move after it."""
    code = 'import torch\n\nx = torch.ones(2).double()\ny = x.to("mps")\n'
    (finding,) = mpslint.check(code, target={"torch": "2.8.0"}).findings

    assert (finding.rule, finding.line) == ("MPS116", 3)


def test_a_cast_is_shown_where_it_is_made() -> None:
    """What made the tensor gave it another dtype."""
    found = mpslint.check('import torch\n\nx = torch.ones(3, device="mps")\nw = x.double().cpu()\n', select=["MPS116"]).findings

    assert [(one.line, "`x.double()` holds float64" in one.message) for one in found] == [(4, True)]


def test_a_finding_names_what_a_parameter_was_taken_for() -> None:
    """Nothing calls the function, so that its device is the premise on which the finding rests; what the file calls shows its own."""
    code = "import torch\n\ndef double(device):\n    return torch.ones(3).double().to(device)\n"
    (alone,) = mpslint.check(code, select=["MPS116"]).findings
    (called,) = mpslint.check(f'{code}\ndouble("mps")\n', select=["MPS116"]).findings

    assert "no call of double() is seen in this file: its `device` is taken for the Mac's GPU" in str(alone.related)
    assert "taken for" not in str(called.related)


def test_a_move_that_casts_is_named_and_not_what_it_casts() -> None:
    """`torch.ones(3)` is float32."""
    code = 'import torch\n\nx = torch.ones(3)\ny = x.to("mps", dtype=torch.float64)\n'
    (finding,) = mpslint.check(code, select=["MPS116"]).findings

    assert (finding.line, finding.message.split(" holds ")[0]) == (4, '`x.to("mps", dtype=torch.float64)`')


def test_complex_numbers_are_not_called_float64() -> None:
    """Each of two tensors in one program has its own dtype."""
    code = 'import torch\n\nx = torch.ones(2, dtype=torch.complex128).to("mps")\ny = torch.ones(2, dtype=torch.float64).to("mps")\n'

    said = [finding.message for finding in mpslint.check(code, target={"torch": "2.10"}, select=["MPS116"]).findings]

    assert [("complex128" in one, "float64" in one) for one in said] == [(True, False), (False, True)]
