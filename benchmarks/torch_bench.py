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
model = optimizer = batch = sampling = parts = cache = None


def open_model(request):
    global model, optimizer, batch, sampling, parts, cache
    torch.set_num_threads(request["threads"])
    torch.manual_seed(1)
    fields = {k: v for k, v in request["config"].items() if k not in ("architectures", "torch_dtype", "model_type")}
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**fields, eos_token_id=None, pad_token_id=0))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.0, fused=True)
    shape, sampling = request["training"], request["sampling"]
    parts, cache = request.get("parts", 1), request.get("cache", "dynamic")
    batch = torch.randint(0, model.config.vocab_size, (shape["sequences"], shape["length"]))
    if request.get("compile"):
        model.compile(dynamic=False)
    return {
        "versions": {"torch": torch.__version__, "transformers": transformers.__version__},
        "parameters": sum(p.numel() for p in model.parameters()),
        "threads": torch.get_num_threads(),
        "capability": torch.backends.cpu.get_cpu_capability(),
    }


def timed(work):
    start, cpu = time.perf_counter(), time.process_time()
    work()
    return {"seconds": time.perf_counter() - start, "cpuSeconds": time.process_time() - cpu}


def train(count):
    model.train()
    # In micro-batches where that is faster: the logits of all tokens at once leave the caches.
    for part in batch.chunk(count):
        loss = model(input_ids=part, labels=part, use_cache=False).loss / count
        loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)


def sample(kind):
    ids = torch.randint(1, model.config.vocab_size, (sampling["sequences"], sampling["prompt"]))
    model.eval()
    options = {"cache_implementation": "static", "disable_compile": True} if kind == "static" else {}
    with torch.inference_mode():
        out = model.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            max_new_tokens=sampling["reply"],
            min_new_tokens=sampling["reply"],
            do_sample=True,
            top_k=0,
            **options,
        )
    assert out.shape[1] == sampling["prompt"] + sampling["reply"]


def choose(work, settings):
    """The setting in which the work takes least time: the better of two, after one that does not count."""
    trial = {}
    for setting in settings:
        times = [timed(lambda: work(setting))["seconds"] for _ in range(3)]
        trial[setting] = min(times[1:])
    return {"choice": min(trial, key=trial.get), "trial": trial}


handlers = {
    "open": open_model,
    "choose train": lambda _: choose(train, [1, 2, 4]),
    "choose sample": lambda _: choose(sample, ["dynamic", "static"]),
    "train": lambda _: timed(lambda: train(parts)),
    "sample": lambda _: timed(lambda: sample(cache)),
    "memory": lambda _: {"bytes": peak_memory()},
}
for line in sys.stdin:
    request = json.loads(line)
    try:
        answer = handlers[request["command"]](request)
    except Exception as error:  # told to the one who asked
        text = " ".join(str(error).split())
        answer = {"error": f"{request['command']}: {type(error).__name__}: {text[:300]}"}
    print(json.dumps(answer), file=answers, flush=True)
