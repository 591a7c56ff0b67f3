"""Nine small models, batches of 32, 20 batches to warm up and then the training (dharvpat/pytorch-PRs). The model is the argument."""

from __future__ import annotations

import sys

import torch
import torch.nn.functional as F
from torch import nn

device = torch.device("mps")


def conv(a, b, stride=1):
    return nn.Conv2d(a, b, 3, stride=stride, padding=1)


class Pooled(nn.Module):
    def __init__(self, body, width, dropout):
        super().__init__()
        self.body, self.dropout, self.fc = body, nn.Dropout(dropout), nn.Linear(width, 10)

    def forward(self, x):
        return self.fc(self.dropout(self.body(x).mean(dim=[2, 3])))


class Residual(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.c1, self.b1, self.c2, self.b2 = conv(width, width), nn.BatchNorm2d(width), conv(width, width), nn.BatchNorm2d(width)

    def forward(self, x):
        out = self.b2(self.c2(F.relu(self.b1(self.c1(x)))))
        out += x
        return F.relu(out)


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.fc = nn.Linear(64, 64), nn.Linear(64, 10)
        self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(64, 4, dropout=0.2, batch_first=True), num_layers=2)

    def forward(self, x):
        return self.fc(self.encoder(self.embed(x)).mean(dim=1))


class Recurrent(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.rnn, self.fc = kind(32, 64, batch_first=True, dropout=0.2, num_layers=2), nn.Linear(64, 10)

    def forward(self, x):
        _, hidden = self.rnn(x)
        return self.fc((hidden[0] if isinstance(hidden, tuple) else hidden)[-1])


class Vae(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(conv(3, 16), nn.ReLU(), conv(16, 32), nn.ReLU(), conv(32, 64), nn.ReLU())
        self.mu, self.logvar, self.decoder = nn.Linear(64, 32), nn.Linear(64, 32), nn.Linear(32, 64)
        self.unused = nn.ModuleList([nn.ConvTranspose2d(64, 32, 3), nn.ConvTranspose2d(32, 16, 3), nn.ConvTranspose2d(16, 3, 3)])
        self.dropout, self.fc = nn.Dropout(0.2), nn.Linear(64, 10)

    def forward(self, x):
        h = self.encoder(x).mean(dim=[2, 3])
        std = torch.exp(0.5 * self.logvar(h))
        z = self.mu(h) + torch.randn_like(std) * std
        return self.fc(F.relu(self.decoder(self.dropout(z))))


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.e1, self.e2, self.e3 = self.twice(3, 16), self.twice(16, 32), self.twice(32, 64)
        self.up1, self.up2 = nn.ConvTranspose2d(64, 32, 2, stride=2), nn.ConvTranspose2d(32, 16, 2, stride=2)
        self.d1, self.d2 = self.twice(64, 32), self.twice(32, 16)
        self.pool, self.dropout, self.fc = nn.MaxPool2d(2), nn.Dropout(0.2), nn.Linear(16, 10)

    @staticmethod
    def twice(a, b):
        return nn.Sequential(conv(a, b), nn.ReLU(), conv(b, b), nn.ReLU())

    def forward(self, x):
        e1 = self.e1(x)
        e2 = self.e2(self.pool(e1))
        e3 = self.e3(self.pool(e2))
        d1 = self.d1(torch.cat([self.up1(e3), e2], dim=1))
        d2 = self.d2(torch.cat([self.up2(d1), e1], dim=1))
        return self.fc(self.dropout(d2.mean(dim=[2, 3])))


def simple():
    first = [nn.Linear(1000, 500), nn.BatchNorm1d(500), nn.ReLU(), nn.Dropout(0.3)]
    return nn.Sequential(*first, nn.Linear(500, 500), nn.BatchNorm1d(500), nn.ReLU(), nn.Linear(500, 10))


def images():
    layers = [conv(3, 32), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2), conv(32, 64), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(2)]
    return Pooled(nn.Sequential(*layers, conv(64, 128), nn.BatchNorm2d(128), nn.ReLU()), 128, 0.3)


def resnet():
    layers = [conv(3, 32), nn.BatchNorm2d(32), nn.ReLU(), Residual(32), conv(32, 64, 2), nn.BatchNorm2d(64), nn.ReLU(), Residual(64)]
    return Pooled(nn.Sequential(*layers), 64, 0.2)


MODELS = {
    "simple": (simple, (1000,)),
    "conv": (images, (3, 64, 64)),
    "transformer": (Transformer, (32, 64)),
    "rnn": (lambda: Recurrent(nn.RNN), (16, 32)),
    "gru": (lambda: Recurrent(nn.GRU), (16, 32)),
    "lstm": (lambda: Recurrent(nn.LSTM), (16, 32)),
    "vae": (Vae, (3, 64, 64)),
    "resnet": (resnet, (3, 64, 64)),
    "unet": (UNet, (3, 64, 64)),
}
make, shape = MODELS[sys.argv[1]]
model = make().to(device)


def train(batches):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(batches):
        batch = torch.randn(32, *shape, device=device)
        targets = torch.randint(0, 10, (32,), device=device)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(batch), targets)
        loss.backward()
        optimizer.step()


train(20)
torch.mps.synchronize()
torch.mps.empty_cache()
train(40)
