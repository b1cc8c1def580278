"""The PyTorch side of bench.mjs: the same decoder from transformers, trained and sampled on request, one JSON line a command."""
import json
import resource
import sys
import time

import torch
import transformers

transformers.logging.set_verbosity_error()
model = optimizer = batch = prompt = sampling = None

for line in sys.stdin:
    request = json.loads(line)
    command = request["command"]
    if command == "open":
        torch.set_num_threads(request["threads"])
        torch.manual_seed(1)
        fields = {k: v for k, v in request["config"].items() if k not in ("architectures", "torch_dtype")}
        model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**fields, eos_token_id=None, pad_token_id=0))
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
        shape, sampling = request["shape"], request["sampling"]
        batch = torch.randint(0, model.config.vocab_size, (shape["sequences"], shape["length"]))
        prompt = (sampling["sequences"], sampling["prompt"])
        answer = {"versions": {"torch": torch.__version__, "transformers": transformers.__version__}}
    elif command == "train":
        start = time.perf_counter()
        model.train()
        # Two micro-batches, as ours: the logits of all tokens at once would leave the caches.
        for part in batch.chunk(2):
            loss = model(input_ids=part, labels=part, use_cache=False).loss / 2
            loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        answer = {"seconds": time.perf_counter() - start}
    elif command == "sample":
        ids = torch.randint(1, model.config.vocab_size, prompt)
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
        answer = {"seconds": time.perf_counter() - start}
    elif command == "memory":
        answer = {"bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}
    print(json.dumps(answer), flush=True)
