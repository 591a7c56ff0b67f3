"""A plain training loop with CUDA's automatic mixed precision: a small image classifier on CIFAR-10."""

import torch
from torch import nn
from torch.utils.data import DataLoader
from torchvision import datasets, transforms

BATCH_SIZE = 64
EPOCHS = 5

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

train_set = datasets.CIFAR10("data", train=True, download=True, transform=transforms.ToTensor())
train_loader = DataLoader(train_set, batch_size=BATCH_SIZE, shuffle=True, num_workers=4, pin_memory=True)


class Classifier(nn.Module):
    def __init__(self, classes=10):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 32, 3, padding=1),
            nn.BatchNorm2d(32),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(1),
        )
        self.head = nn.Linear(32, classes)

    def forward(self, images):
        return self.head(self.features(images).flatten(1))


model = Classifier().to(device)
model.half()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
criterion = nn.CrossEntropyLoss()
scaler = torch.cuda.amp.GradScaler()

for epoch in range(EPOCHS):
    total_loss = 0
    for images, labels in train_loader:
        images, labels = images.to(device), labels.to(device)
        optimizer.zero_grad()
        with torch.cuda.amp.autocast():
            loss = criterion(model(images), labels)
        total_loss += loss
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    print(epoch, total_loss / len(train_loader))
