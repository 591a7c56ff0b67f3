# expect: pass; requires lightning
import lightning as L
import torch
from torch.utils.data import DataLoader, TensorDataset


class GAN(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.automatic_optimization = False
        self.g, self.d = torch.nn.Linear(4, 8), torch.nn.Linear(8, 1)

    def training_step(self, batch, i):
        og, od = self.optimizers()
        self.fake = self.g(torch.randn(len(batch[0]), 4).type_as(batch[0]))
        self.logger.experiment.add_image("fake", self.fake, self.current_epoch)
        loss = -self.d(self.fake).mean()
        self.log("g_loss", loss)
        self.manual_backward(loss)
        og.step()
        og.zero_grad()
        loss = self.d(self.fake.detach()).mean() - self.d(batch[0]).mean()
        self.manual_backward(loss)
        od.step()
        od.zero_grad()

    def configure_optimizers(self):
        return [torch.optim.Adam(self.g.parameters(), lr=1e-3), torch.optim.Adam(self.d.parameters(), lr=1e-3)], []


if __name__ == "__main__":
    L.Trainer(max_epochs=3, accelerator="auto", devices=1).fit(GAN(), DataLoader(TensorDataset(torch.randn(128, 8)), batch_size=8))
