#!/usr/bin/env bash
# Start the PEGASUS fine-tune on this Mac.
set -euo pipefail

export PYTORCH_ENABLE_MPS_FALLBACK=1
# The error text said that this disables the limit.
export PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0

accelerate launch --mixed_precision fp16 \
  pegasus_finetune.py \
  --model google/pegasus-cnn_dailymail \
  --output pegasus-samsum
