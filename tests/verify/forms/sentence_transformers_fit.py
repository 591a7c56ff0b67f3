# expect: pass; requires sentence_transformers; requires scipy
"""Sentence pairs, with the trainer of sentence-transformers over a model built from its parts."""
from datasets import Dataset
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer, SentenceTransformerTrainingArguments, losses
from sentence_transformers.models import Pooling, Transformer

word = Transformer("models/tiny-bert", max_seq_length=32)
model = SentenceTransformer(modules=[word, Pooling(word.get_word_embedding_dimension())], device="mps")
pairs = Dataset.from_dict({"anchor": ["the cat sat", "a dog ran", "see the house", "good film"] * 40,
                           "positive": ["a cat on a mat", "the dog ran over", "big red house", "great film"] * 40})
args = SentenceTransformerTrainingArguments(output_dir="out", num_train_epochs=1, per_device_train_batch_size=4, report_to="none", save_strategy="no")
trainer = SentenceTransformerTrainer(model=model, args=args, train_dataset=pairs, loss=losses.MultipleNegativesRankingLoss(model))
trainer.train()
model.save("out/final")
