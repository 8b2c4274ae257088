"""Problems by themselves: flat gradients, body and head, throttles. No Ray."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")  # before the imports that need it: E402 below

from surfer_lab.distributed.conditions import Conditions  # noqa: E402
from surfer_lab.distributed.problem import HeadedProblem, Quadratic  # noqa: E402
from surfer_lab.distributed.torch_problem import HeadedTorchProblem, TorchProblem  # noqa: E402
from surfer_lab.errors import OptionError  # noqa: E402

EVERY = np.arange(12)


def tensors():
    generator = torch.Generator().manual_seed(0)
    return torch.randn(12, 5, generator=generator), torch.randint(3, (12,), generator=generator)


def headed():
    torch.manual_seed(1)
    body = torch.nn.Sequential(torch.nn.Linear(5, 4), torch.nn.Tanh())
    return HeadedTorchProblem(body, torch.nn.Linear(4, 3), torch.utils.data.TensorDataset(*tensors()))


class Listed(torch.utils.data.Dataset):
    """Items one by one, as a user's data set may give them."""

    def __len__(self):
        return 12

    def __getitem__(self, index):
        inputs, targets = tensors()
        return inputs[index], targets[index]


def test_the_gradient_is_that_of_numerical_differences():
    problem = headed()
    weights = problem.initial_weights().astype(np.float64)
    _, gradient = problem.gradient(weights.astype(np.float32), EVERY)
    for place in (0, 7, len(weights) - 1):
        step = np.zeros(len(weights))
        step[place] = 1e-2
        high, low = (problem.gradient((weights + sign * step).astype(np.float32), EVERY)[0] for sign in (1, -1))
        assert gradient[place] == pytest.approx((high - low) / 2e-2, abs=2e-3)


def test_body_and_head_apart_give_the_gradient_of_the_whole():
    problem = headed()
    assert isinstance(problem, HeadedProblem)
    weights = problem.initial_weights()
    loss, gradient = problem.gradient(weights, EVERY)
    body, head = weights[: problem.body_size], weights[problem.body_size :]
    features = problem.body_forward(body, EVERY)
    head_loss, head_gradient, by_features = problem.head_gradient(head, features, EVERY)
    apart = np.concatenate([problem.body_backward(by_features), head_gradient])
    assert head_loss == pytest.approx(loss)
    np.testing.assert_allclose(apart, gradient, atol=1e-6)


def test_weighted_shares_sum_to_the_whole_batchs_gradient():
    problem = headed()
    weights = problem.initial_weights()
    _, whole = problem.gradient(weights, EVERY)
    parts = [(3, EVERY[:3]), (9, EVERY[3:])]
    summed = sum(count / 12 * problem.gradient(weights, samples)[1] for count, samples in parts)
    np.testing.assert_allclose(summed, whole, atol=1e-6)


def test_any_data_set_with_a_length_will_do():
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(5, 4), torch.nn.Tanh(), torch.nn.Linear(4, 3))
    listed = TorchProblem(model, Listed())
    np.testing.assert_allclose(
        listed.gradient(headed().initial_weights(), EVERY)[1],
        headed().gradient(headed().initial_weights(), EVERY)[1],
        atol=1e-6,
    )  # fmt: skip


def test_a_model_without_parameters_is_refused():
    with pytest.raises(OptionError, match="no parameters"):
        TorchProblem(torch.nn.ReLU(), torch.utils.data.TensorDataset(*tensors()))


def test_a_quadratic_is_least_at_the_samples_mean():
    problem = Quadratic(dimensions=3, noise=1.0, samples=64)
    every = np.arange(problem.sample_count)
    loss, gradient = problem.gradient(np.zeros(3, np.float32), every)
    assert loss == 0.0
    assert gradient == pytest.approx([0, 0, 0], abs=1e-6)
    assert problem.gradient(problem.initial_weights(), every)[1] == pytest.approx(problem.curvature, abs=1e-6)


@pytest.mark.parametrize(
    ("words", "deviation"), [({}, 0.0), ({"is_exponential": True}, 1.0), ({"variation": 0.3}, 0.3)]
)
def test_throttled_times_have_the_mean_and_spread_that_was_asked(words, deviation):
    work = Conditions(s_per_sample=0.01, overhead_s=0.02, **words)
    random = np.random.default_rng(0)
    times = [work.compute_s(8, random) for _ in range(4000)]
    assert np.mean(times) == pytest.approx(0.1, rel=0.05)
    assert np.std(times) == pytest.approx(0.1 * deviation, rel=0.1, abs=1e-12)


def test_links_are_slow_as_a_ring_is():
    # 2 x 3 hops of 1 ms and 2 x 3/4 of 40 ms
    assert Conditions(hop_s=0.001, reduce_s=0.04).all_reduce_s(4) == pytest.approx(0.066)
    assert Conditions(hop_s=0.001, reduce_s=0.04).all_reduce_s(1) == 0.0


@pytest.mark.parametrize(
    ("data", "seen"),
    [
        ((torch.zeros(8, 5),), "tuple with items of type Tensor"),
        (torch.zeros(8, 5), "Tensor"),
        ({"input": torch.zeros(8, 5)}, "dict"),
        (torch.utils.data.TensorDataset(torch.zeros(8, 5)), "items of type tuple of 1"),
        (torch.utils.data.DataLoader(torch.utils.data.TensorDataset(*tensors())), "DataLoader"),
    ],
)
def test_what_is_no_data_set_of_inputs_and_targets_is_named_before_anything_runs(data, seen):
    with pytest.raises(OptionError, match="where its data set is expected") as raised:
        TorchProblem(torch.nn.Linear(5, 3), data)
    assert seen in str(raised.value)
    assert "TensorDataset(inputs, targets)" in str(raised.value)
