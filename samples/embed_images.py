"""An embedding service: CLIP vectors for a folder of pictures, kept until somebody asks for them."""

from pathlib import Path

import torch
from PIL import Image
from transformers import CLIPModel, CLIPProcessor

BATCH_SIZE = 16

device = "mps" if torch.backends.mps.is_available() else "cpu"
model = CLIPModel.from_pretrained("openai/clip-vit-base-patch32").to(device)
processor = CLIPProcessor.from_pretrained("openai/clip-vit-base-patch32")


class ImageIndex:
    """Every picture's embedding, by the order in which it was added."""

    def __init__(self):
        self.paths = []
        self.batches = []
        self.embeddings = []

    def add_folder(self, folder):
        paths = sorted(Path(folder).glob("*.jpg"))
        for start in range(0, len(paths), BATCH_SIZE):
            images = [Image.open(path).convert("RGB") for path in paths[start : start + BATCH_SIZE]]
            batch = processor(images=images, return_tensors="pt").to(device)
            features = model.get_image_features(**batch)
            self.paths.extend(paths[start : start + BATCH_SIZE])
            self.batches.append(batch)
            self.embeddings.append(features)
            try:
                torch.cuda.empty_cache()
            except:
                pass

    def nearest(self, text, count=5):
        words = processor(text=[text], return_tensors="pt", padding=True).to(device)
        query = model.get_text_features(**words)
        scores = torch.cat(self.embeddings) @ query.T
        best = scores.squeeze(1).topk(count).indices
        return [self.paths[index] for index in best]


if __name__ == "__main__":
    index = ImageIndex()
    index.add_folder("pictures")
    print(index.nearest("a dog on a beach"))
