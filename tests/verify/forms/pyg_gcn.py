# expect: notfail; requires torch_geometric
import torch, torch.nn.functional as F
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv, GATConv
from torch_geometric.loader import DataLoader
device = torch.device("mps")
graphs = [Data(x=torch.randn(n, 4), edge_index=torch.randint(0, n, (2, 3 * n)), y=torch.tensor([n % 2])) for n in range(5, 45)]
class Net(torch.nn.Module):
    def __init__(s):
        super().__init__(); s.a, s.b, s.c = GCNConv(4, 16), GATConv(16, 16), torch.nn.Linear(16, 2)
    def forward(s, d):
        from torch_geometric.nn import global_mean_pool
        h = F.relu(s.a(d.x, d.edge_index)); h = F.relu(s.b(h, d.edge_index))
        return s.c(global_mean_pool(h, d.batch))
m = Net().to(device); opt = torch.optim.Adam(m.parameters())
for e in range(5):
    for d in DataLoader(graphs, batch_size=8, shuffle=True):
        d = d.to(device)
        loss = F.cross_entropy(m(d), d.y)
        opt.zero_grad(); loss.backward(); opt.step()
