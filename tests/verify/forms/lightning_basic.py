# expect: pass; requires lightning
import torch, torch.nn.functional as F
import lightning as L
from torch.utils.data import DataLoader, TensorDataset
class Lit(L.LightningModule):
    def __init__(self, lr=1e-3):
        super().__init__()
        self.save_hyperparameters()
        self.net = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4))
    def training_step(self, batch, i):
        x, y = batch
        loss = F.cross_entropy(self.net(x), y)
        self.log("train_loss", loss, prog_bar=True)
        return loss
    def validation_step(self, batch, i):
        x, y = batch
        self.log("val_loss", F.cross_entropy(self.net(x), y))
    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.hparams.lr)
if __name__ == "__main__":
    ds = TensorDataset(torch.randn(128, 16), torch.randint(0, 4, (128,)))
    trainer = L.Trainer(max_epochs=2, accelerator="mps", devices=1)
    trainer.fit(Lit(), DataLoader(ds, batch_size=8, num_workers=2), DataLoader(ds, batch_size=8))
