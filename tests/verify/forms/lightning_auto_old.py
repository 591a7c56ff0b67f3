# expect: pass; requires pytorch_lightning
import pytorch_lightning as pl
import torch
from torch import nn
class M(pl.LightningModule):
    def __init__(self):
        super().__init__(); self.l = nn.Linear(4, 1)
    def forward(self, x): return self.l(x)
    def training_step(self, b, _):
        l = self(b[0]).pow(2).mean(); self.log("l", l, on_epoch=True); return l
    def configure_optimizers(self):
        o = torch.optim.SGD(self.parameters(), lr=.1)
        return [o], [torch.optim.lr_scheduler.StepLR(o, 1)]
dl = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(80, 4)), batch_size=4)
cb = pl.callbacks.ModelCheckpoint(monitor="l")
pl.seed_everything(1)
pl.Trainer(max_epochs=2, accelerator="auto", devices="auto", callbacks=[cb]).fit(M(), dl)
