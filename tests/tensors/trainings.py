"""Small sound trainings on the Mac's GPU: each kind of model in each kind of loop."""

from __future__ import annotations

HEAD = """import numpy as np
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

device = torch.device('mps')
"""
MODELS = {
    "layers": """class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.1), nn.Linear(8, 2))

    def forward(self, x):
        return self.body(x)
""",
    "convolutions": """class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(1, 3, 3, padding=1)
        self.head = nn.Linear(12, 2)

    def forward(self, x):
        return self.head(F.relu(self.conv(x.unsqueeze(1))).flatten(1))
""",
    "states": """class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(1, 6, batch_first=True)
        self.head = nn.Linear(6, 2)

    def forward(self, x):
        h, c = torch.zeros(1, x.size(0), 6, device=x.device), torch.zeros(1, x.size(0), 6).to(x.device)
        out, _ = self.rnn(x.unsqueeze(-1), (h, c))
        return self.head(out[:, -1])
""",
    "positions": """class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Linear(1, 6)
        self.positions = nn.Embedding(4, 6)
        self.block = nn.TransformerEncoderLayer(6, 2, 12, batch_first=True)
        self.head = nn.Linear(6, 2)

    def forward(self, x):
        places = torch.arange(x.size(1), device=x.device)
        mask = torch.full((x.size(1), x.size(1)), -1e9).triu(1).to(x.device)
        return self.head(self.block(self.embed(x.unsqueeze(-1)) + self.positions(places), src_mask=mask).mean(1))
""",
    "noise": """class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode = nn.Linear(4, 6)
        self.decode = nn.Linear(3, 2)

    def forward(self, x):
        mean, spread = self.encode(x).chunk(2, 1)
        return self.decode(mean + torch.randn(mean.shape).to(mean.device) * spread.exp())
""",
    "buffers": """class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer('mean', torch.zeros(4))
        self.scale = nn.Parameter(torch.ones(4))
        self.parts = nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 2)])

    def forward(self, x):
        x = (x - self.mean) * self.scale
        for part in self.parts:
            x = part(x)
        return x
""",
    "own weights": """class Layer(nn.Module):
    def __init__(self, size, out):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(out, size))

    def forward(self, x):
        return F.linear(x, self.weight)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = Layer(4, 5), Layer(5, 2)

    def forward(self, x):
        ones = torch.ones_like(x[:, :1])
        return self.last(torch.tanh(self.first(x))) + torch.cat([ones, torch.zeros(len(x), 1).to(x.device)], dim=1)
""",
    "masks": """class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.query, self.key, self.value = nn.Linear(1, 4), nn.Linear(1, 4), nn.Linear(1, 2)

    def forward(self, x):
        x = x.unsqueeze(-1)
        mask = torch.tril(torch.ones(x.size(1), x.size(1), device=x.device))
        scores = (self.query(x) @ self.key(x).transpose(1, 2)).masked_fill(mask == 0, -1e9)
        return (scores.softmax(-1) @ self.value(x)).mean(1)
""",
    "two nets": """class Part(nn.Module):
    def __init__(self, out):
        super().__init__()
        self.fc = nn.Linear(4, out)

    def forward(self, x):
        return self.fc(x)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.student = Part(2)
        self.teacher = Part(2).to(device)

    def forward(self, x):
        with torch.no_grad():
            wanted = self.teacher(x)
        return self.student(x) + wanted
""",
    "class weights": """class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 2)
        self.table = torch.linspace(0, 1, 2).to(device)

    def forward(self, x):
        return self.fc(x) * self.table
""",
}
LOOPS = {
    "a loader": """net = Net().to(device)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
loader = DataLoader(TensorDataset(torch.randn(16, 4), torch.randint(0, 2, (16,))), batch_size=8)
for epoch in range(2):
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
""",
    "functions": """def train(model, loader, optimizer, criterion):
    model.train()
    for x, y in loader:
        loss = criterion(model(x.to(device)), y.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def evaluate(model, loader):
    model.eval()
    right = []
    with torch.no_grad():
        for x, y in loader:
            right.append((model(x.to(device)).argmax(1) == y.to(device)).float().mean().cpu().numpy())
    return right


def main():
    data = TensorDataset(torch.randn(16, 4), torch.randint(0, 2, (16,)))
    loader = DataLoader(data, batch_size=8, shuffle=True)
    model = Net().to(device)
    criterion = nn.CrossEntropyLoss(weight=torch.ones(2).to(device))
    train(model, loader, torch.optim.SGD(model.parameters(), lr=0.1), criterion)
    evaluate(model, loader)


main()
""",
    "an object": """class Trainer:
    def __init__(self, model):
        self.model = model.to(device)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
        self.criterion = nn.CrossEntropyLoss()

    def step(self, x, y):
        loss = self.criterion(self.model(x), y)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()

    def fit(self, loader):
        for x, y in loader:
            self.step(x.to(device), y.to(device))


Trainer(Net()).fit(DataLoader(TensorDataset(torch.randn(16, 4), torch.randint(0, 2, (16,))), batch_size=8))
""",
    "dicts": """class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return 16

    def __getitem__(self, index):
        return {'x': torch.randn(4), 'y': torch.tensor(index % 2)}


net = Net()
net.to(device)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for batch in DataLoader(Rows(), batch_size=8):
    batch = {key: value.to(device) for key, value in batch.items()}
    loss = F.cross_entropy(net(batch['x']), batch['y'])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
    "arrays": """net = Net().to(device)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
xs, ys = np.random.rand(16, 4).astype(np.float32), np.arange(16) % 2
total = torch.zeros(1, device=device)
for start in range(0, 16, 8):
    x = torch.from_numpy(xs[start : start + 8]).to(device)
    y = torch.tensor(ys[start : start + 8], device=device)
    loss = F.cross_entropy(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    total += loss.detach()
""",
    "random batches": """def batches(count):
    for _ in range(count):
        x = torch.randn(8, 4, device=device)
        yield x, (x.sum(1) > 0).long()


net = Net().to(device)
best = [torch.zeros_like(one) for one in net.parameters()]
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for x, y in batches(2):
    noise = torch.rand(8, 4).to(device)
    loss = F.cross_entropy(net(x + noise), y) + sum((one - other).pow(2).sum() for one, other in zip(net.parameters(), best))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
}
TRAININGS = {f"{model} in {loop}": f"{HEAD}\n\n{MODELS[model]}\n\n{LOOPS[loop]}" for model in MODELS for loop in LOOPS}
