"""transformers: HfArgumentParser makes objects of dataclasses. What a command line that is known whole doesn't name of TrainingArguments is
as transformers/training_args.py has it, 4.0 to 5.23; do_eval isn't among it: the Trainer sets it from eval_strategy."""

from stubs._class_parsers import ClassParser

UNNAMED = {"do_train": False, "do_predict": False}


class HfArgumentParser(ClassParser):
    unnamed = {"transformers.TrainingArguments": UNNAMED, "transformers.Seq2SeqTrainingArguments": UNNAMED}
