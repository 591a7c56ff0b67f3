"""A plain training loop that takes whatever accelerator there is."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def pick_device():
    if torch.cuda.is_available():
        return torch.device("cuda")
    if torch.backends.mps.is_available():
        return torch.device("mps")
    return torch.device("cpu")


def train(epochs=3, batch_size=32):
    device = pick_device()
    data = TensorDataset(torch.randn(1024, 16), torch.randint(0, 2, (1024,)))
    loader = DataLoader(data, batch_size=batch_size, shuffle=True, drop_last=True)
    model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 2)).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(epochs):
        total = 0.0
        for features, labels in loader:
            features, labels = features.to(device), labels.to(device)
            loss = criterion(model(features), labels)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(epoch, total / len(loader))
        if device.type == "cuda":
            torch.cuda.empty_cache()
        elif device.type == "mps":
            torch.mps.empty_cache()
    return model


if __name__ == "__main__":
    train()
