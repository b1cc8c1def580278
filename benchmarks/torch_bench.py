"""PyTorch's side of bench.mjs: the same decoder from transformers, trained and sampled on request, one JSON line a command."""
import json
import sys
import time

import torch
import transformers
from peak_memory import peak_memory

transformers.logging.set_verbosity_error()
# Libraries may print; the answers must not be among it.
answers, sys.stdout = sys.stdout, sys.stderr
model = optimizer = batch = sampling = None
parts = 1


def open_model(request):
    global model, optimizer, batch, sampling, parts
    torch.set_num_threads(request["threads"])
    torch.manual_seed(1)
    fields = {k: v for k, v in request["config"].items() if k not in ("architectures", "torch_dtype", "model_type")}
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**fields, eos_token_id=None, pad_token_id=0))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    shape, sampling, parts = request["training"], request["sampling"], request["parts"]
    batch = torch.randint(0, model.config.vocab_size, (shape["sequences"], shape["length"]))
    if request.get("compile"):
        model.compile(dynamic=False)
    return {
        "versions": {"torch": torch.__version__, "transformers": transformers.__version__},
        "parameters": sum(p.numel() for p in model.parameters()),
    }


def train(_):
    start = time.perf_counter()
    model.train()
    # Micro-batches, as ours: the logits of all tokens at once would leave the caches.
    for part in batch.chunk(parts):
        loss = model(input_ids=part, labels=part, use_cache=False).loss / parts
        loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    return {"seconds": time.perf_counter() - start}


def sample(_):
    ids = torch.randint(1, model.config.vocab_size, (sampling["sequences"], sampling["prompt"]))
    start = time.perf_counter()
    model.eval()
    with torch.inference_mode():
        out = model.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            max_new_tokens=sampling["reply"],
            min_new_tokens=sampling["reply"],
            do_sample=True,
            top_k=0,
        )
    assert out.shape[1] == sampling["prompt"] + sampling["reply"]
    return {"seconds": time.perf_counter() - start}


handlers = {"open": open_model, "train": train, "sample": sample, "memory": lambda _: {"bytes": peak_memory()}}
for line in sys.stdin:
    request = json.loads(line)
    try:
        answer = handlers[request["command"]](request)
    except Exception as error:  # told to the one who asked
        text = " ".join(str(error).split())
        answer = {"error": f"{request['command']}: {type(error).__name__}: {text[:300]}"}
    print(json.dumps(answer), file=answers, flush=True)
