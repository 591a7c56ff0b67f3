# expect: pass; requires lightning
import torch
from lightning.fabric import Fabric
fabric = Fabric(accelerator="mps", devices=1)
fabric.launch()
model = torch.nn.Linear(8, 2); opt = torch.optim.SGD(model.parameters(), lr=.1)
model, opt = fabric.setup(model, opt)
dl = fabric.setup_dataloaders(torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(80, 8), torch.randint(0, 2, (80,))), batch_size=4))
for e in range(2):
    for x, y in dl:
        opt.zero_grad(); loss = torch.nn.functional.cross_entropy(model(x), y); fabric.backward(loss); opt.step()
