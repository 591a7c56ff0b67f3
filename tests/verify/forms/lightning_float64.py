# expect: fail: TypeError
import lightning as L
import torch
from torch.utils.data import DataLoader, TensorDataset


class Weighted(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Linear(4, 1)

    def training_step(self, batch, index):
        weights = torch.linspace(0, 1, len(batch[0]), dtype=torch.float64).to(self.device)
        return (weights * self.net(batch[0]).squeeze(-1)).mean()

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters())


L.Trainer(max_epochs=1, accelerator="mps", logger=False).fit(Weighted(), DataLoader(TensorDataset(torch.randn(64, 4)), batch_size=8))
