"""Does transformers read what Myriad writes? Run after a change to how checkpoints are written; the last result is kept in
tools/results/check-transformers.json.

Every tiny model of src/models/fixtures (made by transformers) is written anew by `myriad convert`, in float32, half precision
and bfloat16, whole and in several files, and loaded by transformers without a missing or unexpected tensor. Its logits must
be those of the original with its weights rounded alike, to the last bit. The model card must be understood by
huggingface_hub. With a GGUF file named, what Myriad makes of it must have the logits of what transformers makes of it.

    pip install torch transformers gguf
    npm run build && python tools/check-transformers.py [model.gguf]
"""
import json
import pathlib
import platform
import subprocess
import sys
import tempfile

import huggingface_hub
import torch
import transformers
from transformers import AutoModelForCausalLM, AutoTokenizer

root = pathlib.Path(__file__).resolve().parent.parent
command = ["node", str(root / "dist" / "cli" / "main.js")]
types = {"F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}
torch.manual_seed(7)
results = []


def convert(source, target, *options):
    subprocess.run([*command, "convert", str(source), str(target), *options], check=True, stdout=subprocess.DEVNULL)


def load(folder, **options):
    model, info = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, output_loading_info=True, **options)
    assert not any(info[key] for key in ("missing_keys", "unexpected_keys", "mismatched_keys")), (folder, info)
    return model.eval()


def logits(model, tokens):
    with torch.no_grad():
        return model(tokens).logits


def record(what, ours, theirs, limit):
    difference = (ours - theirs).abs().max().item()
    results.append(dict(model=what, difference=difference, largest=theirs.abs().max().item(), limit=limit))
    print(f"{what:40} largest difference of logits {difference:.3g}, of logits up to {theirs.abs().max().item():.3g}")
    assert difference <= limit, what


with tempfile.TemporaryDirectory() as folder:
    for config in sorted((root / "src/models/fixtures").glob("*/config.json")):
        source = config.parent
        if "ForCausalLM" not in str(json.loads(config.read_text()).get("architectures")) and \
                "LMHead" not in str(json.loads(config.read_text()).get("architectures")):
            continue
        original = load(source)
        tokens = torch.randint(0, original.config.vocab_size, (3, 19))
        for name, kind in types.items():
            rounded = load(source)
            rounded.load_state_dict({k: v.to(kind).float() for k, v in rounded.state_dict().items()})
            target = pathlib.Path(folder) / f"{source.name}-{name}"
            sharded = name == "F32"
            convert(source, target, "--dtype", name, *(["--shard-size", "0.000008"] if sharded else []))
            files = len(list(target.glob("*.safetensors")))
            assert (files > 1) == sharded, files
            record(f"{source.name} {name}, {files} file{'s' if sharded else ''}",
                   logits(load(target), tokens), logits(rounded, tokens), 0)
    card = huggingface_hub.ModelCard.load(str(target / "README.md")).data
    assert card.library_name == "transformers" and card.pipeline_tag == "text-generation"
    for gguf in map(pathlib.Path, sys.argv[1:]):
        target = pathlib.Path(folder) / "gguf"
        convert(gguf, target)
        theirs = AutoModelForCausalLM.from_pretrained(gguf.parent, gguf_file=gguf.name, dtype=torch.float32).eval()
        tokens = AutoTokenizer.from_pretrained(target)("The capital of Kenya is", return_tensors="pt").input_ids
        record(gguf.name, logits(load(target), tokens), logits(theirs, tokens), 1e-3)
        print(AutoTokenizer.from_pretrained(target).decode(load(target).generate(tokens, max_new_tokens=8, do_sample=False)[0]))

versions = dict(torch=torch.__version__, transformers=transformers.__version__, python=platform.python_version())
out = root / "tools" / "results" / "check-transformers.json"
out.parent.mkdir(exist_ok=True)
out.write_text(json.dumps(dict(versions=versions, results=results), indent=2) + "\n")
print(f"{len(results)} models, all as they should be")
