"""Small networks in torch, one a way in which channels of layers are tied."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn


def _conv(inputs: int, outputs: int, kernel: int = 3, *, groups: int = 1, relu: bool = True) -> Any:
    """A convolution of the same size, batch normalisation, and perhaps a ReLU."""
    layers = [
        nn.Conv2d(inputs, outputs, kernel, padding=kernel // 2, groups=groups, bias=False),
        nn.BatchNorm2d(outputs),
    ]
    return nn.Sequential(*layers, *([nn.ReLU()] if relu else []))


def _shuffle(x: Any, groups: int) -> Any:
    batch, channels, height, width = x.shape
    x = x.reshape(batch, groups, channels // groups, height, width)
    return x.transpose(1, 2).reshape(batch, channels, height, width)


def _module(forward: Callable[..., Any], **layers: Any) -> Any:
    """A module of these layers whose forward is a function of them and of x."""

    class Network(nn.Module):  # type: ignore[misc]  # torch is not typed here
        def __init__(self) -> None:
            super().__init__()
            for name, layer in layers.items():
                setattr(self, name, layer)

        def forward(self, x: Any) -> Any:
            return forward(self, x)

    return Network()


def _pooled(net: Any, x: Any) -> Any:
    return net.head(x.mean(dim=(2, 3)))


def chain() -> Any:
    """Convolutions, Flatten, dense layers."""
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(32 * 16, 64), nn.ReLU(), nn.Linear(64, 10),
    )  # fmt: skip


def residual() -> Any:
    """Two residual blocks."""

    def forward(net: Any, x: Any) -> Any:
        x = net.stem(x)
        for first, second in ((net.a1, net.a2), (net.b1, net.b2)):
            x = torch.relu(x + second(first(x)))
        return _pooled(net, x)

    return _module(
        forward, stem=_conv(3, 32), a1=_conv(32, 16), a2=_conv(16, 32, relu=False),
        b1=_conv(32, 16), b2=_conv(16, 32, relu=False), head=nn.Linear(32, 10),
    )  # fmt: skip


def dense() -> Any:
    """Concats of all results so far."""

    def forward(net: Any, x: Any) -> Any:
        x = net.stem(x)
        x = torch.cat([x, net.a(x)], dim=1)
        return _pooled(net, torch.cat([x, net.b(x)], dim=1))

    return _module(forward, stem=_conv(3, 16), a=_conv(16, 8), b=_conv(24, 8), head=nn.Linear(32, 10))


def depthwise() -> Any:
    """Depthwise and pointwise convolutions."""

    def forward(net: Any, x: Any) -> Any:
        return _pooled(net, net.point2(net.deep2(net.point1(net.deep1(net.stem(x))))))

    return _module(
        forward, stem=_conv(3, 16), deep1=_conv(16, 16, groups=16), point1=_conv(16, 32, 1),
        deep2=_conv(32, 32, groups=32), point2=_conv(32, 32, 1), head=nn.Linear(32, 10),
    )  # fmt: skip


def grouped() -> Any:
    """A convolution of four groups between two pointwise ones, as in ResNeXt."""

    def forward(net: Any, x: Any) -> Any:
        x = net.stem(x)
        return _pooled(net, torch.relu(x + net.wide(net.groups(net.narrow(x)))))

    return _module(
        forward, stem=_conv(3, 32), narrow=_conv(32, 16, 1), groups=_conv(16, 16, groups=4),
        wide=_conv(16, 32, 1, relu=False), head=nn.Linear(32, 10),
    )  # fmt: skip


def shuffle() -> Any:
    """Grouped pointwise convolutions with a channel shuffle between them, as in ShuffleNet."""

    def forward(net: Any, x: Any) -> Any:
        x = net.stem(x)
        y = net.deep(_shuffle(net.narrow(x), 4))
        return _pooled(net, torch.relu(x + net.wide(y)))

    return _module(
        forward, stem=_conv(3, 32), narrow=_conv(32, 16, 1, groups=4),
        deep=_conv(16, 16, groups=16, relu=False), wide=_conv(16, 32, 1, groups=4, relu=False),
        head=nn.Linear(32, 10),
    )  # fmt: skip


def shuffle_plain() -> Any:
    """A channel shuffle between ordinary convolutions."""

    def forward(net: Any, x: Any) -> Any:
        return _pooled(net, net.last(_shuffle(net.stem(x), 4)))

    return _module(forward, stem=_conv(3, 32), last=_conv(32, 16), head=nn.Linear(16, 10))


def split_shuffle() -> Any:
    """Half of the channels through a branch, concat, shuffle, as in ShuffleNetV2."""

    def forward(net: Any, x: Any) -> Any:
        x = net.stem(x)
        left, right = x.chunk(2, dim=1)
        x = _shuffle(torch.cat([left, net.b(net.deep(net.a(right)))], dim=1), 2)
        return _pooled(net, net.last(x))

    return _module(
        forward, stem=_conv(3, 32), a=_conv(16, 16, 1), deep=_conv(16, 16, groups=16, relu=False),
        b=_conv(16, 16, 1), last=_conv(32, 32, 1), head=nn.Linear(32, 10),
    )  # fmt: skip


def squeeze_excite() -> Any:
    """A squeeze-and-excite branch that scales what it reads."""

    def forward(net: Any, x: Any) -> Any:
        x = net.stem(x)
        scale = torch.sigmoid(net.up(torch.relu(net.down(x.mean(dim=(2, 3), keepdim=True)))))
        return _pooled(net, net.last(x * scale))

    return _module(
        forward, stem=_conv(3, 32), down=nn.Conv2d(32, 8, 1), up=nn.Conv2d(8, 32, 1),
        last=_conv(32, 16), head=nn.Linear(16, 10),
    )  # fmt: skip


def repeated_concat() -> Any:
    """One result twice in a concat."""

    def forward(net: Any, x: Any) -> Any:
        x = net.stem(x)
        return _pooled(net, net.last(torch.cat([x, net.a(x), x], dim=1)))

    return _module(forward, stem=_conv(3, 16), a=_conv(16, 8), last=_conv(40, 16), head=nn.Linear(16, 10))


def transposed() -> Any:
    """A transposed convolution."""

    def forward(net: Any, x: Any) -> Any:
        return _pooled(net, net.last(torch.relu(net.norm(net.up(net.stem(x))))))

    return _module(
        forward, stem=_conv(3, 32), up=nn.ConvTranspose2d(32, 16, 2, stride=2), norm=nn.BatchNorm2d(16),
        last=_conv(16, 16), head=nn.Linear(16, 10),
    )  # fmt: skip


NETWORKS: dict[str, Callable[[], Any]] = {
    "chain": chain,
    "residual": residual,
    "dense": dense,
    "depthwise": depthwise,
    "grouped": grouped,
    "shuffle, grouped": shuffle,
    "shuffle, plain": shuffle_plain,
    "split, concat, shuffle": split_shuffle,
    "squeeze-excite": squeeze_excite,
    "repeated concat": repeated_concat,
    "transposed": transposed,
}
